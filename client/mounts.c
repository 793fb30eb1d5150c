/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lines of mountinfo:
 *
 *   36 35 0:47 / /mnt/my\040data rw,noatime shared:1 - nfs server:/export rw,vers=3,rsize=...
 *   id    device  mount point              optional -  type source       of the file system
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"
#include "octal.h"

static bool is_version_3(const char *options)
{
	const size_t length = strcspn(options, " \n");
	const char *at = options - 1;

	do {
		at++;
		if (strncmp(at, "vers=3", 6) == 0 && strchr(", \n", at[6]))
			return true;
		at += strcspn(at, ", \n");
	} while (at < options + length);
	return false;
}

static enum mount_kind kind_of(const char *type, const char *options)
{
	if (strcmp(type, "autofs") == 0)
		return MOUNT_AUTOFS;
	if (strcmp(type, "nfs4") == 0)
		return MOUNT_NFS4;
	if (strcmp(type, "nfs") != 0)
		return MOUNT_OTHER;
	return is_version_3(options) ? MOUNT_NFS3 : MOUNT_NFS4;
}

const char *mount_obstacle(const struct mount *m, char *text, size_t size)
{
	static const char *const texts[] = {
		[MOUNT_NONE] = "nothing is mounted there: not yet",
		[MOUNT_AUTOFS] = "waits to be mounted (autofs): not yet",
		[MOUNT_NFS4] = "is NFS of another version: prices need vers=3",
		[MOUNT_NFS3] = "",
	};

	if (m->kind == MOUNT_OTHER)
		snprintf(text, size, "is %s, not NFS", m->type);
	else
		snprintf(text, size, "%s", texts[m->kind]);
	return text;
}

bool mount_same(const struct mount *a, const struct mount *b)
{
	return a->id == b->id && a->kind == b->kind && a->source == b->source &&
	       strcmp(a->device, b->device) == 0;
}

/* FNV-1a. */
static uint32_t number_of(const char *text, size_t length)
{
	uint32_t number = UINT32_C(2166136261);

	while (length--)
		number = (number ^ (unsigned char)*text++) * UINT32_C(16777619);
	return number;
}

/* "server" of "server:/export"; of any other source all of it. */
static size_t length_of_server(const char *source, size_t length)
{
	const char *path = memmem(source, length, ":/", 2);

	return path ? (size_t)(path - source) : length;
}

bool mount_parse(const char *line, const char *path, struct mount *m)
{
	struct mount found = {0};
	int at = 0, point = 0, behind = 0, options = 0;
	const char *dash, *source;
	size_t length;

	if (sscanf(line, "%u %u %23[0-9:] %*s %n%*s%n", &found.id, &found.parent, found.device,
		   &point, &behind) < 3 ||
	    behind <= point || !octal_same(line + point, line + behind, path))
		return false;
	dash = strstr(line + behind, " - ");
	if (!dash || sscanf(dash, " - %23s %n%*s %n", found.type, &at, &options) < 1 ||
	    options <= at)
		return false;
	found.kind = kind_of(found.type, dash + options);
	source = dash + at;
	length = strcspn(source, " \n");
	found.server = number_of(source, length_of_server(source, length));
	found.source = number_of(source, length);
	*m = found;
	return true;
}

/* Bytes that there is room for at first, and at most. */
#define ROOM	 16384
#define ROOM_MAX (1 << 24)

/* All of FD, with a 0; NULL: errno says why. */
static char *read_all(int fd, size_t *room, size_t *size)
{
	char *text = malloc(*room), *larger;
	ssize_t n = 1;

	*size = 0;
	while (text && (n = read(fd, text + *size, *room - 1 - *size)) > 0) {
		*size += (size_t)n;
		if (*size < *room - 1)
			continue; /* mountinfo comes in pieces */
		larger = *room < ROOM_MAX ? realloc(text, 2 * *room) : NULL;
		if (!larger)
			free(text);
		text = larger;
		*room *= 2;
	}
	if (text && n == 0) {
		text[*size] = '\0';
		return text;
	}
	if (!text)
		errno = ENOMEM;
	free(text);
	return NULL;
}

