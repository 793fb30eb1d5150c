/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prices in FSSTAT's counters: all of them, the bounds on what people are shown, real file systems,
 * what anybody may send, and how often a server without prices would be taken for one with them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pricing/fsstat_price.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Numbers that are the same in each run. */
static uint64_t seed;

static uint64_t any(void)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t below(uint64_t n)
{
	return any() % n;
}

/* ---- prices ------------------------------------------------------------------------------ */

static void test_scale(void **state)
{
	assert_true(fsstat_price_value(0) == 0);
	assert_true(fsstat_price_value(255) == 1);
	assert_true(fsstat_price_value(235) == 0.5);
	assert_int_equal(fsstat_price_code(0), 0);
	assert_int_equal(fsstat_price_code(1), 255);
	for (unsigned int c = 0; c < 256; c++) {
		assert_int_equal(fsstat_price_code(fsstat_price_value((uint8_t)c)), c);
		assert_true(c == 0 ||
			    fsstat_price_value((uint8_t)c) > fsstat_price_value((uint8_t)(c - 1)));
	}
}

static void test_scale_is_near_and_in_order(void **state)
{
	double last = 0;

	for (int i = 0; i <= 1000000; i++) {
		double p = i / 1e6, got = fsstat_price_value(fsstat_price_code(p));

		assert_true(got >= last);
		assert_true(fabs(got - p) < 0.0175 * p || fabs(got - p) < 0.00015);
		last = got;
	}
}

static void test_what_is_no_price(void **state)
{
	assert_int_equal(fsstat_price_code(NAN), 0);
	assert_int_equal(fsstat_price_code(-1), 0);
	assert_int_equal(fsstat_price_code(-INFINITY), 0);
	assert_int_equal(fsstat_price_code(1e-300), 0);
	assert_int_equal(fsstat_price_code(2), 255);
	assert_int_equal(fsstat_price_code(INFINITY), 255);
}

static void test_every_pair_of_prices(void **state)
{
	for (unsigned int w = 0; w < 256; w++)
		for (unsigned int r = 0; r < 256; r++) {
			struct fsstat_prices p = {.write = fsstat_price_value((uint8_t)w),
						  .readahead = fsstat_price_value((uint8_t)r),
						  .turn = w * 256 + r};
			struct fsstat_files f = {6553600, 6000000, 5900000 + r};
			struct fsstat_prices got;

			assert_true(fsstat_price_encode(&f, &p));
			assert_true(fsstat_price_decode(&f, &got));
			assert_true(got.write == p.write && got.readahead == p.readahead);
		}
}

/* A count of replies draws all turns alike, and a client that hears each third one all of them. */
static void test_turns(void **state)
{
	unsigned int seen[4] = {0}, third[4] = {0};

	for (uint32_t i = 0; i < 30000; i++) {
		struct fsstat_files f = {65536, 65525, 65525};
		struct fsstat_prices p = {.turn = i};

		assert_true(fsstat_price_encode(&f, &p));
		assert_true(fsstat_price_decode(&f, &p));
		seen[p.turn]++;
		third[p.turn] += i % 3 == 0;
	}
	for (int t = 1; t <= 3; t++) {
		assert_in_range(seen[t], 9500, 10500);
		assert_in_range(third[t], 3100, 3600);
	}
}

/* ---- counters ---------------------------------------------------------------------------- */

static const struct fsstat_prices some = {.write = 0.3, .readahead = 0.7, .turn = 5};

static void assert_exact(uint64_t total, uint64_t unused, uint64_t avail)
{
	struct fsstat_files f = {total, unused, avail};

	assert_false(fsstat_price_encode(&f, &some));
	assert_true(f.total == total && f.free == unused && f.avail == avail);
}

static void assert_priced(uint64_t total, uint64_t unused, uint64_t avail)
{
	struct fsstat_files f = {total, unused, avail};
	struct fsstat_prices got;

	assert_true(fsstat_price_encode(&f, &some));
	assert_true(f.avail <= f.free && f.free <= f.total);
	assert_true(f.avail < avail && avail - f.avail < 8192);
	assert_true(f.total > total && f.total - total < 8192);
	assert_true(unused - f.free == avail - f.avail);
	assert_true(fsstat_price_decode(&f, &got));
}

static void test_few_inodes_stay_exact(void **state)
{
	assert_exact(0, 0, 0);
	assert_exact(40168, 163, 163); /* a full XFS */
	assert_exact(65535, 60000, 60000);
	assert_exact(6553600, 8191, 8191);
	assert_exact(6553600, 0, 0);
	assert_exact(1, 1, 1);
}

