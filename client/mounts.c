/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Lines of mountinfo:
 *
 *   36 35 0:47 / /mnt/my\040data rw,noatime shared:1 - nfs server:/export rw,vers=3,rsize=...
 *   id    device  mount point              optional -  type source       of the file system
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	return a->id == b->id && a->kind == b->kind && strcmp(a->device, b->device) == 0;
}

bool mount_parse(const char *line, const char *path, struct mount *m)
{
	struct mount found = {0};
	int at = 0, point = 0, behind = 0, options = 0;
	const char *dash;

	if (sscanf(line, "%u %*u %23[0-9:] %*s %n%*s%n", &found.id, found.device, &point, &behind) <
		    2 ||
	    behind <= point || !octal_same(line + point, line + behind, path))
		return false;
	dash = strstr(line + behind, " - ");
	if (!dash || sscanf(dash, " - %23s %n%*s %n", found.type, &at, &options) < 1 ||
	    options <= at)
		return false;
	found.kind = kind_of(found.type, dash + options);
	*m = found;
	return true;
}

int mount_find(const char *mountinfo, const char *path, struct mount *m)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file = fopen(mountinfo, "re");

	memset(m, 0, sizeof(*m));
	if (!file)
		return errno;
	while (getline(&line, &size, file) > 0)
		mount_parse(line, path, m); /* a later one is on top */
	free(line);
	fclose(file);
	return 0;
}
