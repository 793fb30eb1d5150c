/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading and parsing the texts of /proc and /sys. See source.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pricing/source.h"

/* A line that was cut would be read as smaller numbers. */
static void drop_cut_line(char *text)
{
	char *end = strrchr(text, '\n');

	if (end)
		end[1] = '\0';
}

bool source_read(struct price_source *s, const char *format, ...)
{
	va_list args;
	ssize_t n = -1;
	int len;

	va_start(args, format);
	len = vsnprintf(s->name, sizeof(s->name), format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < sizeof(s->name))
		n = s->read(s, s->name, s->text, sizeof(s->text) - 1);
	if (n < 0 || (size_t)n >= sizeof(s->text)) {
		s->text[0] = '\0';
		return false;
	}
	s->text[n] = '\0';
	if ((size_t)n == sizeof(s->text) - 1)
		drop_cut_line(s->text);
	return true;
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
