/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server's answer to `metrics` as Prometheus' text format: base units, a family for each name, labels of
 * which there are few (export, device, class). Pure.
 */
#ifndef CONTROL_METRICS_H
#define CONTROL_METRICS_H

#include <stdio.h>

#include <json-c/json.h>

void metrics_print(FILE *out, struct json_object *answer);

#endif
