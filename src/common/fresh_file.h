/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A new file beside one that it is to replace, in a directory that others may write to, too: they cannot have us write
 * elsewhere by a link, nor wait for who reads a FIFO. Any thread.
 */
#ifndef COMMON_FRESH_FILE_H
#define COMMON_FRESH_FILE_H

#include <sys/types.h>

/*
 * A descriptor of a file that is made at PATH, from DIR_FD on (AT_FDCWD), to be written, with MODE less the umask; what
 * was there is removed before. -1: errno says why.
 */
int fresh_file_open(int dir_fd, const char *path, mode_t mode);

#endif
