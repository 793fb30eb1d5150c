/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What get, diff and set look like. */
#include "control/show.h"
#include "control/show_table.h"

#include <stdio.h>
#include <string.h>

static void show_more(struct json_object *answer, struct json_object *rows)
{
	size_t listed = rows ? json_object_array_length(rows) : 0;

	if ((uint64_t)number_of(answer, "parameters_total") > listed)
		printf("... of %s: name one\n", text_of(answer, "parameters_total"));
}

/* One parameter, with what one may set it to. */
static void show_range(struct json_object *row)
{
	struct json_object *value;

	printf("%s: ", text_of(row, "parameter"));
	if (json_object_object_get_ex(row, "minimum", &value))
		printf("%s to %s %s, ", text_of(row, "minimum"), text_of(row, "maximum"),
		       text_of(row, "unit"));
	printf("default %s; %s\n", text_of(row, "default"),
	       json_object_get_boolean(json_object_object_get(row, "live"))
		       ? "changes on the running server"
		       : "changes at the server's next start");
	if (json_object_object_get_ex(row, "at_start_because", &value))
		printf("    for %s\n", json_object_get_string(value));
}

void show_get(struct json_object *answer)
{
	static const struct column columns[] = {
		{"PARAMETER", "parameter", TEXT}, {"WHERE", "where", TEXT},
		{"VALUE", "value", TEXT},	  {"FILE", "file", TEXT},
		{"DEFAULT", "default", TEXT},	  {"LIVE", "live", TEXT},
		{"CLASS", "class", TEXT},	  {"UNIT", "unit", TEXT},
	};
	struct json_object *rows = array_of(answer, "parameters");
	struct json_object *first = rows ? json_object_array_get_idx(rows, 0) : NULL;
	bool one = true;

	if (!rows) {
		printf("it has no value here: no export, or no device, has one\n");
		return;
	}
	for (size_t i = 1; i < json_object_array_length(rows); i++)
		if (strcmp(text_of(json_object_array_get_idx(rows, i), "parameter"),
			   text_of(first, "parameter")) != 0)
			one = false;
	if (one)
		show_range(first);
	PRINT_TABLE(rows, columns);
	show_more(answer, rows);
}

void show_diff(struct json_object *answer)
{
	static const struct column columns[] = {
		{"PARAMETER", "parameter", TEXT}, {"WHERE", "where", TEXT},
		{"VALUE", "value", TEXT},	  {"FILE", "file", TEXT},
		{"DEFAULT", "default", TEXT},	  {"BECAUSE", "because", TEXT},
	};
	struct json_object *rows = array_of(answer, "parameters");

	if (!rows) {
		printf("all is as in the file, and by default\n");
		return;
	}
	PRINT_TABLE(rows, columns);
	show_more(answer, rows);
}

void show_set(struct json_object *answer)
{
	static const struct column columns[] = {
		{"PARAMETER", "parameter", TEXT}, {"WHERE", "where", TEXT},
		{"BEFORE", "before", TEXT},	  {"VALUE", "value", TEXT},
		{"UNIT", "unit", TEXT},
	};
	struct json_object *changed = array_of(answer, "changed");

	if (changed)
		PRINT_TABLE(changed, columns);
	printf("until the server reads its configuration again (SIGHUP); to keep it, put it "
	       "there\n");
}
