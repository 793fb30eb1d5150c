/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What must hold of the agent's reader of mountstats whatever comes in. */
#include <stdio.h>

#include "fuzz_texts.h"
#include "mountstats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const paths[] = {"/mnt/n", "/mnt/a b"};
	struct mountstats found[2];
	FILE *in;

	if (!size)
		return 0;
	in = fmemopen((void *)data, size, "r");
	MUST(in);
	mountstats_read(in, paths, 2, found);
	fclose(in);
	for (int i = 0; i < 2; i++)
		MUST(found[i].there || (!found[i].reads && !found[i].server_read));
	return 0;
}
