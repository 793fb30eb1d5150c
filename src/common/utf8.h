/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* UTF-8 in JSON as escapes; and what is none, as UTF-8. Any thread. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* Bytes that TEXT of LEN bytes may become. */
#define UTF8_ESCAPED_MAX(len) (3 * (size_t)(len) + 1)

/* Bytes of the character of UTF-8 that TEXT, of LEFT bytes, begins with; 0: it begins with none. LEFT > 0. */
unsigned int utf8_length(const char *text, size_t left);
/*
 * Copies TEXT of LEN bytes to OUT, which has UTF8_ESCAPED_MAX(LEN): ASCII as it is, each other
 * character as \uXXXX, ended by NUL. Returns the length, or -1: TEXT is not UTF-8, or has
 * a backslash before such a character.
 */
long utf8_escape(const char *text, size_t len, char *out);
/* Each byte of TEXT that is in no character of UTF-8 becomes a "?": names of files may be any bytes. */
void utf8_mend(char *text);

#endif
