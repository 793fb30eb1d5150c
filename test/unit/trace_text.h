/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A trace out of a text in memory, for the tests of nfsreplay. */
#ifndef TEST_TRACE_TEXT_H
#define TEST_TRACE_TEXT_H

#include "nfsreplay/trace.h"

/* As trace_read(). LENGTH is not 0. */
static inline int read_bytes(struct trace *t, const void *text, size_t length)
{
	FILE *file = fmemopen((void *)text, length, "r");
	int rc;

	if (!file)
		abort();
	rc = trace_read(t, file);
	fclose(file);
	return rc;
}

static inline int read_text(struct trace *t, const char *text)
{
	return read_bytes(t, text, strlen(text));
}

#endif
