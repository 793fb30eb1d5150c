/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tables of an answer. A column is a heading, the member it shows and its unit; widths follow from
 * the content. Members that the server does not send are shown as "-": it may be of another
 * version.
 */
#ifndef CONTROL_SHOW_TABLE_H
#define CONTROL_SHOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

enum unit { TEXT, COUNT, MILLISECONDS, MEGABYTES, KIBIBYTES, THOUSANDTHS, SHARE };

struct column {
	const char *heading, *member;
	enum unit unit;
};

#define COLUMNS_MAX 12

/* A row for each object of ROWS, N columns, on standard output. */
void print_table(struct json_object *rows, const struct column *columns, int n);

#define PRINT_TABLE(rows, columns)                                                                 \
	print_table(rows, columns, (int)(sizeof(columns) / sizeof((columns)[0])))

/* The member's array; NULL when it is absent or empty. */
struct json_object *array_of(struct json_object *answer, const char *member);
/* TEXT as it may go to a terminal: what that might take for a command, or the end of a line, is shown as "?". */
void show_plain(char *out, size_t size, const char *text);
/* "-", 0 where it is absent. */
const char *text_of(struct json_object *object, const char *member);
int64_t number_of(struct json_object *object, const char *member);
double real_of(struct json_object *object, const char *member);

#endif
