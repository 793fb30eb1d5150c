/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Settings out of a file and of the command line. See settings.h. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "fstab.h"
#include "settings.h"

/* "name value", with any blanks; a path may have some inside. */
static bool set_line(struct settings *s, char *line, char *error, size_t size)
{
	char *name = line + strspn(line, " \t"), *value = name + strcspn(name, " \t\n");
	char *end = line + strlen(line);

	if (*name == '#' || *name == '\n' || *name == '\0')
		return true;
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t");
	while (end > value && isspace((unsigned char)end[-1]))
		*--end = '\0';
	if (!*value)
		return settings_wrong(error, size, "%s: has no value", name);
	return settings_set(s, name, value, error, size);
}

bool settings_read_stream(struct settings *s, FILE *file, const char *name, char *error,
			  size_t size)
{
	char line[SETTINGS_LINE], why[SETTINGS_LINE + 100];
	unsigned int number = 0;
	bool good = true;

	while (good && fgets(line, sizeof(line), file)) {
		number++;
		if (!strchr(line, '\n') && !feof(file))
			good = settings_wrong(error, size, "%s, line %u: longer than %d bytes",
					      name, number, SETTINGS_LINE - 2);
		else if (!set_line(s, line, why, sizeof(why)))
			good = settings_wrong(error, size, "%s, line %u: %s", name, number, why);
	}
	if (good && ferror(file))
		good = settings_wrong(error, size, "%s: cannot be read", name);
	return good;
}

bool settings_read(struct settings *s, const char *path, char *error, size_t size)
{
	FILE *file = fopen(path, "re");
	bool good;

	if (!file)
		return settings_wrong(error, size, "%s: %s", path, strerror(errno));
	good = settings_read_stream(s, file, path, error, size);
	fclose(file);
	return good;
}

/* A weight that was given by name comes before that of an option. */
static void add_weight(struct settings *s, const struct fstab_mount *m, const char *name,
		       unsigned int number)
{
	char value[SETTINGS_LINE + PATH_MAX], why[SETTINGS_LINE];

	if (!m->weight || weights_has(&s->weights, m->path))
		return;
	snprintf(value, sizeof(value), "%.*s %s", (int)m->weight_length, m->weight, m->path);
	if (!settings_set(s, "weight", value, why, sizeof(why)))
		log_line(LOG_LEVEL_WARN, "%s, line %u: " FSTAB_WEIGHT "%.*s: %s: it weighs 1", name,
			 number, (int)m->weight_length, m->weight, why);
}

/* The next line, or so much of it as there is room for: *FITS says whether that is all. False: there is none. */
static bool next_line(FILE *file, char *line, size_t size, bool *fits)
{
	size_t n = 0;
	int c = 0;

	while (c != '\n' && (c = getc_unlocked(file)) != EOF) {
		if (n + 1 < size)
			line[n] = (char)c;
		n++;
	}
	*fits = n < size;
	line[*fits ? n : size - 1] = '\0';
	return n && !ferror(file);
}

void settings_add_mounts(struct settings *s, FILE *file, const char *name,
			 settings_mount_line parse)
{
	char line[SETTINGS_LINE], path[PATH_MAX], why[PATH_MAX + 100];
	struct fstab_mount m = {.path = path, .size = sizeof(path)};
	unsigned int number = 0, more = 0;
	bool fits;

	while (next_line(file, line, sizeof(line), &fits)) {
		number++;
		if (!fits)
			log_line(LOG_LEVEL_WARN, "%s, line %u: longer than %d bytes: not this one",
				 name, number, SETTINGS_LINE - 2);
		if (!fits || !parse(line, &m))
			continue;
		if (!settings_has_mount(s, path)) {
			if (s->mount_count == MOUNTS_MAX) {
				more++;
				continue;
			}
			if (!settings_set(s, "mount", path, why, sizeof(why))) {
				log_line(LOG_LEVEL_WARN, "%s, line %u: %s: not this one", name,
					 number, why);
				continue;
			}
		}
		add_weight(s, &m, name, number);
	}
	if (more)
		log_line(LOG_LEVEL_WARN, "%s: not looked after, more than %d mounts: %u", name,
			 MOUNTS_MAX, more);
}