static void test_limits(void **state)
{
	assert_priced(65536, 65536, 65536);
	assert_priced(65536, 8192, 8192);
	assert_priced(6553600, 8192, 8192);
	assert_priced(UINT64_MAX - 8190, UINT64_MAX - 8190, UINT64_MAX - 8190);
	assert_priced(UINT64_MAX - 8190, 100000, 8192);
	assert_exact(UINT64_MAX - 8189, 100000, 100000);
	assert_exact(UINT64_MAX, UINT64_MAX, UINT64_MAX);
}

static void test_disorder_stays_as_it_is(void **state)
{
	assert_exact(100000, 50000, 50001);
	assert_exact(100000, 100001, 50000);
	assert_exact(100000, UINT64_MAX, UINT64_MAX);
}

/* What CephFS says: so many are in use, and no limit. */
static void assert_bound(uint64_t used, uint64_t unused)
{
	struct fsstat_files f = {used, UINT64_MAX, UINT64_MAX};

	assert_true(fsstat_price_bound(&f));
	assert_int_equal(f.total - f.free, used);
	assert_int_equal(f.free, unused);
	assert_int_equal(f.avail, unused);
	assert_priced(f.total, f.free, f.avail);
}

static void test_no_limit(void **state)
{
	struct fsstat_files odd[] = {{0, 0, 0},
				     {100, 90, 80},
				     {100, UINT64_MAX, 50},
				     {100, UINT64_MAX - 1, UINT64_MAX - 1},
				     {UINT64_MAX, UINT64_MAX, UINT64_MAX}};

	assert_bound(0, UINT64_C(1) << 31);
	assert_bound(3, UINT64_C(1) << 31);
	assert_bound(UINT64_C(5) << 30, UINT64_C(5) << 30); /* never shown more than half full */
	assert_bound(UINT64_C(1) << 61, UINT64_C(1) << 61);
	for (size_t i = 0; i < LEN(odd); i++) {
		struct fsstat_files f = odd[i];

		assert_false(fsstat_price_bound(&f));
		assert_memory_equal(&f, &odd[i], sizeof(f));
	}
}

static void test_real_file_systems(void **state)
{
	assert_priced(6553600, 6553589, 6553589);	      /* a new ext4 of 100 GB */
	assert_priced(65536, 65525, 65525);		      /* of 1 GB */
	assert_priced(976896, 411203, 411203);		      /* a used one */
	assert_priced(524288, 524285, 524285);		      /* XFS of 1 GB */
	assert_priced(1953513408, 1949112233, 1949112233);    /* of 4 TB */
	assert_priced(4087561, 4087560, 4087560);	      /* tmpfs: half the pages of 32 GB */
	assert_priced(48826173119, 48825983446, 48825983446); /* ZFS */
	assert_priced(2000000, 1500000, 1400000);	      /* some kept for root */
}

static void test_decode_wants_room(void **state)
{
	struct fsstat_prices p;
	unsigned int passed = 0;

	for (uint64_t total = 0; total < 65536; total++)
		passed += fsstat_price_decode_statvfs(total, total / 2, &p);
	for (uint64_t avail = 0; avail < 4096; avail++)
		passed += fsstat_price_decode_statvfs(6553601, avail, &p);
	for (uint64_t i = 0; i < 65536; i++) /* more available than there are */
		passed += fsstat_price_decode_statvfs(100000 + i, 200000, &p);
	assert_int_equal(passed, 0);
}

/* Each bit that is turned over on the way is found out with 63 of 64. */
static void test_check_sees_every_bit(void **state)
{
	for (int bit = 0; bit < 128; bit++) {
		unsigned int passed = 0;

		for (unsigned int i = 0; i < 4096; i++) {
			struct fsstat_files f = {UINT64_C(1) << 62 | any() >> 3, 1u << 20,
						 1u << 20};
			struct fsstat_prices p = {.write = i / 4096.0, .turn = i};

			assert_true(fsstat_price_encode(&f, &p));
			if (bit < 64)
				f.total ^= UINT64_C(1) << bit;
			else
				f.avail ^= UINT64_C(1) << (bit - 64);
			passed += fsstat_price_decode_statvfs(f.total, f.avail, &p);
		}
		assert_true(passed < 4096 / 64 * 2);
	}
}

/* ---- anything ---------------------------------------------------------------------------- */

