/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the agent's readers of fstab and utab whatever the file holds. Driven by
 * test_agent_fstab.c, and by libFuzzer.
 */
#include <stdio.h>

#include "fstab.h"
#include "fuzz_texts.h"

static void check(const char *line, const struct fstab_mount *m)
{
	MUST(strlen(m->path) < m->size && strstr(line, FSTAB_OPTION));
	MUST(!m->weight ||
	     (m->weight > line && m->weight + m->weight_length <= line + strlen(line)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *rest, path[40];
	struct fstab_mount m = {.path = path, .size = sizeof(path)};

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (fstab_parse(line, &m))
			check(line, &m);
		if (utab_parse(line, &m))
			check(line, &m);
	}
	free(text);
	return 0;
}
