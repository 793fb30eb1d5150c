/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connections and directories as the options say. */
#ifndef NFSBENCH_DIAL_H
#define NFSBENCH_DIAL_H

#include "connection.h"
#include "options.h"
#include "session.h"

#define CONNECT_SECONDS 10.0

/* Connection number `number`, from an address of its own unless NULL; `trace`: of udp.h. 0, or -1 after
 * a message, and nothing to close. */
int dial(struct connection *c, const struct options *o, const char *from, unsigned int number,
	 FILE *trace);

/* The directory `dir` below the exported `path`; NULL: as the options say. 0, or -1 after a message. */
int dial_directory(struct connection *c, const struct options *o, const char *path, const char *dir,
		   struct handle *found);

/* A file for lines of text, *file; NULL where no path is. 0, or -1 after a message. */
int dial_lines(const char *path, FILE **file);

#endif
