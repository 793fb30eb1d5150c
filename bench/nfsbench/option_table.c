/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A command line by a table; see option_table.h. */
#include "option_table.h"
#include "number.h"

#include <assert.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(enum option_kind kind)
{
	return kind == OPTION_NUMBER || kind == OPTION_REAL || kind == OPTION_SECONDS;
}

static bool takes_argument(enum option_kind kind)
{
	return is_number(kind) || kind == OPTION_TEXT || kind == OPTION_OTHER;
}

static void help(const struct option_table *t)
{
	puts(t->usage);
	for (size_t i = 0; i < t->count; i++) {
		const struct option_def *d = &t->defs[i];

		printf("  --%-*s %s", t->width, d->name, d->help);
		if (is_number(d->kind))
			printf(" [%.15g … %.15g]", d->min, d->max);
		putchar('\n');
	}
	if (t->after)
		printf("\n%s\n", t->after);
}

static int out_of_range(const struct option_table *t, const struct option_def *d, const char *text)
{
	fprintf(stderr, "%s: --%s %s: must be %s from %.15g to %.15g\n", t->program, d->name, text,
		d->kind == OPTION_SECONDS ? "seconds" : "a number", d->min, d->max);
	return -1;
}

static bool in_range(const struct option_def *d, double value)
{
	return value >= d->min && value <= d->max; /* not so of what is no number */
}

static int set_whole(const struct option_table *t, const struct option_def *d, uint64_t *field,
		     const char *text)
{
	uint64_t v;

	if (options_number(text, &v) || !in_range(d, (double)v))
		return out_of_range(t, d, text);
	*field = v;
	return 0;
}

static int set_real(const struct option_table *t, const struct option_def *d, double *field,
		    const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !in_range(d, v))
		return out_of_range(t, d, text);
	*field = v;
	return 0;
}

static int set(const struct option_table *t, const struct option_def *d, void *into,
	       const char *text)
{
	void *field = (char *)into + d->field;

	switch (d->kind) {
	case OPTION_NUMBER:
		return set_whole(t, d, field, text);
	case OPTION_REAL:
	case OPTION_SECONDS:
		return set_real(t, d, field, text);
	case OPTION_TEXT:
		*(const char **)field = text;
		return 0;
	case OPTION_ON:
	case OPTION_OFF:
		*(bool *)field = d->kind == OPTION_ON;
		return 0;
	case OPTION_HELP:
		help(t);
		return 1;
	case OPTION_OTHER:
		return d->other(into, text);
	}
	return -1;
}

int option_table_parse(const struct option_table *t, void *into, int argc, char **argv)
{
	struct option longs[OPTION_TABLE_MAX + 1] = {{0}};
	int index = 0, c, rc = 0;

	assert(t->count <= OPTION_TABLE_MAX);
	for (size_t i = 0; i < t->count; i++) {
		longs[i].name = t->defs[i].name;
		longs[i].has_arg =
			takes_argument(t->defs[i].kind) ? required_argument : no_argument;
	}
	while (!rc && (c = getopt_long(argc, argv, "h", longs, &index)) != -1) {
		if (c == 'h') {
			help(t);
			rc = 1;
		} else if (c == 0) {
			rc = set(t, &t->defs[index], into, optarg);
		} else {
			fprintf(stderr, "%s: see %s --help\n", t->program, t->program);
			rc = -1;
		}
	}
	return rc;
}

int option_choice(const char *const *names, int first, int last, const char *text)
{
	for (int i = first; i <= last; i++) {
		if (strcmp(text, names[i]) == 0)
			return i;
	}
	return -1;
}
