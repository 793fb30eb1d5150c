/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The other end of the control channel: one request, one answer. */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include <stddef.h>

#include <json-c/json.h>

#define CLIENT_SOCKET "/run/ganesha/ra.sock"

/*
 * Sends REQUEST to the server at PATH and reads its answer, for at most TIMEOUT_S seconds each.
 * Returns the answer, an object to be put by the caller, or NULL with the reason in ERROR.
 */
struct json_object *client_ask(const char *path, struct json_object *request,
			       unsigned int timeout_s, char *error, size_t error_size);

#endif /* CONTROL_CLIENT_H */