/* A file that is not there names no mount; one that cannot be read may name any. */
static bool add_file(struct settings *s, const char *name, settings_mount_line parse, char *error,
		     size_t size)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", s->root, name);
	file = fopen(path, "re");
	if (!file) {
		s->unreadable = errno != ENOENT;
		return !s->unreadable ||
		       settings_wrong(error, size, "%s: %s", path, strerror(errno));
	}
	settings_add_mounts(s, file, path, parse);
	s->unreadable = ferror(file);
	fclose(file);
	return !s->unreadable || settings_wrong(error, size, "%s: cannot be read", path);
}

/* Mounts that have the option: those of fstab, and those mounted with it now. */
static bool add_opted_in(struct settings *s, char *error, size_t size)
{
	if (s->fstab && !add_file(s, FSTAB_FILE, fstab_parse, error, size))
		return false;
	s->named = s->mount_count;
	s->weights_named = s->weights.count;
	return !s->fstab || add_file(s, UTAB_FILE, utab_parse, error, size);
}

static bool same_weights(const struct weights *a, const struct weights *b)
{
	bool same = a->count == b->count;

	for (unsigned int i = 0; same && i < a->count; i++)
		same = strcmp(a->at[i].name, b->at[i].name) == 0 &&
		       a->at[i].weight == b->at[i].weight;
	return same;
}

bool settings_same_mounts(const struct settings *a, const struct settings *b)
{
	bool same = a->mount_count == b->mount_count && same_weights(&a->weights, &b->weights);

	for (unsigned int i = 0; same && i < a->mount_count; i++)
		same = strcmp(a->mounts[i], b->mounts[i]) == 0;
	return same;
}

bool settings_follow(const struct settings *s, struct settings *fresh, char *error, size_t size)
{
	*fresh = *s;
	fresh->mount_count = 0;
	fresh->weights.count = s->weights_named;
	for (unsigned int i = 0; i < s->named; i++)
		if (!settings_set(fresh, "mount", s->mounts[i], error, size))
			return false;
	return !s->fstab || add_file(fresh, UTAB_FILE, utab_parse, error, size);
}

/* Options that are no settings. */
static bool is_file_option(const char *name)
{
	return strcmp(name, "config") == 0 || strcmp(name, "root") == 0 ||
	       strcmp(name, "replies") == 0;
}

static bool set_value(struct settings *s, const char *name, const char *value, char *error,
		      size_t size)
{
	if (strcmp(name, "config") == 0)
		return settings_read(s, value, error, size);
	if (strcmp(name, "root") == 0)
		s->root = value;
	else if (strcmp(name, "replies") == 0)
		s->replies = value;
	else
		return settings_set(s, name, value, error, size);
	return true;
}

/* An option at ARGV[*i], its value there behind '=' or the next one. */
static bool set_option(struct settings *s, int argc, char **argv, int *i, char *error, size_t size)
{
	const char *option = argv[*i] + 2, *value = strchr(option, '=');
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(option, "="), option);
	if (settings_flag(s, name))
		return !value || settings_wrong(error, size, "--%s: takes no value", name);
	if (!settings_known(name) && !is_file_option(name))
		return settings_wrong(error, size,
				      "--%s: there is no such option; --help lists them", option);
	value = value ? value + 1 : argv[++*i];
	if (!value)
		return settings_wrong(error, size, "--%s: wants a value", name);
	return set_value(s, name, value, error, size);
}

bool settings_parse(struct settings *s, int argc, char **argv, char *error, size_t size)
{
	bool options = true;

	for (int i = 1; i < argc; i++) {
		if (options && strcmp(argv[i], "--") == 0)
			options = false;
		else if (options && strcmp(argv[i], "-h") == 0)
			s->help = true;
		else if (options && strncmp(argv[i], "--", 2) == 0) {
			if (!set_option(s, argc, argv, &i, error, size))
				return false;
		} else if (options && argv[i][0] == '-')
			return settings_wrong(error, size,
					      "%s: there is no such option; --help lists them",
					      argv[i]);
		else if (!settings_set(s, "mount", argv[i], error, size))
			return false;
	}
	return add_opted_in(s, error, size);
}
