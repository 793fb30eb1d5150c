/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the reader of the agent's record whatever the file holds: root will write to
 * what it returns. Driven by test_agent_knobs.c, and by libFuzzer.
 */
#include <stdio.h>

#include "fuzz_texts.h"
#include "state.h"

static void must_be_a_knob(const struct knob *k)
{
	MUST(strlen(k->path) < sizeof(k->path) && !strstr(k->path, ".."));
	MUST(strncmp(k->path, "/sys/class/bdi/", 15) == 0 ||
	     strncmp(k->path, "/proc/sys/vm/dirty_", 19) == 0);
	MUST(k->held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *line, *rest;
	struct knob k;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (state_parse("", line, &k))
			must_be_a_knob(&k);
	free(text);
	return 0;
}
