/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The last decisions about writes, with the time and the reason: what --explain shows. One thread. */
#ifndef CLIENT_HISTORY_H
#define CLIENT_HISTORY_H

#include <stdio.h>

/* Decisions that are kept, and bytes of one. */
#define HISTORY_MAX  32
#define HISTORY_TEXT 256
/* What begins their lines in the record (state.h). */
#define HISTORY_LINE "decision "

/* All zero: none yet. */
struct history {
	unsigned int count; /* ever */
	char text[HISTORY_MAX][HISTORY_TEXT];
};

/* Keeps one, with the time of day. */
__attribute__((format(printf, 2, 3))) void history_add(struct history *h, const char *format, ...);
/* Lines of the record, oldest first. */
void history_print(const struct history *h, FILE *out);
/* Out of a record's TEXT: the last MOST of these lines, without their beginning; how many. */
unsigned int history_show(const char *text, unsigned int most, FILE *out);
/* And the record's TEXT without them. */
void history_leave_out(const char *text, FILE *out);

#endif
