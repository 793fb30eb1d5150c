/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The other end of the control channel: a request, its answer, and perhaps the next. */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include <json-c/json.h>

#define CLIENT_SOCKET "/run/ganesha/ra.sock"

#define CLIENT_ERROR 512

struct client {
	const char *path;
	int fd;
	unsigned int timeout_s;	  /* for a request to be taken, and for its answer */
	char error[CLIENT_ERROR]; /* what went wrong last */
};

/* Connects to the server at PATH, which lives as long as C; false: c->error says why. */
bool client_open(struct client *c, const char *path, unsigned int timeout_s);
/* The answer to REQUEST, an object to be put by the caller, or NULL: c->error says why. */
struct json_object *client_ask(struct client *c, struct json_object *request);
void client_close(struct client *c);

#endif /* CONTROL_CLIENT_H */
