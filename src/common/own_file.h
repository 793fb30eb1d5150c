/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whether the file that code was loaded from is still the one of that name: an update puts another there. */
#ifndef COMMON_OWN_FILE_H
#define COMMON_OWN_FILE_H

#include <limits.h>
#include <sys/stat.h>

struct own_file {
	char path[PATH_MAX]; /* empty: not known */
	struct stat loaded;
};

/* The file at `path`, as it is now. */
void own_file_note(struct own_file *f, const char *path);

/* The file that `address`, of code or a static variable, was loaded from. */
void own_file_note_address(struct own_file *f, const void *address);

/* "loaded": the same as then; "replaced" by another; "removed"; "unknown". Any thread. */
const char *own_file_state(const struct own_file *f);

#endif /* COMMON_OWN_FILE_H */
