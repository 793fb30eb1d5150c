/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A price_source whose files are made up by the test, and one that mutilates them. */
#ifndef TEST_FAKE_SOURCE_H
#define TEST_FAKE_SOURCE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <stdio.h>
#include <string.h>

#include "pricing/source.h"

#define FAKE_FILES 24
#define MS	   1000000ull
#define SECOND	   (1000 * MS)

struct fake_source {
	struct price_source source; /* first: the meters' pointer is ours */
	unsigned int n, reads;
	struct {
		char name[SOURCE_NAME];
		char text[4096];
		unsigned int reads;
	} files[FAKE_FILES];
	uint64_t noise; /* not 0: each text is damaged differently */
};

static ssize_t fake_read(struct price_source *s, const char *name, char *buf, size_t size)
{
	struct fake_source *f = (struct fake_source *)s;

	f->reads++;
	for (unsigned int i = 0; i < f->n; i++) {
		size_t len = strlen(f->files[i].text);

		if (strcmp(f->files[i].name, name))
			continue;
		f->files[i].reads++;
		if (len > size)
			len = size;
		memcpy(buf, f->files[i].text, len);
		for (unsigned int hits = f->noise ? 4 : 0; hits && len; hits--) {
			f->noise = f->noise * 6364136223846793005u + 1442695040888963407u;
			buf[(f->noise >> 40) % len] = (char)(f->noise >> 32);
		}
		if (f->noise && !(f->noise >> 60))
			return -1;
		return (ssize_t)(f->noise && !(f->noise >> 40 & 7) ? (f->noise >> 44) % (len + 1)
								   : len);
	}
	return -1;
}

__attribute__((unused)) static struct fake_source *fake_new(struct fake_source *f)
{
	memset(f, 0, sizeof(*f));
	f->source.read = fake_read;
	return f;
}

/* The file of that name says so from now on. */
__attribute__((format(printf, 3, 4), unused)) static void
fake_set(struct fake_source *f, const char *name, const char *format, ...)
{
	unsigned int i = 0;
	va_list args;

	while (i < f->n && strcmp(f->files[i].name, name))
		i++;
	assert_true(i < FAKE_FILES);
	if (i == f->n)
		f->n++;
	snprintf(f->files[i].name, sizeof(f->files[i].name), "%s", name);
	va_start(args, format);
	vsnprintf(f->files[i].text, sizeof(f->files[i].text), format, args);
	va_end(args);
}

__attribute__((unused)) static void fake_remove(struct fake_source *f, const char *name)
{
	for (unsigned int i = 0; i < f->n; i++)
		if (!strcmp(f->files[i].name, name))
			f->files[i--] = f->files[--f->n];
}

__attribute__((unused)) static void assert_near(double value, double expected, double tolerance)
{
	if (!(value >= expected - tolerance && value <= expected + tolerance))
		fail_msg("%g is not %g +- %g", value, expected, tolerance);
}

#endif
