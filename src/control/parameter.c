/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See parameter.h. Capitals do not matter, in names of parameters and in their values. */
#include "control/parameter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const parameter_of_names[] = {
	[PARAMETER_OF_EXPORT] = "export",
	[PARAMETER_OF_DEVICE] = "device",
	[PARAMETER_OF_SERVER] = "server",
};

const char *const parameter_class_names[] = {
	[PARAMETER_EXPERIMENT] = "experiment",
	[PARAMETER_ADMIN] = "admin",
};

bool parameter_in_range(const struct parameter *p, uint64_t value, char *why, size_t size)
{
	if (value >= p->min && value <= p->max)
		return true;
	snprintf(why, size, "%s = %" PRIu64 " is out of range: %" PRIu64 " to %" PRIu64 " %s",
		 p->name, value, p->min, p->max, p->unit);
	return false;
}

static bool read_number(const struct parameter *p, const char *text, uint64_t *n, char *why,
			size_t size)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0)
		return parameter_in_range(p, *n, why, size);
	snprintf(why, size, "%s = %.64s is not a number: %" PRIu64 " to %" PRIu64 " %s", p->name,
		 text, p->min, p->max, p->unit);
	return false;
}

/* The words that the server's parser takes. */
static bool read_flag(const struct parameter *p, const char *text, uint64_t *n, char *why,
		      size_t size)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(text, words[i]) == 0) {
			*n = i % 2;
			return true;
		}
	snprintf(why, size, "%s = %.64s is none of true, false", p->name, text);
	return false;
}

bool parameter_read(const struct parameter *p, const char *text, struct parameter_value *v,
		    char *why, size_t size)
{
	*v = (struct parameter_value){0};
	if (p->kind == PARAMETER_NUMBER)
		return read_number(p, text, &v->number, why, size);
	if (p->kind == PARAMETER_FLAG)
		return read_flag(p, text, &v->number, why, size);
	if (strlen(text) >= sizeof(v->name)) {
		snprintf(why, size, "%s = %.32s... is longer than %zu bytes", p->name, text,
			 sizeof(v->name) - 1);
		return false;
	}
	memcpy(v->name, text, strlen(text) + 1);
	return true;
}

void parameter_default(const struct parameter *p, struct parameter_value *v)
{
	*v = (struct parameter_value){.number = p->preset};
	if (p->kind == PARAMETER_NAME)
		snprintf(v->name, sizeof(v->name), "%s", p->preset_name);
}

bool parameter_equal(const struct parameter *p, const struct parameter_value *a,
		     const struct parameter_value *b)
{
	return p->kind == PARAMETER_NAME ? strcasecmp(a->name, b->name) == 0
					 : a->number == b->number;
}

void parameter_text(const struct parameter *p, const struct parameter_value *v, char *text,
		    size_t size)
{
	if (p->kind == PARAMETER_NUMBER)
		snprintf(text, size, "%" PRIu64, v->number);
	else if (p->kind == PARAMETER_FLAG)
		snprintf(text, size, "%s", v->number ? "true" : "false");
	else
		snprintf(text, size, "%s", v->name);
}

const struct parameter *parameter_find(const struct parameter *p, unsigned int n, const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcasecmp(p[i].name, name) == 0)
			return &p[i];
	return NULL;
}
