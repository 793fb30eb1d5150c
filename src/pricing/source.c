/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading the texts of /proc and /sys. See source.h. */
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
