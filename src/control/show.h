/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Answers in a form for people. */
#ifndef CONTROL_SHOW_H
#define CONTROL_SHOW_H

#include <json-c/json.h>

void show_status(struct json_object *answer);
void show_devices(struct json_object *answer);
void show_scheduler(struct json_object *answer);
void show_heuristic(struct json_object *answer);
void show_prices(struct json_object *answer);
void show_stats(struct json_object *answer);
void show_shares(struct json_object *answer);
void show_trace(struct json_object *answer);

/* show_files.c */
void show_files(struct json_object *answer);
void show_cursors(struct json_object *answer);
void show_explain(struct json_object *answer);

/* show_parameters.c */
void show_get(struct json_object *answer);
void show_diff(struct json_object *answer);
void show_set(struct json_object *answer);

#endif /* CONTROL_SHOW_H */
