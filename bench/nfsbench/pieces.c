/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* --pieces BYTES@BACK,… */
#include "pieces.h"
#include "number.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BACK (UINT64_C(1) << 40)

/* Whole words, which are what is compared (content.h). */
static bool words(uint64_t bytes, uint64_t most)
{
	return bytes && bytes % 8 == 0 && bytes <= most;
}

static int add_piece(struct pieces *p, char *text)
{
	char *at = strchr(text, '@');
	uint64_t bytes, back;

	if (!at || p->count == MAX_PIECES)
		return -1;
	*at = '\0';
	if (options_number(text, &bytes) || options_number(at + 1, &back))
		return -1;
	if (!words(bytes, MAX_REQUEST) || !words(back, MAX_BACK) || bytes > back)
		return -1;
	p->piece[p->count++] = (struct piece){.bytes = (uint32_t)bytes, .back = back};
	if (bytes > p->largest)
		p->largest = (uint32_t)bytes;
	if (back > p->furthest)
		p->furthest = back;
	return 0;
}

int pieces_parse(struct pieces *p, const char *text)
{
	char *copy = strdup(text), *rest = copy, *part;
	int rc = copy ? 0 : -1;

	*p = (struct pieces){0};
	/* strsep() and not strtok_r(): an empty piece is a mistake. */
	while (!rc && (part = strsep(&rest, ",")))
		rc = add_piece(p, part);
	free(copy);
	if (rc)
		fprintf(stderr,
			"nfsbench: --pieces %s: must be 1 to %d of BYTES@BACK, multiples of 8, "
			"BYTES from 8 to %u and at most BACK, which is at most 1024G\n",
			text, MAX_PIECES, MAX_REQUEST);
	return rc;
}
