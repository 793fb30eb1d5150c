/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Texts of /proc and /sys. See text.h. */
#include "common/text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ssize_t text_read(int fd, char *buf, size_t size)
{
	size_t got = 0;
	ssize_t n = 0;

	while (got < size && (n = pread(fd, buf + got, size - got, (off_t)got)) > 0)
		got += (size_t)n;
	return n < 0 ? n : (ssize_t)got;
}

ssize_t text_read_path(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = text_read(fd, buf, size);
	close(fd);
	return n;
}

const char *text_next_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end && end[1] ? end + 1 : NULL;
}

const char *text_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; text; text = text_next_line(text))
		if (!strncmp(text, key, len))
			return text + len;
	return NULL;
}

bool text_number(const char **at, uint64_t *number)
{
	const char *p = *at;
	uint64_t n = 0;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	*number = n;
	*at = p;
	return true;
}

bool text_numbers(const char *at, uint64_t *numbers, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!text_number(&at, &numbers[i]))
			return false;
	return true;
}
