/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * UTF-8 -> JSON's escapes. A strict parser of json-c 0.17 and 0.18 refuses characters beyond ASCII in
 * strings; as escapes all versions take them. Two bytes become six, three six, and four twelve: no
 * more than three for one.
 */
#include "common/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* How many bytes the character that begins with FIRST has, and its bits in FIRST; 0: none does. */
static unsigned int bytes_of(unsigned char first, uint32_t *bits)
{
	if (first >= 0xc2 && first <= 0xdf) {
		*bits = first & 0x1fu;
		return 2;
	}
	if (first >= 0xe0 && first <= 0xef) {
		*bits = first & 0x0fu;
		return 3;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		*bits = first & 0x07u;
		return 4;
	}
	return 0;
}

/* The character at TEXT, of LEFT bytes at most; returns how many it has, 0: it is malformed. */
static unsigned int decode(const unsigned char *text, size_t left, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned int n = bytes_of(text[0], c);

	if (n == 0 || n > left)
		return 0;
	for (unsigned int i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (text[i] & 0x3fu);
	}
	if (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return 0;
	return n;
}

static int put_escape(char *out, uint32_t c)
{
	if (c < 0x10000)
		return sprintf(out, "\\u%04x", c);
	c -= 0x10000;
	return sprintf(out, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

long utf8_escape(const char *text, size_t len, char *out)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + len;
	bool backslash = false; /* the next byte belongs to an escape */
	char *begin = out;
	unsigned int n;
	uint32_t c;

	for (; at < end; at += n) {
		if (*at < 0x80) {
			backslash = *at == '\\' && !backslash;
			*out++ = (char)*at;
			n = 1;
			continue;
		}
		n = decode(at, (size_t)(end - at), &c);
		if (n == 0 || backslash)
			return -1;
		out += put_escape(out, c);
	}
	*out = '\0';
	return out - begin;
}

unsigned int utf8_length(const char *text, size_t left)
{
	const unsigned char *at = (const unsigned char *)text;
	uint32_t c;

	return *at < 0x80 ? 1 : decode(at, left, &c);
}

void utf8_mend(char *text)
{
	char *end = text + strlen(text);

	while (text < end) {
		const unsigned int n = utf8_length(text, (size_t)(end - text));

		if (n == 0)
			*text = '?';
		text += n != 0 ? n : 1;
	}
}
