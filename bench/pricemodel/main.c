/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One run of a load and an auction; the result as one line of JSON.
 *
 *   pricemodel WORK [alone | off | k-cpu k-network k-disk k-memory k-client Pmin [delay]]
 *
 * alone: the foreground without writers. off: clients send at once, without an auction.
 */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static const struct workload *workload_of(const char *name)
{
	for (const struct workload *w = workloads; w->name; w++)
		if (!strcmp(w->name, name))
			return w;
	return NULL;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: pricemodel WORK alone|off|K-CPU K-NETWORK K-DISK K-MEMORY K-CLIENT PMIN "
		"[delay]\nWORK is one of:");
	for (const struct workload *w = workloads; w->name; w++)
		fprintf(stderr, "\n  %-8s %s", w->name, w->about);
	fprintf(stderr, "\n");
	return 2;
}

static void print(const struct result *r)
{
	printf("{\"foreground\": %.3f, \"written\": %.5f, \"mean\": %.6f, \"p50\": %.6f, \"p99\": "
	       "%.6f, \"write\": "
	       "%.4f",
	       r->foreground, r->written, r->mean, r->p50, r->p99, r->write);
	for (int i = 0; i < PRICE_RESOURCES; i++)
		printf(", \"%s\": %.4f", price_resource_names[i], r->price[i]);
	printf("}\n");
}

int main(int argc, char **argv)
{
	const struct workload *workload = argc > 2 ? workload_of(argv[1]) : NULL;
	struct auction a = {.k = {1, 1, 1, 1}, .k_client = 1};
	bool alone = argc == 3 && !strcmp(argv[2], "alone");
	struct result r;

	if (!workload)
		return usage();
	if (alone || (argc == 3 && !strcmp(argv[2], "off"))) {
		a.off = true;
	} else if (argc == 8 || (argc == 9 && !strcmp(argv[8], "delay"))) {
		for (int i = 0; i < PRICE_RESOURCES; i++)
			a.k[i] = atof(argv[2 + i]);
		a.k_client = atof(argv[6]);
		a.p_min = atof(argv[7]);
		a.method = argc == 9 ? DISK_DELAY : DISK_QUEUE;
	} else {
		return usage();
	}
	r = world_run(workload, &a, !alone);
	print(&r);
	return 0;
}
