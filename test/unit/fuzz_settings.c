/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the agent's reader of settings whatever the file holds: it is refused with a
 * text, or every setting is in its range. Driven by test_agent_settings.c, and by libFuzzer.
 */
#include <stdio.h>

#include "fuzz_texts.h"
#include "settings.h"

static void must_be_in_range(const struct settings *s)
{
	MUST(s->interval >= 0.25 && s->interval <= 10 && s->answer >= 1 && s->answer <= 60);
	MUST(s->decide.defer_max >= 1 && s->decide.defer_max <= 24);
	MUST(s->flush_point >= 0 && s->flush_point <= 80);
	MUST(s->dirty_min >= 0 && s->dirty_min <= 1048576);
	MUST(s->decide.readahead_min >= 4 && s->decide.readahead_min <= 65536);
	MUST(s->decide.readahead_max >= 4 && s->decide.readahead_max <= 65536);
	MUST(s->decide.price_min >= 0.0002 && s->decide.price_min <= 1);
	MUST(s->decide.k >= 1 && s->decide.k <= 1e9);
	MUST(!s->dry_run && !s->once && !s->restore && !s->stop && !*s->root);
	MUST(s->mount_count <= MOUNTS_MAX);
	for (unsigned int i = 0; i < s->mount_count; i++)
		MUST(s->mounts[i][0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* fmemopen() takes no empty text. */
	FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	char error[SETTINGS_LINE + 512] = "";
	struct settings s;

	if (!file)
		return 0;
	settings_init(&s);
	if (!settings_read_stream(&s, file, "file", error, sizeof(error)))
		MUST(*error);
	must_be_in_range(&s);
	settings_free(&s);
	fclose(file);
	return 0;
}
