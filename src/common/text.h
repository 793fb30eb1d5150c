/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Texts of /proc and /sys: reading them whole, and parsing them.
 *
 * The parsers take any bytes that end with NUL: what is missing or malformed makes them return
 * false or NULL. They keep no state; any thread may call them.
 */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads FD from its beginning, up to SIZE bytes: their number, or -1 with errno. One pread() is not
 * enough: of a text longer than a page the kernel gives a page at a time.
 */
ssize_t text_read(int fd, char *buf, size_t size);

/* The same of the file at PATH, opened for it. */
ssize_t text_read_path(const char *path, char *buf, size_t size);

/* The line that begins with KEY, behind the key; NULL: there is none. */
const char *text_line(const char *text, const char *key);
/* The beginning of the next line, NULL behind the last one. */
const char *text_next_line(const char *text);
/* A decimal number behind blanks; *AT moves behind it. Beyond 64 bits is no number. */
bool text_number(const char **at, uint64_t *number);
/* N numbers. */
bool text_numbers(const char *at, uint64_t *numbers, unsigned int n);

#endif
