/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of settings. See settings.h. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path_text.h"
#include "settings.h"

enum kind {
	NUMBER, /* double */
	WHOLE,	/* uint32_t */
	SWITCH, /* bool: yes or no */
	NAMED,	/* struct weights: "NUMBER NAME", as often as wanted */
	FILE_,	/* char [SETTINGS_FILE]: an absolute path */
	FLAG,	/* bool: of the command line only, by being there */
};

struct setting {
	const char *name;
	enum kind kind;
	size_t at; /* its field in struct settings */
	const char *unit;
	double least, most, preset;
	const char *help;
};

#define AT(field) offsetof(struct settings, field)

static const struct setting table[] = {
	{"interval", NUMBER, AT(interval), "seconds", 0.25, 10, 2,
	 "between two questions for the prices of a mount"},
	{"answer", NUMBER, AT(answer), "seconds", 1, 60, 10,
	 "without an answer for so long the prices count no more"},
	{"defer", SWITCH, AT(decide.defer), "", 0, 1, 1,
	 "hold written data back while the server's price is above ours"},
	{"defer-max", NUMBER, AT(decide.defer_max), "seconds", 1, 24, 24,
	 "hold back no longer than this at a time"},
	{"flush-point", NUMBER, AT(flush_point), "percent", 0, 80, 0,
	 "of memory may be dirty while a mount defers, on the whole machine; 0: as it is set"},
	{"accelerate", SWITCH, AT(decide.accelerate), "", 0, 1, 1,
	 "have data written at once while the server's price is far below ours"},
	{"dirty-min", NUMBER, AT(dirty_min), "KiB", 0, 1048576, 4096,
	 "with less dirty data there is nothing to accelerate"},
	{"readahead", SWITCH, AT(decide.readahead), "", 0, 1, 1,
	 "let the kernel read ahead as the server's price allows"},
	{"readahead-min", WHOLE, AT(decide.readahead_min), "KiB", 4, 65536, 16,
	 "read ahead at the highest price"},
	{"readahead-max", WHOLE, AT(decide.readahead_max), "KiB", 4, 65536, 1024,
	 "read ahead at a low price"},
	{"price-min", NUMBER, AT(decide.price_min), "", 0.0002, 1, 0.05,
	 "our least price: below it the server's counts as low"},
	{"k-memory", NUMBER, AT(decide.k), "", 1, 1e9, 10000,
	 "how late our price of memory rises with what is dirty, and how steeply then"},
	{"k-cache", NUMBER, AT(decide.k_cache), "", 1, 1e9, 10,
	 "the same for what cached data is worth, by its hit rate"},
	{"network-capacity", NUMBER, AT(network_capacity), "Mbit/s", 0, 1e6, 0,
	 "of network cards that state no speed; 0: what those do is not known"},
	{"weight", NAMED, AT(weights), "", 0, 0, 0,
	 "NUMBER MOUNT: what this mount would pay, 0.01 to 100 times the others"},
	{"halt", NAMED, AT(halts), "", 0, 0, 0,
	 "NUMBER CGROUP: its programs halt when the server is dearer than 1.25 times NUMBER times "
	 "price-min"},
	{"keep", NAMED, AT(keeps), "", 0, 0, 0,
	 "PERCENT CGROUP: so much of memory it keeps while its cached data would be lost"},
	{"fstab", SWITCH, AT(fstab), "", 0, 1, 0,
	 "look after the mounts too that have the option x-ca-nfs, in /etc/fstab or when mounted"},
	{"syslog", SWITCH, AT(syslog), "", 0, 1, 0,
	 "messages to syslog, not to the standard output"},
	{"metrics", FILE_, AT(metrics), "", 0, 0, 0,
	 "write metrics to this file for Prometheus (its name should end with .prom)"},
	{"dry-run", FLAG, AT(dry_run), "", 0, 1, 0, "say what would be done, and do nothing"},
	{"once", FLAG, AT(once), "", 0, 1, 0,
	 "find out what each server states, say it, and end; changes nothing"},
	{"status", FLAG, AT(status), "", 0, 1, 0, "show what the running agent does"},
	{"watch", FLAG, AT(watch), "", 0, 1, 0, "show it again and again, until interrupted"},
	{"explain", FLAG, AT(explain), "", 0, 1, 0,
	 "show the running agent's last decisions, with their reasons"},
	{"restore", FLAG, AT(restore), "", 0, 1, 0,
	 "put back what an agent changed that was killed"},
	{"stop", FLAG, AT(stop), "", 0, 1, 0,
	 "end the running agent, and put back what a killed one changed"},
	{"help", FLAG, AT(help), "", 0, 1, 0, "show this"},
};

#define SETTINGS (sizeof(table) / sizeof(table[0]))

bool settings_wrong(char *error, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return false;
}

static void put(struct settings *s, const struct setting *e, double value)
{
	char *at = (char *)s + e->at;

	if (e->kind == NUMBER)
		*(double *)at = value;
	else if (e->kind == WHOLE)
		*(uint32_t *)at = (uint32_t)value;
	else
		*(bool *)at = value != 0;
}

void settings_init(struct settings *s)
{
	*s = (struct settings){.root = ""};
	for (size_t i = 0; i < SETTINGS; i++)
		if (table[i].kind != FILE_ && table[i].kind != NAMED)
			put(s, &table[i], table[i].preset);
}

