/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How fast prices follow: above 0.9 within 2 s of saturation, below 0.05 within 3 s of its end,
 * with prices computed once a second, whenever in that second the load begins. In virtual time.
 */
#include "fake_source.h"
#include "pricing/meter_cpu.h"
#include "pricing/meter_disk.h"
#include "pricing/meter_memory.h"
#include "pricing/meter_net.h"
#include "pricing/price.h"

#define WINDOW (500 * MS)
#define STEP   (25 * MS)

/* The defaults of params.def. */
static const double k[PRICE_RESOURCES] = {1000, 1000, 100, 10};
static const struct net_limits net = {.full = 0.95, .window = WINDOW};
static const struct memory_limits memory = {.reads_min = 256, .window = WINDOW};
static const struct ghost_limits ghosts = {.entries = 16384, .ring = 4096, .nearby = 0.125};
static const struct disk_limits disk = {
	.saturation_length = 8, .saturation_delay = 0.1, .window = WINDOW};

/* What of the machine is saturated now. */
enum load { IDLE, CPU, NETWORK, DISK_OURS, DISK_OTHERS, DIRTY, REREADS };

struct machine {
	struct fake_source fake;
	struct meter_cpu cpu;
	struct meter_net net;
	struct meter_disk disk;
	struct meter_memory memory;
	struct ghost_cache *ghost;
	uint64_t now, block;
	double busy, bytes, queue_time, ended, ours;
	struct price_snapshot prices;
};

static void reread(struct machine *m, unsigned int n)
{
	for (; n; n--, m->block = (m->block + 1) % 512)
		ghost_read(m->ghost, 1, m->block * GHOST_UNIT, GHOST_UNIT);
	ghost_drain(m->ghost);
}

static void machine_start(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	fake_new(&m->fake);
	fake_set(&m->fake, "/sys/class/net/eth0/device/uevent", "x\n");
	fake_set(&m->fake, "/sys/class/net/eth0/speed", "1000\n");
	meter_cpu_init(&m->cpu, WINDOW);
	meter_net_init(&m->net, &net);
	meter_disk_init(&m->disk, 8, 0, &disk);
	meter_memory_init(&m->memory, &memory);
	m->ghost = ghost_new(&ghosts);
	ghost_resize(m->ghost, 8192);
	reread(m, 1024); /* the set is in memory already */
	m->now = SECOND;
}

/* STEP of time under LOAD. */
static void pass(struct machine *m, enum load load, struct disk_sample *ours)
{
	double s = (double)STEP / 1e9;

	m->now += STEP;
	m->busy += load == CPU ? s : s * 0.02;
	m->bytes += (load == NETWORK ? 0.96 : 0.01) * 125e6 * s;
	m->queue_time += load == DISK_OTHERS ? 20 * s : 0;
	m->ended += load == DISK_OTHERS || load == DISK_OURS ? 100 * s : 0;
	m->ours += load == DISK_OURS ? 100 * s : 0;
	*ours = (struct disk_sample){.waiting = load == DISK_OURS ? 12 : 0,
				     .running = load == DISK_OURS,
				     .ended = (uint64_t)m->ours};
	if (load == REREADS)
		reread(m, 8);
}

static void texts(struct machine *m, enum load load)
{
	fake_set(&m->fake, "/proc/stat", "cpu  %.0f 0 0 %.0f\n", m->busy * 100,
		 (double)m->now / 1e7 - m->busy * 100);
	fake_set(&m->fake, "/proc/net/dev", " eth0: 0 0 0 0 0 0 0 0 %.0f 0\n", m->bytes);
	fake_set(&m->fake, "/sys/dev/block/8:0/stat", "%.0f 0 0 0 0 0 0 0 %d 0 %.0f\n", m->ended,
		 load == DISK_OTHERS ? 20 : load == DISK_OURS, m->queue_time * 1000);
	fake_set(&m->fake, "/proc/vmstat",
		 "nr_free_pages 0\nnr_active_file 8192\nnr_inactive_file 0\nnr_dirty %d\n"
		 "nr_writeback 0\nnr_dirty_threshold 32768\nnr_dirty_background_threshold 8192\n",
		 load == DIRTY ? 21000 : 100);
}

/* As the price thread: disks every 50 ms, prices every second, the others for them and 550 ms before. */
static void measure(struct machine *m, const struct disk_sample *ours, uint64_t phase)
{
	struct price_source *s = &m->fake.source;
	struct ghost_counts c;

	if ((m->now + phase) % (50 * MS) == 0)
		meter_disk_sample(&m->disk, s, m->now, ours);
	if ((m->now + phase) % SECOND == 0 || (m->now + phase) % SECOND == 450 * MS) {
		meter_cpu_sample(&m->cpu, s, m->now);
		meter_net_sample(&m->net, s, m->now);
		ghost_counts(m->ghost, &c);
		meter_memory_sample(&m->memory, s, m->now, &c);
	}
	if ((m->now + phase) % SECOND == 0) {
		m->prices = (struct price_snapshot){
			.utilization = {m->cpu.utilization, m->net.utilization, m->disk.utilization,
					m->memory.utilization}};
		price_combine(&m->prices, k);
	}
}

static void run(struct machine *m, enum load load, uint64_t phase, double seconds, double from,
		double low, double high)
{
	for (double t = 0; t < seconds; t += (double)STEP / 1e9) {
		struct disk_sample ours;

		pass(m, load, &ours);
		texts(m, load);
		measure(m, &ours, phase);
		if (t >= from && (m->prices.write < low || m->prices.write > high))
			fail_msg("load %d, phase %d ms: price %.3f after %.3f s", load,
				 (int)(phase / MS), m->prices.write, t);
	}
}

static void follows(enum load load, enum price_resource who)
{
	for (uint64_t phase = 0; phase < SECOND; phase += 50 * MS) {
		struct machine m;

		machine_start(&m);
		run(&m, IDLE, phase, 4, 0, 0, 0.05);
		run(&m, load, phase, 5, 2, 0.9, 1);
		assert_int_equal(m.prices.write_by, who);
		if (who == PRICE_MEMORY)
			assert_true(m.prices.readahead < 0.05);
		else
			assert_true(m.prices.readahead == m.prices.write);
		run(&m, IDLE, phase, 6, 3, 0, 0.05);
		ghost_free(m.ghost);
	}
}

static void test_cpu(void **state)
{
	follows(CPU, PRICE_CPU);
}

static void test_network(void **state)
{
	follows(NETWORK, PRICE_NETWORK);
}

static void test_our_disk_queue(void **state)
{
	follows(DISK_OURS, PRICE_DISK);
}

static void test_disk_used_by_others(void **state)
{
	follows(DISK_OTHERS, PRICE_DISK);
}

static void test_dirty_memory(void **state)
{
	follows(DIRTY, PRICE_MEMORY);
}

static void test_rereads(void **state)
{
	follows(REREADS, PRICE_MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_our_disk_queue),
		cmocka_unit_test(test_disk_used_by_others),
		cmocka_unit_test(test_dirty_memory),
		cmocka_unit_test(test_rereads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
