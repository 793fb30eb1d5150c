/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What happens before a load and is not measured: mounting (over TCP), looking files up. All calls
 * wait for their answer, at most the given seconds, and say on stderr what failed.
 */
#ifndef NFSBENCH_SESSION_H
#define NFSBENCH_SESSION_H

#include <stdbool.h>
#include <stdint.h>

struct connection;

struct handle {
	uint32_t len;
	char data[64];
};

/* The root of the exported path. */
int session_mount(const char *server, int mount_port, const char *path, double seconds,
		  struct handle *root);

/* `path` (components between slashes, may be empty) below `from`; *size is the file's in bytes. */
int session_lookup(struct connection *nfs, const struct handle *from, const char *path,
		   double seconds, struct handle *found, uint64_t *size);

/* An empty file `name` in `dir`: created, or truncated. */
int session_create(struct connection *nfs, const struct handle *dir, const char *name,
		   double seconds, struct handle *made);

#endif
