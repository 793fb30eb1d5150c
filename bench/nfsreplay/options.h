/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line of nfsreplay. */
#ifndef NFSREPLAY_OPTIONS_H
#define NFSREPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule.h"

struct replay_options {
	const char *trace; /* path of the text, - is stdin */
	/* The server: numeric or resolvable host, ports, exported path, directory below it. */
	const char *server;
	uint64_t port, mount_port;
	const char *export_path, *dir;
	const char
		*from; /* address of the first client, the next has the next; NULL: the kernel's */
	enum schedule_pace pace;
	double speed;
	uint64_t outstanding, seed;
	double duration, max_time, stall; /* seconds; duration 0: all of the trace */
	bool verify, quiet;
	const char *json, *log;
	/* Instead of replaying: lay out what the trace needs, compare what it leaves, or only read it. */
	const char *prepare, *check;
	bool plan;
	char *command; /* the whole command line, for the report; owned */
};

/* Fills *o. 0; 1 when there is nothing more to do (--help); -1 after a message that names the option
 * and its range. */
int replay_options_parse(struct replay_options *o, int argc, char **argv);

#endif
