/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Counters of mounts:
 *
 *   device server:/export mounted on /mnt/my\040data with fstype nfs statvers=1.1
 *           age:    3600                          seconds
 *           events: 9 8 7 6 5 ...                 the fifth: open(2) of files and directories
 *           bytes:  4096 0 0 0 65536 0 16 0       programs: read, written, both again with O_DIRECT;
 *           per-op statistics                     then server: read, written; pages
 *                   READ: 16 16 0 2176 67000 0 12 12 0         the first is how many were sent
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mountstats.h"
#include "octal.h"

/* The mount whose lines follow this one; NULL: none of ours. */
static struct mountstats *begin(const char *line, const char *const *paths, unsigned int count,
				struct mountstats *found)
{
	const char *path = strstr(line, " mounted on "), *end;

	if (!path)
		return NULL;
	path += strlen(" mounted on ");
	end = path + strcspn(path, " \n");
	if (strncmp(end, " with fstype nfs", 16) != 0)
		return NULL;
	for (unsigned int i = 0; i < count; i++) {
		if (octal_same(path, end, paths[i])) {
			found[i] = (struct mountstats){.there = true};
			return &found[i];
		}
	}
	return NULL;
}

static void take_bytes(const char *text, struct mountstats *m)
{
	uint64_t n[6];

	if (sscanf(text, "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64, &n[0],
		   &n[1], &n[2], &n[3], &n[4], &n[5]) != 6)
		return;
	m->programs_read = n[0] + n[2];
	m->programs_written = n[1] + n[3];
	m->direct_read = n[2];
	m->server_read = n[4];
	m->server_written = n[5];
}

static void take_events(const char *text, struct mountstats *m)
{
	uint64_t opens;

	if (sscanf(text, "%*u %*u %*u %*u %" SCNu64, &opens) == 1)
		m->opens = opens;
}

static void take(const char *line, struct mountstats *m)
{
	line += strspn(line, " \t");
	if (strncmp(line, "bytes:", 6) == 0)
		take_bytes(line + 6, m);
	else if (strncmp(line, "events:", 7) == 0)
		take_events(line + 7, m);
	else if (strncmp(line, "age:", 4) == 0)
		m->age = strtoull(line + 4, NULL, 10);
	else if (strncmp(line, "READ:", 5) == 0)
		m->reads = strtoull(line + 5, NULL, 10);
	else if (strncmp(line, "WRITE:", 6) == 0)
		m->writes = strtoull(line + 6, NULL, 10);
}

void mountstats_read(FILE *in, const char *const *paths, unsigned int count,
		     struct mountstats *found)
{
	struct mountstats *now = NULL;
	char *line = NULL;
	size_t size = 0;

	memset(found, 0, count * sizeof(*found));
	while (getline(&line, &size, in) > 0) {
		if (strncmp(line, "device ", 7) == 0)
			now = begin(line, paths, count, found);
		else if (now)
			take(line, now);
	}
	free(line);
}
