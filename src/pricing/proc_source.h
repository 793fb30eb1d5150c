/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The machine's own /proc and /sys, as the meters' source.
 *
 * Files that are read again and again stay open: looking their names up would be most of the cost.
 * At most PROC_FILES of them, the one opened first goes first. A name that is not there is looked up
 * each time: the file may come, as a group's limit does that is set later. One thread at a time.
 */
#ifndef PRICING_PROC_SOURCE_H
#define PRICING_PROC_SOURCE_H

#include "pricing/source.h"

#define PROC_FILES 128

struct proc_source {
	struct price_source source; /* first: meters are given this */
	struct proc_file {
		char name[SOURCE_NAME]; /* "": no file has this place */
		int fd;
	} files[PROC_FILES];
	unsigned int oldest;
};

void proc_source_init(struct proc_source *p);
/* Closes all files. */
void proc_source_fini(struct proc_source *p);

#endif