void settings_free(struct settings *s)
{
	while (s->mount_count)
		free(s->mounts[--s->mount_count]);
}

static bool set_number(struct settings *s, const struct setting *e, const char *text, char *error,
		       size_t size)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= e->least && value <= e->most) ||
	    (e->kind == WHOLE && value != (uint32_t)value))
		return settings_wrong(error, size,
				      "%s = %s: must be a%s number from %.10g to %.10g%s%s",
				      e->name, text, e->kind == WHOLE ? " whole" : "", e->least,
				      e->most, *e->unit ? " " : "", e->unit);
	put(s, e, value);
	return true;
}

static bool set_switch(struct settings *s, const struct setting *e, const char *text, char *error,
		       size_t size)
{
	bool yes = strcmp(text, "yes") == 0;

	if (!yes && strcmp(text, "no") != 0)
		return settings_wrong(error, size, "%s = %s: must be yes or no", e->name, text);
	put(s, e, yes);
	return true;
}

static bool set_file(struct settings *s, const struct setting *e, const char *text, char *error,
		     size_t size)
{
	if (text[0] != '/' || strlen(text) >= SETTINGS_FILE)
		return settings_wrong(error, size,
				      "%s = %.60s: must be an absolute path of at most %d bytes",
				      e->name, text, SETTINGS_FILE - 1);
	strcpy((char *)s + e->at, text);
	path_tidy((char *)s + e->at);
	return true;
}

/* PATH as the kernel's tables would have it, as far as its text says; NULL: no memory. */
static char *tidy(const char *path)
{
	char *copy = strdup(path);

	if (copy)
		path_tidy(copy);
	return copy;
}

static bool is_there(const struct settings *s, const char *tidied)
{
	for (unsigned int i = 0; i < s->mount_count; i++)
		if (strcmp(s->mounts[i], tidied) == 0)
			return true;
	return false;
}

bool settings_has_mount(const struct settings *s, const char *path)
{
	char *tidied = tidy(path);
	const bool found = tidied && is_there(s, tidied);

	free(tidied);
	return found;
}

static bool add_mount(struct settings *s, const char *path, char *error, size_t size)
{
	char *copy;

	if (path[0] != '/')
		return settings_wrong(error, size, "mount = %s: must be an absolute path", path);
	if (settings_has_mount(s, path))
		return settings_wrong(error, size, "mount = %s: is given twice", path);
	if (s->mount_count == MOUNTS_MAX)
		return settings_wrong(error, size, "mount = %s: more than %d mounts", path,
				      MOUNTS_MAX);
	copy = tidy(path);
	if (!copy)
		return settings_wrong(error, size, "mount = %s: no memory", path);
	s->mounts[s->mount_count++] = copy;
	return true;
}

static const struct setting *find(const char *name)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

bool settings_known(const char *name)
{
	const struct setting *e = find(name);

	return e && e->kind != FLAG;
}

bool settings_flag(struct settings *s, const char *name)
{
	const struct setting *e = find(name);

	if (!e || e->kind != FLAG)
		return false;
	put(s, e, 1);
	return true;
}

bool settings_set(struct settings *s, const char *name, const char *value, char *error, size_t size)
{
	const struct setting *e = find(name);

	if (strcmp(name, "mount") == 0)
		return add_mount(s, value, error, size);
	if (!e || e->kind == FLAG)
		return settings_wrong(error, size, "%s: there is no such setting", name);
	if (e->kind == FILE_)
		return set_file(s, e, value, error, size);
	if (e->kind == NAMED)
		return weights_set((struct weights *)((char *)s + e->at), name, value, error, size);
	if (e->kind == SWITCH)
		return set_switch(s, e, value, error, size);
	return set_number(s, e, value, error, size);
}

bool settings_check(const struct settings *s, char *error, size_t size)
{
	if (s->decide.readahead_min > s->decide.readahead_max)
		return settings_wrong(error, size,
				      "readahead-min = %u: must not be above readahead-max = %u",
				      s->decide.readahead_min, s->decide.readahead_max);
	if (s->answer < s->interval)
		return settings_wrong(error, size, "answer = %g: must not be below interval = %g",
				      s->answer, s->interval);
	if (!s->mount_count && !s->fstab)
		return settings_wrong(error, size,
				      "which mounts? name them, or a file with --config");
	return true;
}

void settings_help(const char *program)
{
	printf("usage: %s [OPTION...] [--config FILE] MOUNT...\n"
	       "Watches the congestion prices of NFSv3 servers, and turns the kernel's knobs of "
	       "these\n"
	       "mounts by them. A line \"name value\" in FILE is as good as an option; \"mount "
	       "PATH\"\n"
	       "there is a mount.\n\n",
	       program);
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct setting *e = &table[i];

		if (e->kind == FLAG || e->kind == FILE_ || e->kind == NAMED)
			printf("  --%-16s %s\n", e->name, e->help);
		else if (e->kind == SWITCH)
			printf("  --%-16s %s (yes or no; %s)\n", e->name, e->help,
			       e->preset != 0 ? "yes" : "no");
		else
			printf("  --%-16s %s%s%s (%.10g to %.10g; %.10g)\n", e->name, e->unit,
			       *e->unit ? " " : "", e->help, e->least, e->most, e->preset);
	}
}
