/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the agent's readers of fstab and utab whatever the file holds. Driven by
 * test_agent_fstab.c, and by libFuzzer.
 */
#include <stdio.h>

#include "fstab.h"
#include "fuzz_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *rest, path[40];

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (fstab_parse(line, path, sizeof(path)))
			MUST(strlen(path) < sizeof(path) && strstr(line, FSTAB_OPTION));
		if (utab_parse(line, path, sizeof(path)))
			MUST(strlen(path) < sizeof(path) && strstr(line, FSTAB_OPTION));
	}
	free(text);
	return 0;
}
