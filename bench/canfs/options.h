/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line of canfs. */
#ifndef CANFS_OPTIONS_H
#define CANFS_OPTIONS_H

#include "run_state.h"

struct options {
	struct run_options run;
	const char *layout; /* --layout DIRECTORY: lay out and end */
	const char *json;   /* NULL: standard output */
	bool script;
};

/* 0: go on; else the exit status and 1 added: 1 after --help, 3 after a bad line. */
int options_parse(struct options *o, int argc, char **argv);

#endif
