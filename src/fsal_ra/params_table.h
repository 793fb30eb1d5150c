/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * params.def as a table, and values of it in the structures of params.h; and whether such a structure is
 * right. Pure: no Ganesha header, no lock, no log.
 */
#ifndef RA_PARAMS_TABLE_H
#define RA_PARAMS_TABLE_H

#include "control/parameter.h"
#include "params.h"

/* All of them, in the order of params.def, *N of them. Any thread. */
const struct parameter *ra_parameters(unsigned int *n);

/* Of PARAMS: struct ra_export_params, or struct ra_module_params where P is the server's. */
void ra_params_get(const struct parameter *p, const void *params, struct parameter_value *v);
/* A name is copied, and what was there freed. False: no memory, nothing changed. */
bool ra_params_put(const struct parameter *p, void *params, const struct parameter_value *v);

/* Copies with names of their own, to be freed by the second; false: no memory, nothing to be freed. */
bool ra_export_params_copy(struct ra_export_params *to, const struct ra_export_params *from);
bool ra_module_params_copy(struct ra_module_params *to, const struct ra_module_params *from);
void ra_export_params_drop(struct ra_export_params *p);
void ra_module_params_drop(struct ra_module_params *p);

/* Called with each line that says what is wrong, and which values are right. */
typedef void (*ra_params_wrong)(void *arg, const char *line);
/* Names, ranges, and numbers that must agree. Return how many lines there were. */
int ra_params_check_export(const struct ra_export_params *p, ra_params_wrong wrong, void *arg);
int ra_params_check_module(const struct ra_module_params *p, ra_params_wrong wrong, void *arg);

#endif /* RA_PARAMS_TABLE_H */
