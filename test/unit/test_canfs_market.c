/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two of the paper's experiments in virtual time, against a server that is a delay: READ and WRITE take
 * 0.3 ms, COMMIT what a disk of 60 MB/s takes, and the price is 1 while one is under way.
 * Accelerating keeps the read cache (figure 3), deferring keeps the data (figure 10).
 */
#include "support.h"

#include "client.h"
#include "internal.h"

#define DELAY	  (MSEC * 3 / 10)
#define DISK_RATE 60e6
#define CALLS	  256

struct due {
	struct rpc *rpc;
	uint64_t at;
};

static struct {
	uint64_t now, disk_free, priced_at;
	double price;
	struct due calls[CALLS];
	unsigned int n, turn;
	struct client client;
	struct file *read_from, *write_to;
	struct op reader, writer;
	struct reader place;
	uint64_t reader_wakes, writer_wakes, seed, written, reads, set, io;
	uint64_t read_pause, write_pause;
	bool reader_idle, writer_idle;
} sim;

static void sim_send(void *io, struct rpc *rpc)
{
	uint64_t at = sim.now + DELAY;

	assert_true(sim.n < CALLS);
	if (rpc->kind == CALL_COMMIT) {
		uint32_t pages = 0;
		struct page *p;

		TAILQ_FOREACH(p, &rpc->pages, work)
			pages++;
		sim.disk_free = (sim.disk_free > sim.now ? sim.disk_free : sim.now) +
				(uint64_t)(pages * PAGE_BYTES / DISK_RATE * 1e9);
		at = sim.disk_free;
	}
	sim.calls[sim.n++] = (struct due){rpc, at};
}

static const struct io_ops sim_ops = {.send = sim_send};

static void sim_answer(unsigned int i)
{
	static char data[1 << 20];
	struct rpc *rpc = sim.calls[i].rpc;
	struct answer a = {.status = ANSWER_OK, .data = data, .length = rpc->length, .verifier = 1};

	sim.calls[i] = sim.calls[--sim.n];
	if (rpc->kind == CALL_FSSTAT) {
		struct fsstat_files f = {.total = 1u << 20, .free = 1u << 19, .avail = 1u << 19};
		const struct fsstat_prices p = {.write = sim.price, .turn = sim.turn++};

		fsstat_price_encode(&f, &p);
		a.total = f.total;
		a.avail = f.avail;
	}
	client_answer(&sim.client, rpc, &a, sim.now);
}

static void read_done(struct op *op, uint64_t now)
{
	sim.reader_idle = true;
	sim.reader_wakes = now + sim.read_pause;
	sim.reads++;
}

static void write_done(struct op *op, uint64_t now)
{
	sim.writer_idle = true;
	sim.writer_wakes = now + sim.write_pause;
	sim.written += op->length;
}

static void programs(void)
{
	if (sim.set && sim.reader_idle && sim.now >= sim.reader_wakes) {
		sim.reader_idle = false;
		sim.reader =
			(struct op){.kind = OP_READ,
				    .file = sim.read_from,
				    .reader = &sim.place,
				    .length = sim.io,
				    .done = read_done,
				    .offset = random_below(&sim.seed, sim.set / sim.io) * sim.io};
		client_submit(&sim.client, &sim.reader, sim.now);
	}
	if (sim.writer_idle && sim.now >= sim.writer_wakes) {
		sim.writer_idle = false;
		sim.writer = (struct op){.kind = OP_WRITE,
					 .file = sim.write_to,
					 .length = 65536,
					 .offset = sim.written,
					 .done = write_done};
		client_submit(&sim.client, &sim.writer, sim.now);
	}
}

/* The server computes prices once a second. */
static void set_price(void)
{
	if (sim.now - sim.priced_at < SEC)
		return;
	sim.priced_at = sim.now;
	sim.price = sim.disk_free > sim.now ? 1 : 0;
}

static void sim_begin(bool ca, uint64_t memory)
{
	static const struct nfs_handle root = {.len = 1};
	struct client_settings s = client_defaults;

	memset(&sim, 0, sizeof(sim));
	sim.now = SEC;
	sim.reader_idle = sim.writer_idle = true;
	sim.io = 65536;
	s.ca = ca;
	s.memory = memory;
	assert_int_equal(client_init(&sim.client, &s, &sim_ops, NULL, sim.now), 0);
	sim.read_from = file_new(&sim.client, &root, "r");
	sim.write_to = file_new(&sim.client, &root, "w");
	sim.read_from->known = sim.write_to->known = true;
}

static void sim_run(double seconds)
{
	uint64_t end = sim.now + (uint64_t)(seconds * 1e9), tick = sim.now;

	for (; sim.now < end; sim.now += MSEC / 10) {
		for (unsigned int i = 0; i < sim.n;) {
			if (sim.calls[i].at <= sim.now)
				sim_answer(i);
			else
				i++;
		}
		if (sim.now >= tick) {
			client_tick(&sim.client, sim.now);
			tick = sim.now + CLIENT_TICK;
		}
		set_price();
		programs();
	}
}

static void sim_end(void)
{
	for (unsigned int i = 0; i < sim.n; i++) {
		struct page *p;

		while ((p = TAILQ_FIRST(&sim.calls[i].rpc->pages)))
			cache_move(&sim.client.cache, p, PAGE_CLEAN, NULL);
		TAILQ_INIT(&sim.calls[i].rpc->waiters);
		rpc_free(sim.calls[i].rpc);
	}
	file_free(sim.read_from);
	file_free(sim.write_to);
	client_free(&sim.client);
}

/* Hit rate of re-reads beside a writer; *WRITTEN: MB. */
static double re_reads(bool ca, double *written)
{
	struct client_counts before;
	double hits, all;

	sim_begin(ca, 16 * MIB);
	sim.set = sim.read_from->size = 13 * MIB;
	sim.read_pause = MSEC / 2;
	sim.writer_wakes = 4 * SEC;
	sim_run(8);
	before = sim.client.n;
	sim_run(12);
	hits = (double)(sim.client.n.pages_hit - before.pages_hit);
	all = hits + (double)(sim.client.n.pages_missed - before.pages_missed);
	*written = (double)(sim.client.n.saved - before.saved) / 1e6;
	sim_end();
	return hits / all;
}

static void test_accelerating_keeps_the_read_cache(void **state)
{
	double plain_mb, ca_mb, plain = re_reads(false, &plain_mb), ca = re_reads(true, &ca_mb);

	print_message("hit rate %.3f and %.3f, %.0f and %.0f MB saved\n", plain, ca, plain_mb,
		      ca_mb);
	assert_true(ca > plain + 0.05);
	assert_true(ca_mb > 0.9 * plain_mb);
}

/* MB written in a burst of 3 s at 200 MB/s. */
static double burst(bool ca)
{
	double mb;

	sim_begin(ca, 256 * MIB);
	sim.write_pause = 327 * MSEC / 1000;
	sim.writer_wakes = 3 * SEC;
	sim_run(6);
	mb = (double)sim.written / 1e6;
	sim_end();
	return mb;
}

static void test_deferring_takes_a_burst(void **state)
{
	double plain = burst(false), ca = burst(true);

	print_message("%.0f and %.0f MB\n", plain, ca);
	assert_true(ca > 1.1 * plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accelerating_keeps_the_read_cache),
		cmocka_unit_test(test_deferring_takes_a_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
