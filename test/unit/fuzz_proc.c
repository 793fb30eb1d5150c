/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the meters whatever /proc and /sys say: each file that a meter asks for has the
 * input as its text, half of it the first time, and what comes out is a utilization. Driven by
 * test_fuzz_proc.c, and by libFuzzer.
 */
#include "pricing/meter_cpu.h"
#include "pricing/meter_disk.h"
#include "pricing/meter_memory.h"
#include "pricing/meter_net.h"

#include "fuzz_texts.h"

#define LOOKS  4
#define STEP   UINT64_C(250000000) /* ns between two */
#define WINDOW (2 * STEP)

struct input {
	struct price_source source; /* first: the meters' pointer is ours */
	const uint8_t *data;
	size_t size;
};

static ssize_t give(struct price_source *s, const char *name, char *buf, size_t size)
{
	const struct input *in = (const struct input *)s;
	size_t n = in->size < size ? in->size : size;

	(void)name;
	memcpy(buf, in->data, n);
	return (ssize_t)n;
}

static void must_be_a_share(double share)
{
	MUST(share >= 0 && share <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct input in;
	const struct net_limits net_limits = {.full = 0.95, .window = WINDOW};
	const struct memory_limits memory_limits = {.reads_min = 256, .window = WINDOW};
	const struct disk_limits disk_limits = {
		.saturation_length = 8, .saturation_delay = 0.1, .window = WINDOW};
	const struct disk_sample ours = {0};
	struct meter_cpu cpu;
	struct meter_net net;
	struct meter_memory memory;
	struct meter_disk disk;

	in = (struct input){.source.read = give, .data = data};
	meter_cpu_init(&cpu, WINDOW);
	meter_net_init(&net, &net_limits);
	meter_memory_init(&memory, &memory_limits);
	meter_disk_init(&disk, 8, 16, &disk_limits);
	for (uint64_t look = 1; look <= LOOKS; look++) {
		in.size = look == 1 ? size / 2 : size;
		meter_cpu_sample(&cpu, &in.source, look * STEP);
		meter_net_sample(&net, &in.source, look * STEP);
		meter_memory_sample(&memory, &in.source, look * STEP, NULL);
		meter_disk_sample(&disk, &in.source, look * STEP, &ours);
		must_be_a_share(cpu.utilization);
		must_be_a_share(net.utilization);
		must_be_a_share(memory.utilization);
		must_be_a_share(disk.utilization);
	}
	return 0;
}
