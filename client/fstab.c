/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Lines of fstab and of utab. See fstab.h. */
#include <string.h>

#include "fstab.h"
#include "octal.h"

#define BLANKS " \t\n"

/* The field at *AT, which moves behind it; its length, 0 behind the last one. */
static size_t next_field(const char **at, const char **field)
{
	size_t length;

	*field = *at + strspn(*at, BLANKS);
	length = strcspn(*field, BLANKS);
	*at = *field + length;
	return length;
}

/* Whether one of the options is ours; what the mount is to weigh. */
static bool has_option(const char *options, const char *end, struct fstab_mount *m)
{
	const size_t wanted = strlen(FSTAB_OPTION), named = strlen(FSTAB_WEIGHT);
	bool ours = false;

	while (options < end) {
		size_t length = strcspn(options, "," BLANKS);

		if (length == wanted && strncmp(options, FSTAB_OPTION, wanted) == 0) {
			ours = true;
		} else if (length >= named && strncmp(options, FSTAB_WEIGHT, named) == 0) {
			ours = true;
			m->weight = options + named;
			m->weight_length = length - named;
		}
		options += length + 1;
	}
	return ours;
}

static bool unescape(const char *field, const char *end, char *path, size_t size)
{
	size_t n = 0;

	while (field < end && n + 1 < size)
		path[n++] = octal_next(&field, end);
	path[n] = '\0';
	return field == end;
}

bool fstab_parse(const char *line, struct fstab_mount *m)
{
	const char *source, *point, *type, *options, *at = line;
	size_t point_length, options_length;

	m->weight = NULL;
	if (!next_field(&at, &source) || *source == '#')
		return false;
	point_length = next_field(&at, &point);
	if (!next_field(&at, &type))
		return false;
	options_length = next_field(&at, &options);
	return options_length && has_option(options, options + options_length, m) &&
	       unescape(point, point + point_length, m->path, m->size);
}

/* FIELD is NAME=value: where the value begins; NULL: it is another one. */
static const char *value_of(const char *field, size_t length, const char *name)
{
	const size_t n = strlen(name);

	return length > n && strncmp(field, name, n) == 0 ? field + n : NULL;
}

bool utab_parse(const char *line, struct fstab_mount *m)
{
	const char *field, *at = line, *value, *target = NULL, *target_end = NULL;
	bool ours = false;
	size_t length;

	m->weight = NULL;
	while ((length = next_field(&at, &field))) {
		value = value_of(field, length, "TARGET=");
		if (value) {
			target = value;
			target_end = at;
		}
		value = value_of(field, length, "OPTS=");
		if (value)
			ours = has_option(value, at, m);
	}
	return ours && target && unescape(target, target_end, m->path, m->size);
}
