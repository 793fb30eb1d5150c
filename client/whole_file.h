/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A file that others read while we write it: they see all of the old text or all of the new one. */
#ifndef CLIENT_WHOLE_FILE_H
#define CLIENT_WHOLE_FILE_H

/* Replaces PATH by way of PATH.new, which is removed before, whatever it is; READABLE: by everybody, whatever the
 * umask. 0, or an errno and what was there stays. Any thread; two writers of one path would take each other's PATH.new. */
int whole_file_write(const char *path, const char *text, int readable);
/* Removes PATH, and PATH.new of a writer that was killed, if they are files that begin with BEGIN. */
void whole_file_remove(const char *path, const char *begin);

#endif
