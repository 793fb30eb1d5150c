/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table, made once of params.def; and copies. See params_table.h. */
#include "params_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
enum {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) PARAM_##Name,
#define RA_NAME(scope, Name, field, def, help) PARAM_##Name,
#define RA_BOOL(scope, Name, field, def, help) PARAM_##Name,
#include "params.def"
	PARAMS
};

#define OF_EXPORT PARAMETER_OF_EXPORT
#define OF_MODULE PARAMETER_OF_SERVER
#define AT_EXPORT(field) offsetof(struct ra_export_params, field)
#define AT_MODULE(field) offsetof(struct ra_module_params, field)
#define LIVE_EXPORT true
#define LIVE_MODULE false

static struct parameter table[PARAMS] = {
#define RA_NUMBER(scope, Name, field, unit_, min_, max_, def, help_) \
	{.name = #Name, .unit = unit_, .help = help_, .kind = PARAMETER_NUMBER, .of = OF_##scope, \
	 .live = LIVE_##scope, .source = "", .min = min_, .max = max_, .preset = def, \
	 .preset_name = "", .at = AT_##scope(field)},
#define RA_NAME(scope, Name, field, def, help_) \
	{.name = #Name, .unit = "", .help = help_, .kind = PARAMETER_NAME, .of = OF_##scope, \
	 .live = LIVE_##scope, .source = "", .preset_name = def, .at = AT_##scope(field)},
#define RA_BOOL(scope, Name, field, def, help_) \
	{.name = #Name, .unit = "", .help = help_, .kind = PARAMETER_FLAG, .of = OF_##scope, \
	 .live = LIVE_##scope, .source = "", .max = 1, .preset = def, .preset_name = "", \
	 .at = AT_##scope(field)},
#include "params.def"
};

static void sort_out(void)
{
#define RA_CLASS(Name, class_, source_) \
	table[PARAM_##Name].class = PARAMETER_##class_; table[PARAM_##Name].source = source_;
#define RA_OF_DEVICE(Name, field) table[PARAM_##Name].of = PARAMETER_OF_DEVICE;
#define RA_LIVE(Name) table[PARAM_##Name].live = true;
#define RA_START(Name, why) table[PARAM_##Name].start = why;
#include "params.def"
}
/* clang-format on */

const struct parameter *ra_parameters(unsigned int *n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, sort_out);
	*n = PARAMS;
	return table;
}

void ra_params_get(const struct parameter *p, const void *params, struct parameter_value *v)
{
	const char *at = (const char *)params + p->at;
	const char *name;

	*v = (struct parameter_value){0};
	if (p->kind == PARAMETER_NUMBER) {
		v->number = __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	} else if (p->kind == PARAMETER_FLAG) {
		v->number = *(const bool *)at;
	} else {
		name = *(char *const *)at;
		if (name != NULL)
			strncpy(v->name, name, sizeof(v->name) - 1);
	}
}

bool ra_params_put(const struct parameter *p, void *params, const struct parameter_value *v)
{
	char *at = (char *)params + p->at, *name;

	if (p->kind == PARAMETER_NUMBER) {
		__atomic_store_n((uint64_t *)at, v->number, __ATOMIC_RELAXED);
		return true;
	}
	if (p->kind == PARAMETER_FLAG) {
		*(bool *)at = v->number != 0;
		return true;
	}
	name = strdup(v->name);
	if (name == NULL)
		return false;
	free(*(char **)at);
	*(char **)at = name;
	return true;
}

/* The names that TO has of FROM become copies; false: no memory, none is left. */
static bool own_names(void *to, bool of_server)
{
	bool whole = true;

	for (unsigned int i = 0; i < PARAMS; i++) {
		char **at = (char **)((char *)to + table[i].at);

		if (table[i].kind != PARAMETER_NAME ||
		    (table[i].of == PARAMETER_OF_SERVER) != of_server || *at == NULL)
			continue;
		*at = whole ? strdup(*at) : NULL;
		whole = whole && *at != NULL;
	}
	return whole;
}

static void drop_names(void *params, bool of_server)
{
	for (unsigned int i = 0; i < PARAMS; i++) {
		char **at = (char **)((char *)params + table[i].at);

		if (table[i].kind != PARAMETER_NAME ||
		    (table[i].of == PARAMETER_OF_SERVER) != of_server)
			continue;
		free(*at);
		*at = NULL;
	}
}

void ra_export_params_drop(struct ra_export_params *p)
{
	drop_names(p, false);
}

void ra_module_params_drop(struct ra_module_params *p)
{
	drop_names(p, true);
}

bool ra_export_params_copy(struct ra_export_params *to, const struct ra_export_params *from)
{
	*to = *from;
	if (own_names(to, false))
		return true;
	ra_export_params_drop(to);
	return false;
}

bool ra_module_params_copy(struct ra_module_params *to, const struct ra_module_params *from)
{
	*to = *from;
	if (own_names(to, true))
		return true;
	ra_module_params_drop(to);
	return false;
}
