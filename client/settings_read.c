/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Settings out of a file and of the command line. See settings.h. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

bool settings_read_fstab(struct settings *s, FILE *file, const char *name, char *error, size_t size)
{
	char line[SETTINGS_LINE], path[PATH_MAX], why[PATH_MAX + 100];
	unsigned int number = 0;

	while (fgets(line, sizeof(line), file)) {
		number++;
		if (!fstab_parse(line, path, sizeof(path)) || settings_has_mount(s, path))
			continue;
		if (!settings_set(s, "mount", path, why, sizeof(why)))
			return settings_wrong(error, size, "%s, line %u: %s", name, number, why);
	}
	return !ferror(file) || settings_wrong(error, size, "%s: cannot be read", name);
}

static bool add_fstab(struct settings *s, char *error, size_t size)
{
	char path[PATH_MAX];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s" FSTAB_FILE, s->root);
	file = fopen(path, "re");
	if (!file)
		return settings_wrong(error, size, "%s: %s", path, strerror(errno));
	good = settings_read_fstab(s, file, path, error, size);
	fclose(file);
	return good;
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
	return !s->fstab || add_fstab(s, error, size);
}
