/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where meters read: the texts of /proc and /sys, handed in so that tests can make them up.
 *
 * A text is parsed with the functions of common/text.h; where one makes no sense of it the meter says
 * which file it was. One source may serve many meters, one after another; one thread at a time.
 */
#ifndef PRICING_SOURCE_H
#define PRICING_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/text.h"

/* Longest text that is looked at; of a longer one the whole lines that fit. */
#define SOURCE_TEXT 65536
#define SOURCE_NAME 256

struct price_source {
	/* Fills BUF with up to SIZE bytes from the beginning of file NAME; their number, or -1. */
	ssize_t (*read)(struct price_source *s, const char *name, char *buf, size_t size);
	char name[SOURCE_NAME]; /* of the last source_read */
	char text[SOURCE_TEXT]; /* what it found; ends with NUL */
};

/* Reads the file of that name into s->text. False, and an empty text, where it cannot be read. */
__attribute__((format(printf, 2, 3))) bool source_read(struct price_source *s, const char *format,
						       ...);

#endif
