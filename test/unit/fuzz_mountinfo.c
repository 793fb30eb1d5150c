/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the agent's reader of mountinfo whatever comes in: a first line with the path
 * that is looked for, then lines of mountinfo. Driven by test_agent_mounts.c, and by libFuzzer.
 */
#include <stdio.h>

#include "fuzz_texts.h"
#include "mounts.h"

static void must_be_sound(const struct mount *m)
{
	char text[64];

	MUST(m->kind <= MOUNT_NFS3);
	MUST(strlen(m->device) < sizeof(m->device) && strlen(m->type) < sizeof(m->type));
	/* It becomes a part of a path. */
	MUST(strspn(m->device, "0123456789:") == strlen(m->device));
	MUST((*mount_obstacle(m, text, sizeof(text)) == '\0') == (m->kind == MOUNT_NFS3));
	MUST(mount_same(m, m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *rest, *path;
	struct mount m = {0}, was;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	path = strsep(&rest, "\n");
	while (rest && (line = strsep(&rest, "\n"))) {
		was = m;
		if (!mount_parse(line, path, &m))
			MUST(memcmp(&was, &m, sizeof(m)) == 0);
		must_be_sound(&m);
	}
	free(text);
	return 0;
}
