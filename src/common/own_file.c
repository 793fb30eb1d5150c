/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A package manager renames the new file over the old, so another inode has the name; and an inode's
 * number may be used again, so the time of its last change counts too. Links are followed.
 */
#include "common/own_file.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void own_file_note(struct own_file *f, const char *path)
{
	if (realpath(path, f->path) == NULL || stat(f->path, &f->loaded) != 0)
		f->path[0] = '\0';
}

void own_file_note_address(struct own_file *f, const void *address)
{
	Dl_info info;

	f->path[0] = '\0';
	if (dladdr(address, &info) != 0 && info.dli_fname != NULL)
		own_file_note(f, info.dli_fname);
}

const char *own_file_state(const struct own_file *f)
{
	struct stat now;

	if (f->path[0] == '\0')
		return "unknown";
	if (stat(f->path, &now) != 0)
		return "removed";
	if (now.st_dev == f->loaded.st_dev && now.st_ino == f->loaded.st_ino &&
	    memcmp(&now.st_mtim, &f->loaded.st_mtim, sizeof(now.st_mtim)) == 0)
		return "loaded";
	return "replaced";
}
