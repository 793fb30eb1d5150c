/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What one would change on this machine for the server's sake, with reasons; nothing is changed. The machine is
 * read below a directory that is handed in, and what the server says of itself is its answers, so that a made-up
 * machine will do.
 */
#ifndef CONTROL_ADVISE_H
#define CONTROL_ADVISE_H

#include <json-c/json.h>

struct advise_machine {
	const char *root;	     /* where sys and proc are; "" is this machine */
	struct json_object *devices; /* the answer to `devices`; NULL: no server, then all disks */
	struct json_object *values;  /* the answer to `get`; NULL: no server, then the defaults */
	struct json_object *status;  /* the answer to `status`; NULL: no server */
};

/*
 * An array of objects: what, now, better, why, and how where a command does it. The caller puts it; empty: nothing is
 * to be changed.
 */
struct json_object *advise(const struct advise_machine *m);

#endif
