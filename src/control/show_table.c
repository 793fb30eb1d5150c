/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See show_table.h. */
#include "control/show_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL_MAX 256

/* Names of files are their owners', who may write anything into them. */
void show_plain(char *out, size_t size, const char *text)
{
	unsigned char before = 0;

	snprintf(out, size, "%s", text);
	for (; *out != '\0'; out++) {
		unsigned char c = (unsigned char)*out;

		if (c < ' ' || c == 0x7f || (before == 0xc2 && c < 0xa0)) /* C0, DEL, C1 */
			*out = '?';
		before = c;
	}
}

static void format_cell(char *cell, struct json_object *row, const struct column *c)
{
	struct json_object *value;
	int64_t n;

	if (!json_object_object_get_ex(row, c->member, &value)) {
		snprintf(cell, CELL_MAX, "-");
		return;
	}
	n = c->unit == SHARE ? 0 : json_object_get_int64(value);
	switch (c->unit) {
	case TEXT:
		show_plain(cell, CELL_MAX, json_object_get_string(value));
		break;
	case COUNT:
		snprintf(cell, CELL_MAX, "%" PRId64, n);
		break;
	case MILLISECONDS: /* of us */
	case THOUSANDTHS:
		snprintf(cell, CELL_MAX, "%.1f", (double)n / 1e3);
		break;
	case MEGABYTES: /* of bytes */
		snprintf(cell, CELL_MAX, "%.1f", (double)n / 1e6);
		break;
	case KIBIBYTES:
		snprintf(cell, CELL_MAX, "%.0f", (double)n / 1024);
		break;
	case SHARE: /* 0..1 */
		snprintf(cell, CELL_MAX, "%.3f", json_object_get_double(value));
		break;
	}
}

static void print_cell(const char *cell, int width, enum unit unit, bool last)
{
	if (unit == TEXT)
		width = last ? 0 : -width;
	printf("%*s%s", width, cell, last ? "\n" : "  ");
}

void print_table(struct json_object *rows, const struct column *columns, int n)
{
	int width[COLUMNS_MAX];
	char cell[CELL_MAX];
	size_t count = json_object_array_length(rows);

	for (int c = 0; c < n; c++) {
		width[c] = (int)strlen(columns[c].heading);
		for (size_t r = 0; r < count; r++) {
			format_cell(cell, json_object_array_get_idx(rows, r), &columns[c]);
			if ((int)strlen(cell) > width[c])
				width[c] = (int)strlen(cell);
		}
	}
	for (int c = 0; c < n; c++)
		print_cell(columns[c].heading, width[c], columns[c].unit, c == n - 1);
	for (size_t r = 0; r < count; r++)
		for (int c = 0; c < n; c++) {
			format_cell(cell, json_object_array_get_idx(rows, r), &columns[c]);
			print_cell(cell, width[c], columns[c].unit, c == n - 1);
		}
}

/* The member's array; NULL when it is absent or empty. */
struct json_object *array_of(struct json_object *answer, const char *member)
{
	struct json_object *array;

	if (!json_object_object_get_ex(answer, member, &array) ||
	    !json_object_is_type(array, json_type_array) || !json_object_array_length(array))
		return NULL;
	return array;
}

const char *text_of(struct json_object *object, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(object, member, &value) ? json_object_get_string(value)
								 : "-";
}

int64_t number_of(struct json_object *object, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(object, member, &value) ? json_object_get_int64(value) : 0;
}

double real_of(struct json_object *object, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(object, member, &value) ? json_object_get_double(value)
								 : 0;
}