/* Small, large, near a power of two, near a quantum: where things go wrong. */
static uint64_t odd_number(void)
{
	uint64_t x = any() >> below(64);

	switch (below(4)) {
	case 0:
		return (UINT64_C(1) << below(64)) + below(9) - 4;
	case 1:
		return (x & ~UINT64_C(4095)) + below(9) - 4;
	case 2:
		return below(100000);
	default:
		return x;
	}
}

static double odd_price(void)
{
	uint64_t bits = any();
	double d;

	if (below(2))
		return (double)below(1001) / 1000;
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static void test_fuzz(void **state)
{
	seed = 4;
	for (int i = 0; i < 400000; i++) {
		struct {
			uint64_t files[3];
			double prices[2];
			uint64_t turn;
		} in = {{odd_number(), odd_number(), odd_number()},
			{odd_price(), odd_price()},
			any()};

		if (below(4)) { /* in order, as a server's are */
			if (in.files[0])
				in.files[1] %= in.files[0];
			if (in.files[1])
				in.files[2] = below(2) ? in.files[1] : in.files[2] % in.files[1];
		}
		LLVMFuzzerTestOneInput((const uint8_t *)&in, sizeof(in));
	}
}

/*
 * doc/fsstat-prices.vectors, which others test their implementation with: HOLDS checks a line of one kind, and says of
 * others that they are not. How many there are.
 */
static unsigned int check_vectors(bool (*holds)(const char *line))
{
	char line[512];
	unsigned int vectors = 0;
	FILE *file = fopen(VECTORS, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		vectors += holds(line);
	fclose(file);
	return vectors;
}

static bool encode_holds(const char *line)
{
	struct fsstat_files in, out;
	struct fsstat_prices p, got;
	uint32_t turn;

	if (sscanf(line,
		   "encode %" SCNu64 " %" SCNu64 " %" SCNu64 " %lf %lf %" SCNu32 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &in.total, &in.free, &in.avail, &p.write, &p.readahead, &turn, &out.total,
		   &out.free, &out.avail) != 9)
		return false;
	for (p.turn = 0; turn; p.turn++) { /* the number that draws this turn */
		struct fsstat_files f = in;

		assert_true(fsstat_price_encode(&f, &p));
		assert_true(fsstat_price_decode(&f, &got));
		if (got.turn == turn)
			break;
	}
	assert_int_equal(fsstat_price_encode(&in, &p), turn != 0);
	assert_memory_equal(&in, &out, sizeof(in));
	return true;
}

static void test_vectors(void **state)
{
	assert_true(check_vectors(encode_holds) >= 8);
}

static bool bound_holds(const char *line)
{
	struct fsstat_files in, out;

	if (sscanf(line,
		   "bound %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &in.total, &in.free, &in.avail, &out.total, &out.free, &out.avail) != 6)
		return false;
	fsstat_price_bound(&in);
	assert_memory_equal(&in, &out, sizeof(in));
	return true;
}

static void test_bounds(void **state)
{
	assert_true(check_vectors(bound_holds) >= 6);
}

static bool refusal_holds(const char *line)
{
	struct fsstat_prices p;
	uint64_t total, avail;

	if (sscanf(line, "refuse %" SCNu64 " %" SCNu64, &total, &avail) != 2)
		return false;
	assert_false(fsstat_price_decode_statvfs(total, avail, &p));
	return true;
}

static void test_refusals(void **state)
{
	assert_true(check_vectors(refusal_holds) >= 8);
}

/* ---- belief ------------------------------------------------------------------------------ */

/* A server with prices, seen COUNT times; how many replies until it is believed. */
static unsigned int replies_until_belief(struct fsstat_detector *b, struct fsstat_prices p)
{
	for (unsigned int n = 1; n < 1000; n++) {
		struct fsstat_files f = {6553600, 6000000, 6000000};

		p.turn = (uint32_t)any();
		assert_true(fsstat_price_encode(&f, &p));
		if (fsstat_detector_feed(b, f.total, f.avail))
			return n;
	}
	return 1000;
}

/* A reply of this turn; 0: without prices. */
static struct fsstat_files reply_of_turn(uint32_t turn)
{
	struct fsstat_prices p = {.write = 0.5, .readahead = 0.25}, got = {0};
	struct fsstat_files f = {6553600, 6000000, 6000000};

	for (; turn && got.turn != turn; p.turn++) {
		f = (struct fsstat_files){6553600, 6000000, 6000000};
		assert_true(fsstat_price_encode(&f, &p) && fsstat_price_decode(&f, &got));
	}
	return f;
}

static bool belief_holds(const char *line)
{
	char replies[64], believed[64];
	struct fsstat_detector d = {0};

	if (sscanf(line, "belief %63[0-3] %63[yn]", replies, believed) != 2)
		return false;
	for (unsigned int i = 0; replies[i]; i++) {
		struct fsstat_files f = reply_of_turn((uint32_t)(replies[i] - '0'));

		assert_int_equal(fsstat_detector_feed(&d, f.total, f.avail), believed[i] == 'y');
	}
	return true;
}

static void test_belief(void **state)
{
	assert_true(check_vectors(belief_holds) >= 6);
}

static void test_a_quiet_server_is_believed(void **state)
{
	double sum = 0;
	unsigned int most = 0, least = 1000;

	seed = 1;
	for (int i = 0; i < 10000; i++) {
		struct fsstat_detector b = {0};
		unsigned int n = replies_until_belief(&b, (struct fsstat_prices){0});

		sum += n;
		most = n > most ? n : most;
		least = n < least ? n : least;
	}
	assert_int_equal(least, 3);
	assert_true(sum / 10000 > 5.3 && sum / 10000 < 5.7);
	assert_true(most < 50);
}

static void test_one_reply_without_ends_belief(void **state)
{
	struct fsstat_detector b = {0};

	seed = 2;
	replies_until_belief(&b, some);
	assert_true(b.believed && fabs(b.prices.write - 0.3) < 0.006);
	assert_false(fsstat_detector_feed(&b, 6553600, 6000000));
	assert_int_equal(b.disproofs, 1);
	assert_true(replies_until_belief(&b, some) >= 6); /* two rounds now */
	assert_false(fsstat_detector_feed(&b, 0, 0));
	assert_true(replies_until_belief(&b, some) >= 9);
	assert_false(fsstat_detector_feed(&b, 6553600, 6000000));
	assert_int_equal(b.disproofs, 2);
	assert_true(replies_until_belief(&b, some) >= 9); /* and no more */
}

/* The counters of a server without prices may pass; but then they pass for ever. */
static void test_what_never_changes_is_not_believed(void **state)
{
	struct fsstat_detector b = {0};
	struct fsstat_files f = {6553600, 6000000, 6000000};

	assert_true(fsstat_price_encode(&f, &some));
	for (int i = 0; i < 1000; i++)
		assert_false(fsstat_detector_feed(&b, f.total, f.avail));
}

/* The same after it was a server with prices, and they were switched off. */
static void test_what_stops_changing_is_not_believed(void **state)
{
	struct fsstat_detector b = {0};
	struct fsstat_files f = {6553600, 6000000, 6000000};
	unsigned int n = 0;

	seed = 3;
	replies_until_belief(&b, some);
	assert_true(fsstat_price_encode(&f, &some));
	while (fsstat_detector_feed(&b, f.total, f.avail))
		n++;
	assert_in_range(n, FSSTAT_SAME_TURN - 3, FSSTAT_SAME_TURN - 1);
}

static void test_belief_lasts(void **state)
{
	struct fsstat_detector b = {0};

	seed = 5;
	replies_until_belief(&b, some);
	for (int i = 0; i < 200000; i++)
		assert_int_equal(replies_until_belief(&b, some), 1);
}

/*
 * Servers without prices. A shape makes the counters of the next reply out of the last ones.
 */
struct plain {
	uint64_t total, avail;
};

static void ext4(struct plain *s)
{
	if (s->total == 0) /* groups of inodes that fill whole blocks of their table */
		s->total = (1 + below(5000)) * (2048 + 16 * below(400)), s->avail = below(s->total);
	s->avail = (s->avail + s->total + below(33) - 16) % s->total;
}

/* All that exist and all that fit into free blocks: changes as data comes and goes. */
static void xfs(struct plain *s)
{
	static uint64_t blocks, inodes, used;

	if (s->total == 0)
		blocks = 20000 + below(1u << 28), inodes = 64 * (1 + below(100000)),
		used = below(inodes);
	blocks += below(2001) - 1000;
	used = below(8) ? used : below(inodes);
	s->total = inodes + 8 * blocks;
	s->avail = s->total - used;
}

/* All that fit into free space and those that exist, any number. */
static void zfs(struct plain *s)
{
	static uint64_t fit, used;

	if (s->total == 0)
		fit = (1u << 20) + below(UINT64_C(1) << 36), used = below(1u << 24);
	fit += below(4097) - 2048;
	used += below(3) - (used > 0);
	s->total = fit + used;
	s->avail = fit;
}

/* Files are made, one after the other. */
static void growing(struct plain *s)
{
	if (s->total == 0)
		s->total = (1u << 20) + below(UINT64_C(1) << 40), s->avail = s->total / 2;
	s->total++;
	s->avail -= below(2);
}

static void random_bits(struct plain *s)
{
	s->total = UINT64_C(1) << 40 | any() >> 24;
	s->avail = (1u << 20) | any() >> 26;
}

/* N servers of this shape for REPLIES replies each: how many are believed once. */
static unsigned int believed(void (*shape)(struct plain *), unsigned int n, unsigned int replies)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct fsstat_detector b = {0};
		struct plain s = {0};
		bool was = false;

		for (unsigned int r = 0; r < replies && !was; r++) {
			shape(&s);
			was = fsstat_detector_feed(&b, s.total, s.avail);
		}
		found += was;
	}
	return found;
}

static void test_plain_servers_are_not_believed(void **state)
{
	seed = 6;
	assert_int_equal(believed(ext4, 500, 1000), 0);
	assert_int_equal(believed(xfs, 500, 1000), 0);
	assert_int_equal(believed(zfs, 500, 1000), 0);
	assert_int_equal(believed(growing, 500, 1000), 0);
	assert_int_equal(believed(random_bits, 500, 1000), 0);
}

static double passing(void (*shape)(struct plain *), unsigned int n)
{
	struct plain s = {0};
	struct fsstat_prices p;
	unsigned int passed = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (i % 64 == 0)
			s.total = 0; /* another server */
		shape(&s);
		passed += fsstat_price_decode_statvfs(s.total, s.avail, &p);
	}
	return (double)passed / n;
}

/* The check is as good as 6 random bits, also over counters that change a little. */
static void test_how_often_one_reply_passes(void **state)
{
	const double arbitrary = 3.0 / 4 / 64;

	seed = 7;
	assert_true(passing(ext4, 100000) == 0); /* the total is a multiple of 16: turn 0 */
	assert_true(passing(xfs, 100000) == 0);	 /* of 8 */
	assert_true(fabs(passing(zfs, 400000) - arbitrary) < 0.1 * arbitrary);
	assert_true(fabs(passing(growing, 400000) - arbitrary) < 0.1 * arbitrary);
	assert_true(fabs(passing(random_bits, 400000) - arbitrary) < 0.1 * arbitrary);
}

/*
 * The first round by chance: with q = 1/256 for a valid reply of one given turn it is
 * 3q * 2q/(1 - q) * q/(1 - 2q) = 3.6e-7. Too rare to be seen here: so the mark of each reply is
 * made easier to hit, by correct checks for one reply in LUCK, and the same formula must hold.
 */
static void test_chance_of_a_round(void **state)
{
	enum { LUCK = 8, SERVERS = 400000 };
	const double q = 1.0 / 3 / LUCK;
	double meant = 3 * q * (2 * q / (1 - q)) * (q / (1 - 2 * q)) * SERVERS;
	unsigned int found = 0;

	seed = 8;
	for (int i = 0; i < SERVERS; i++) {
		struct fsstat_detector b = {0};

		do {
			struct fsstat_files f = {1u << 24, 1u << 23, 1u << 23};
			struct fsstat_prices p = {.turn = (uint32_t)any()};

			if (below(LUCK) == 0)
				fsstat_price_encode(&f, &p);
			found += fsstat_detector_feed(&b, f.total, f.avail);
		} while (b.disproofs == 0 && !b.believed);
	}
	assert_true(fabs(found - meant) < 4 * sqrt(meant));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_scale_is_near_and_in_order),
		cmocka_unit_test(test_what_is_no_price),
		cmocka_unit_test(test_every_pair_of_prices),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_few_inodes_stay_exact),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_disorder_stays_as_it_is),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_real_file_systems),
		cmocka_unit_test(test_decode_wants_room),
		cmocka_unit_test(test_check_sees_every_bit),
		cmocka_unit_test(test_fuzz),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_belief),
		cmocka_unit_test(test_a_quiet_server_is_believed),
		cmocka_unit_test(test_one_reply_without_ends_belief),
		cmocka_unit_test(test_what_never_changes_is_not_believed),
		cmocka_unit_test(test_what_stops_changing_is_not_believed),
		cmocka_unit_test(test_belief_lasts),
		cmocka_unit_test(test_plain_servers_are_not_believed),
		cmocka_unit_test(test_how_often_one_reply_passes),
		cmocka_unit_test(test_chance_of_a_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
