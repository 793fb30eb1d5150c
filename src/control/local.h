/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Commands of ractl that are more than an answer shown: metrics into a file, advice for the machine. */
#ifndef CONTROL_LOCAL_H
#define CONTROL_LOCAL_H

#include <stdbool.h>

#include <json-c/json.h>

#include "control/client.h"

/* As text into the file PATH, which is never seen half written; NULL: to standard output. False, after a message. */
bool local_metrics(struct json_object *answer, const char *path);
/* Asks C what it needs; NULL: there is no server. ROOT: "" is this machine. */
bool local_advise(struct client *c, const char *root, bool json);

#endif