int mount_table_read(struct mount_table *t, const char *mountinfo)
{
	size_t size, room = t->room ? t->room : ROOM;
	int err, fd = open(mountinfo, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0)
		return errno;
	text = read_all(fd, &room, &size);
	err = errno;
	close(fd);
	if (!text)
		return err;
	for (char *end = text; (end = strchr(end, '\n'));)
		*end++ = '\0';
	if (t->text && t->size == size && memcmp(t->text, text, size) == 0) {
		free(text);
		return 0;
	}
	free(t->text);
	*t = (struct mount_table){text, size, room, t->changes + 1};
	return 0;
}

/* LINE's fifth field, the mount point; NULL: it has none. */
static const char *point_of(const char *line)
{
	for (int field = 0; field < 4; field++) {
		line = strchr(line, ' ');
		if (!line++)
			return NULL;
	}
	return line;
}

/* Looks at that field only, which most often is another mount's. */
static bool is_at(const char *line, const char *path)
{
	const char *point = point_of(line);

	return point && octal_same(point, point + strcspn(point, " "), path);
}

/* Deeper than anybody mounts. */
#define PARENTS_MAX 32

/* The line of mount ID; NULL: there is none. */
static const char *line_of(const struct mount_table *t, unsigned int id)
{
	const char *end = t->text + t->size;
	char begin[16];
	const size_t length = (size_t)snprintf(begin, sizeof(begin), "%u ", id);

	for (const char *line = t->text; line < end; line += strlen(line) + 1)
		if (strncmp(line, begin, length) == 0)
			return line;
	return NULL;
}

/* LINE's type of file system, up to a blank; "": it has none. */
static const char *type_of(const char *line)
{
	const char *dash = strstr(line, " - ");

	return dash ? dash + 3 : "";
}

static bool is_type(const char *line, const char *type)
{
	const size_t length = strlen(type);

	return strncmp(type_of(line), type, length) == 0 && type_of(line)[length] == ' ';
}

static bool below_autofs(const struct mount_table *t, const struct mount *m)
{
	unsigned int id = m->parent;
	const char *line;

	for (unsigned int depth = 0; depth < PARENTS_MAX && (line = line_of(t, id)); depth++) {
		if (is_type(line, "autofs"))
			return true;
		if (sscanf(line, "%*u %u", &id) != 1)
			return false;
	}
	return false;
}

void mount_table_find(const struct mount_table *t, const char *path, struct mount *m)
{
	const char *end = t->text + t->size;

	memset(m, 0, sizeof(*m));
	for (const char *line = t->text; line < end; line += strlen(line) + 1)
		if (is_at(line, path))
			mount_parse(line, path, m); /* a later one is on top */
	m->automounted = m->kind == MOUNT_NFS3 && below_autofs(t, m);
}

/* How many characters of PATH are the mount point of LINE, which PATH is or lies below; 0: it does not. */
static size_t length_above(const char *line, const char *path)
{
	const char *point = point_of(line), *at = path, *end;

	if (!point)
		return 0;
	end = point + strcspn(point, " ");
	while (point < end)
		if (!*at || octal_next(&point, end) != *at++)
			return 0;
	if (at == path + 1)
		return 1; /* the root */
	return *at == '\0' || *at == '/' ? (size_t)(at - path) : 0;
}

/* Of a line of mountinfo: what waits for others. Any "fuse" is a daemon's, but for a disk's. */
static bool waits_for_others(const char *line)
{
	static const char *const types[] = {"nfs", "nfs4", "cifs",   "smb3",  "ceph",
					    "9p",  "afs",  "lustre", "autofs"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (is_type(line, types[i]))
			return true;
	return strncmp(type_of(line), "fuse", 4) == 0 && strncmp(type_of(line), "fuseblk", 7) != 0;
}

bool mount_table_may_hang(const struct mount_table *t, const char *path)
{
	const char *end = t->text + t->size, *found = NULL;
	size_t longest = 0;

	if (t->text && strstr(path, "/../"))
		return true; /* a link may lead anywhere */
	for (const char *line = t->text; line < end; line += strlen(line) + 1) {
		const size_t length = length_above(line, path);

		if (length && length >= longest) { /* a later one is on top */
			longest = length;
			found = line;
		}
	}
	return found && waits_for_others(found);
}

void mount_table_free(struct mount_table *t)
{
	free(t->text);
	*t = (struct mount_table){0};
}
