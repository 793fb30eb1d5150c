/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The order of a flow: the numbers of the blocks that it asks for. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>

/* Room for the order of a flow that makes `requests` requests. */
int order_allocate(struct flow *f, uint64_t requests)
{
	if (requests < 1 || requests > MAX_BLOCKS) {
		fprintf(stderr,
			"nfsbench: --size and --request give %llu requests to a reader: "
			"must be 1 to %u\n",
			(unsigned long long)requests, MAX_BLOCKS);
		return -1;
	}
	f->blocks = (uint32_t)requests;
	f->order = malloc(requests * sizeof(*f->order));
	if (!f->order)
		fprintf(stderr, "nfsbench: no memory for the order of a reader\n");
	return f->order ? 0 : -1;
}
