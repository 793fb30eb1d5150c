/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What files, cursors and explain look like. */
#include "control/show.h"
#include "control/show_table.h"

#include <inttypes.h>
#include <stdio.h>

#define PATH_TEXT 4096

static void show_name(struct json_object *o)
{
	struct json_object *value;
	char path[PATH_TEXT];

	printf("file %s", text_of(o, "file"));
	if (json_object_object_get_ex(o, "path", &value)) {
		show_plain(path, sizeof(path), json_object_get_string(value));
		printf(", %s", path);
	}
	if (json_object_object_get_ex(o, "device", &value))
		printf(", on %s", json_object_get_string(value));
	printf("\n");
}

void show_files(struct json_object *answer)
{
	static const struct column columns[] = {
		{"FILE", "file", COUNT},
		{"IDLE s", "idle_ms", THOUSANDTHS},
		{"STREAMS", "streams", COUNT},
		{"CURSORS", "cursors", COUNT},
		{"COUNT", "count", COUNT},
		{"WINDOW KiB", "window_bytes", KIBIBYTES},
		{"UNREAD KiB", "unread_bytes", KIBIBYTES},
		{"READ OF FETCHED", "effectiveness", SHARE},
		{"EXACT", "exact", SHARE},
		{"PATH", "path", TEXT},
	};
	struct json_object *files = array_of(answer, "files");

	if (!files) {
		printf("no file was read past the page cache yet\n");
		return;
	}
	PRINT_TABLE(files, columns);
	if ((uint64_t)number_of(answer, "files_total") > json_object_array_length(files))
		printf("... of %s files\n", text_of(answer, "files_total"));
}

void show_cursors(struct json_object *answer)
{
	static const struct column columns[] = {
		{"OFFSET", "offset", COUNT},
		{"COUNT", "count", COUNT},
		{"WINDOW KiB", "window_bytes", KIBIBYTES},
		{"RUN KiB", "run_bytes", KIBIBYTES},
		{"ASKED KiB", "asked_bytes", KIBIBYTES},
		{"FETCHED KiB", "fetched_bytes", KIBIBYTES},
		{"UNREAD KiB", "unread_bytes", KIBIBYTES},
		{"USED KiB", "used_bytes", KIBIBYTES},
		{"WAY", "way", TEXT},
		{"IDLE s", "idle_ms", THOUSANDTHS},
		{"QUEUED", "queued", TEXT},
		{"WITHHELD", "withheld", TEXT},
	};
	struct json_object *listed = array_of(answer, "listed");

	show_name(answer);
	if (listed)
		PRINT_TABLE(listed, columns);
	else
		printf("no stream of it is followed\n");
	if (listed && (uint64_t)number_of(answer, "cursors") > json_object_array_length(listed))
		printf("... of %s cursors\n", text_of(answer, "cursors"));
}

void show_explain(struct json_object *answer)
{
	struct json_object *lines = array_of(answer, "lines"), *line, *value;

	if (json_object_object_get_ex(answer, "client", &value))
		printf("client %s\n", json_object_get_string(value));
	else
		show_name(answer);
	for (size_t i = 0; lines && i < json_object_array_length(lines); i++) {
		line = json_object_array_get_idx(lines, i);
		printf("- %s", text_of(line, "text"));
		if (json_object_object_get_ex(line, "parameter", &value))
			printf(" [%s]", json_object_get_string(value));
		printf("\n");
	}
}
