/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parameters' values, generated from params.def. Needs no Ganesha header. */
#ifndef RA_PARAMS_H
#define RA_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/export_settings.h"

/* clang-format off */
#define RA_FIELDS_EXPORT_EXPORT(decl) decl;
#define RA_FIELDS_EXPORT_MODULE(decl)
#define RA_FIELDS_MODULE_MODULE(decl) decl;
#define RA_FIELDS_MODULE_EXPORT(decl)

/* Parameters of an export, while they are parsed. Names are owned (gsh_free). */
struct ra_export_params {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) RA_FIELDS_EXPORT_##scope(uint64_t field)
#define RA_NAME(scope, Name, field, def, help) RA_FIELDS_EXPORT_##scope(char *field)
#define RA_BOOL(scope, Name, field, def, help) RA_FIELDS_EXPORT_##scope(bool field)
#include "params.def"
};

/* Parameters of the whole plugin. */
struct ra_module_params {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) RA_FIELDS_MODULE_##scope(uint64_t field)
#define RA_NAME(scope, Name, field, def, help) RA_FIELDS_MODULE_##scope(char *field)
#define RA_BOOL(scope, Name, field, def, help) RA_FIELDS_MODULE_##scope(bool field)
#include "params.def"
};
/* clang-format on */

/* live_params.c: those in force. */
extern struct ra_module_params ra_module_params;

/* settings.c: P, whose names are right, as the data path wants it. */
void ra_settings_of(const struct ra_export_params *p, struct export_settings *s);

#endif /* RA_PARAMS_H */
