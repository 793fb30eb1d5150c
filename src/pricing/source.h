/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Where meters read: the texts of /proc and /sys, handed in so that tests can make them up.
 *
 * A text is parsed with the few functions below. They take any bytes: what is missing or malformed
 * makes them return false, and the meter says which file it was. One source may serve many meters,
 * one after another; one thread at a time.
 */
#ifndef PRICING_SOURCE_H
#define PRICING_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* The line that begins with KEY, behind the key; NULL: there is none. */
const char *text_line(const char *text, const char *key);
/* The beginning of the next line, NULL behind the last one. */
const char *text_next_line(const char *text);
/* A decimal number behind blanks; *AT moves behind it. Beyond 64 bits is no number. */
bool text_number(const char **at, uint64_t *number);
/* N numbers. */
bool text_numbers(const char *at, uint64_t *numbers, unsigned int n);

#endif
