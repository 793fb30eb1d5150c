/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names in fstab(5), mountinfo and mountstats: blanks and backslashes are a "\" and three octal digits. */
#ifndef CLIENT_OCTAL_H
#define CLIENT_OCTAL_H

#include <stdio.h>

static inline int octal_is_digit(char c)
{
	return c >= '0' && c <= '7';
}

/* The character at *AT, which moves behind it; not behind END. What is no such escape is itself. */
static inline char octal_next(const char **at, const char *end)
{
	const char *c = *at;

	if (*c == '\\' && end - c >= 4 && octal_is_digit(c[1]) && octal_is_digit(c[2]) &&
	    octal_is_digit(c[3])) {
		*at = c + 4;
		return (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0'));
	}
	*at = c + 1;
	return *c;
}

/* Whether what is escaped there, up to END, is NAME. */
static inline int octal_same(const char *escaped, const char *end, const char *name)
{
	while (escaped < end && *name)
		if (octal_next(&escaped, end) != *name++)
			return 0;
	return escaped == end && *name == '\0';
}

/* As the kernel would, and whatever else is no character to be shown: a name that people choose is then a
 * part of one line, and no other. */
static inline void octal_print(FILE *out, const char *name)
{
	for (; *name; name++) {
		const unsigned char c = (unsigned char)*name;

		if (c < ' ' || c == 127 || c == '\\')
			fprintf(out, "\\%03o", c);
		else
			putc(c, out);
	}
}

#endif
