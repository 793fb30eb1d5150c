/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Limits of control groups. See group_memory.h. */
#include <string.h>

#include "group_memory.h"

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/memory"

struct names {
	const char *base, *limit, *usage, *cached, *dirty, *writeback;
};

static const struct names versions[] = {
	{V2, "memory.max", "memory.current", "file ", "file_dirty ", "file_writeback "},
	{V1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache ", "total_dirty ",
	 "total_writeback "},
};

static bool number_in(struct price_source *s, const struct names *n, const char *path,
		      const char *file, uint64_t *number)
{
	return source_read(s, "%s%s/%s", n->base, strcmp(path, "/") == 0 ? "" : path, file) &&
	       text_numbers(s->text, number, 1); /* also "max": no number */
}

static bool stat_of(struct price_source *s, const char *key, uint64_t *number)
{
	const char *at = text_line(s->text, key);

	return at && text_numbers(at, number, 1);
}

static void add(struct group_memory *g, struct price_source *s, const struct names *n,
		const char *path, double share)
{
	uint64_t limit, usage, cached, dirty, writeback;
	double held, available;

	/* v1 says "no limit" by a number near 2^63. */
	if (!number_in(s, n, path, n->limit, &limit) || !limit || limit >= UINT64_C(1) << 60 ||
	    !number_in(s, n, path, n->usage, &usage) ||
	    !source_read(s, "%s%s/memory.stat", n->base, strcmp(path, "/") == 0 ? "" : path) ||
	    !stat_of(s, n->cached, &cached) || !stat_of(s, n->dirty, &dirty) ||
	    !stat_of(s, n->writeback, &writeback))
		return;
	held = (double)dirty + (double)writeback;
	available = ((double)limit - (double)usage + (double)cached - held) / (double)limit;
	if (share > 0 && held / ((double)limit * share) > g->dirty)
		g->dirty = held / ((double)limit * share);
	if (available < g->available)
		g->available = available > 0 ? available : 0;
}

void group_memory_add(struct group_memory *g, struct price_source *s, const char *path,
		      double share)
{
	for (unsigned int i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		add(g, s, &versions[i], path, share);
}

/* A line "ID:CONTROLLERS:/PATH", of the hierarchy for memory: its path. */
static const char *memory_path(const char *line)
{
	const size_t length = strcspn(line, "\n");
	const char *names = memchr(line, ':', length), *end, *at;

	if (!names)
		return NULL;
	end = memchr(names + 1, ':', length - (size_t)(names + 1 - line));
	if (!end || end[1] != '/')
		return NULL;
	if (strncmp(line, "0::", 3) == 0)
		return end + 1;
	at = strstr(names, "memory");
	return at && at < end && strchr(":,", at[-1]) && strchr(":,", at[6]) ? end + 1 : NULL;
}

/* Our own group, without a slash at its end but for the root. False: it is not known. */
static bool own_group(struct price_source *s, char path[SOURCE_NAME])
{
	bool found = false;

	if (!source_read(s, "/proc/self/cgroup"))
		return false;
	for (const char *line = s->text; line; line = text_next_line(line)) {
		const char *at = memory_path(line);
		const size_t length = at ? strcspn(at, "\n") : 0;

		if (!at || length >= SOURCE_NAME || (found && strncmp(line, "0::", 3) == 0))
			continue; /* v1, where it has memory, is what counts */
		memcpy(path, at, length);
		path[length] = '\0';
		found = true;
	}
	return found;
}

/* The group above PATH, in place. False: there is none. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || strcmp(path, "/") == 0)
		return false;
	slash[slash == path] = '\0';
	return true;
}

void group_memory_above(struct group_memory *g, struct price_source *s, double share)
{
	char path[SOURCE_NAME];
	unsigned int depth = 0;

	if (!own_group(s, path))
		return;
	if (strcmp(path, "/") == 0)
		group_memory_add(g, s, path, share);
	while (depth++ < GROUP_DEPTH && go_up(path))
		group_memory_add(g, s, path, share);
}

bool group_is_name(const char *path)
{
	if (path[0] != '/' || path[strcspn(path, " \t\n\v\f\r")] || strstr(path, ".."))
		return false;
	for (const char *at = path; path[1] && at; at = strchr(at + 1, '/'))
		if (strchr("/", at[1]) || (at[1] == '.' && strchr("/", at[2])))
			return false;
	return true;
}

/* Whether the process whose groups FILE names is in the group at PATH, or in one below; *KNOWN: that file can be read. */
static bool is_in(struct price_source *s, const char *file, const char *path, bool *known)
{
	const size_t length = strcmp(path, "/") == 0 ? 0 : strlen(path);

	*known = source_read(s, "%s", file);
	if (!*known)
		return false;
	for (const char *line = s->text; line; line = text_next_line(line)) {
		const char *at = memchr(line, '/', strcspn(line, "\n"));

		if (at && strncmp(at, path, length) == 0 && strchr("/\n", at[length]))
			return true;
	}
	return false;
}

bool group_holds_us(struct price_source *s, const char *path)
{
	bool known;

	return strcmp(path, "/") == 0 || is_in(s, "/proc/self/cgroup", path, &known);
}

bool group_holds_init(struct price_source *s, const char *path, bool *known)
{
	return is_in(s, "/proc/1/cgroup", path, known);
}
