/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The price loop with made-up devices and time: who is looked at when, what is posted, what is
 * said.
 */
#include "fake_source.h"
#include "support_price.h"

static void test_everything_known_at_the_first_turn(void **state)
{
	struct fixture *f = make(2);
	struct price_snapshot s;

	assert_int_equal(price_loop_turn(&f->loop, SECOND), SECOND + 450 * MS);
	for (unsigned int n = 0; n < 2; n++) {
		board_read(&f->hosts.boards[n], &s);
		assert_int_equal(s.time, SECOND);
	}
	destroy(f);
}

/* Queues every 50 ms of the window and a sample before it, what is shared twice a second, a price once. */
static void test_who_is_looked_at_when(void **state)
{
	struct fixture *f = make(2);
	unsigned int published;

	f->hosts.queue[1].waiting = 4; /* half of what saturates it */
	run(f, SECOND, 11 * SECOND);
	published = f->published;
	assert_in_range(f->hosts.looked_at[0], 120, 123);
	assert_in_range(f->hosts.looked_at[1], 120, 123);
	assert_in_range(file_reads(f, "/proc/stat"), 20, 23);
	assert_in_range(file_reads(f, "/proc/vmstat"), 20, 23);
	assert_in_range(published, 10, 12);
	destroy(f);
}

/* Queues that one request more or less makes no dearer, every 150 ms of it. */
static void test_calm_queues_are_looked_at_less(void **state)
{
	static const uint32_t calm[] = {0, 1, 20, 1000};

	for (unsigned int n = 0; n < sizeof(calm) / sizeof(calm[0]); n++) {
		struct fixture *f = make(2);

		f->hosts.queue[1].waiting = calm[n];
		run(f, SECOND, 11 * SECOND);
		assert_in_range(f->hosts.looked_at[0], 50, 60);
		assert_in_range(file_reads(f, "/proc/stat"), 20, 23);
		destroy(f);
	}
}

/* What is seen once, where nothing was before, is there for 50 ms, however long nobody had looked. */
static void test_one_look_is_not_a_window(void **state)
{
	struct fixture *f = make(1);
	struct price_snapshot s;
	uint64_t now = SECOND, due;

	while (now < 4 * SECOND || f->loop.publish_at <= now || f->loop.publish_at > now + 200 * MS)
		now = price_loop_turn(&f->loop, now);
	f->hosts.queue[0].waiting = 20;
	now = price_loop_turn(&f->loop, now);
	f->hosts.queue[0].waiting = 0;
	for (due = f->loop.publish_at; f->loop.publish_at == due;)
		now = price_loop_turn(&f->loop, now);
	board_read(&f->hosts.boards[0], &s);
	assert_true(s.utilization[PRICE_DISK] > 0.1 && s.utilization[PRICE_DISK] < 0.3);
	destroy(f);
}

/* A price is that of the window before it, however late turns are and whatever came before: here idle. */
static void test_a_price_is_of_its_window(void **state)
{
	struct fixture *f = make(1);
	uint64_t now = SECOND, busy = 100, idle = 1000;

	for (unsigned int n = 0; n < 100; n++, now += (n % 2 ? 57 : 99) * MS) {
		uint64_t due = f->loop.publish_at;

		*(due <= now + PRICE_WINDOW ? &busy : &idle) += 1000;
		fake_set(&f->source, "/proc/stat", "cpu  %.0f 0 0 %.0f 0 0 0 0\n", (double)busy,
			 (double)idle);
		price_loop_turn(&f->loop, now);
		if (n > 30 && f->loop.publish_at != due)
			assert_true(f->loop.cpu.host > 0.6);
	}
	destroy(f);
}

/* Of more than four devices four are looked at each time, in turn. */
static void test_many_devices_take_turns(void **state)
{
	struct fixture *f = make(10);

	run(f, SECOND, 11 * SECOND);
	for (unsigned int n = 0; n < 10; n++)
		assert_in_range(f->hosts.looked_at[n], 79, 82);
	destroy(f);
}

static void test_devices_beyond_the_bound_have_no_price(void **state)
{
	struct fixture *f = make(PRICE_DEVICES_MAX + 3);
	struct price_snapshot s;

	run(f, SECOND, 11 * SECOND);
	assert_int_equal(f->loop.n, PRICE_DEVICES_MAX);
	board_read(&f->hosts.boards[PRICE_DEVICES_MAX - 1], &s);
	assert_true(s.time != 0);
	board_read(&f->hosts.boards[PRICE_DEVICES_MAX], &s);
	assert_int_equal(s.time, 0);
	assert_int_equal(f->hosts.looked_at[PRICE_DEVICES_MAX], 0);
	destroy(f);
}

static void test_a_new_device_has_a_price_at_once(void **state)
{
	struct fixture *f = make(1);
	struct price_snapshot s;

	run(f, SECOND, SECOND + 500 * MS);
	f->hosts.n = 2;
	price_loop_turn(&f->loop, SECOND + 600 * MS);
	board_read(&f->hosts.boards[1], &s);
	assert_int_equal(s.time, SECOND + 600 * MS);
	destroy(f);
}

/* A busy device's place is given to an idle one: nothing of the old one's load is left. */
static void test_another_device_in_an_old_place(void **state)
{
	struct fixture *f = make(1);

	f->hosts.queue[0].waiting = 100;
	run(f, SECOND, 6 * SECOND);
	assert_true(board_readahead_price(&f->hosts.boards[0]) > 0.99);
	f->hosts.queue[0].waiting = 0;
	f->hosts.taken[0]++;
	f->hosts.minors[0] = 77;
	price_loop_turn(&f->loop, 6 * SECOND + 10 * MS);
	assert_true(board_readahead_price(&f->hosts.boards[0]) == 0);
	assert_int_equal(f->loop.disks[0].meter.minor, 77);
	destroy(f);
}

/* Eight requests for each that may be on it at once, or what the settings say. */
static void test_what_saturates_a_disk(void **state)
{
	struct fixture *f = make(1);

	f->hosts.queue[0].waiting = 8;
	run(f, SECOND, 6 * SECOND);
	assert_true(board_readahead_price(&f->hosts.boards[0]) > 0.99);
	f->hosts.depth = 32;
	run(f, 6 * SECOND, 9 * SECOND);
	assert_true(board_readahead_price(&f->hosts.boards[0]) < 0.01);
	assert_true(price_loop_saturation(4) == 32 && price_loop_saturation(0) == 8);
	destroy(f);
}

static void test_new_settings(void **state)
{
	struct price_settings s = usual_settings();
	struct fixture *f = make(1);
	double before;

	f->hosts.queue[0].waiting = 4;
	run(f, SECOND, 6 * SECOND);
	before = board_readahead_price(&f->hosts.boards[0]);
	assert_near(before, price_of(100, 0.5), 0.02);
	s.k[PRICE_DISK] = 1;
	s.interval = 100 * MS;
	price_loop_set(&f->loop, &s);
	f->published = 0;
	run(f, 6 * SECOND, 9 * SECOND);
	assert_near(board_readahead_price(&f->hosts.boards[0]), 0.5, 0.02);
	assert_in_range(f->published, 20, 31);
	s.network_capacity = 4000;
	s.saturation_delay = 7;
	price_loop_set(&f->loop, &s);
	run(f, 9 * SECOND, 10 * SECOND);
	assert_int_equal(f->loop.net.limits.capacity, 4000);
	assert_true(f->loop.disks[0].meter.limits.saturation_delay == 7);
	destroy(f);
}

static unsigned int lines;
static char last_line[256];

static void keep_line(enum log_level level, const char *format, va_list args)
{
	lines++;
	vsnprintf(last_line, sizeof(last_line), format, args);
}

static void test_what_is_unknown_costs_nothing_and_is_said_once(void **state)
{
	struct fixture *f = make(1);
	struct price_snapshot s;

	log_set_writer(keep_line);
	lines = 0;
	fake_remove(&f->source, "/proc/vmstat");
	run(f, SECOND, 6 * SECOND);
	log_set_writer(NULL);
	board_read(&f->hosts.boards[0], &s);
	assert_int_equal(s.unknown, 1u << PRICE_MEMORY);
	assert_true(s.price[PRICE_MEMORY] == 0);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(last_line, "memory"));
	assert_non_null(strstr(last_line, "/proc/vmstat"));
	destroy(f);
}

/* What is not stable of a cluster makes memory dear for who writes there, where it is fuller than the machine's. */
static void test_what_is_not_stable_is_memory(void **state)
{
	struct fixture *f = make(2);
	struct price_snapshot far, near;

	f->hosts.queue[0].unstable = 0.8;
	run(f, SECOND, 4 * SECOND);
	board_read(&f->hosts.boards[0], &far);
	board_read(&f->hosts.boards[1], &near);
	assert_near(far.price[PRICE_MEMORY], price_of(10, 0.8), 0.001);
	assert_int_equal(far.write_by, PRICE_MEMORY);
	assert_true(far.write == far.price[PRICE_MEMORY] && far.readahead == 0);
	assert_true(near.write == 0);
	fake_set(&f->source, "/proc/vmstat",
		 "nr_free_pages 1000\nnr_active_file 1000\nnr_inactive_file 0\nnr_dirty 1350\n"
		 "nr_writeback 0\nnr_dirty_threshold 2000\nnr_dirty_background_threshold 1000\n");
	run(f, 4 * SECOND, 6 * SECOND);
	board_read(&f->hosts.boards[0], &far);
	board_read(&f->hosts.boards[1], &near);
	assert_near(far.utilization[PRICE_MEMORY], 0.9, 0.001);
	assert_near(near.utilization[PRICE_MEMORY], 0.9, 0.001);
	fake_remove(&f->source, "/proc/vmstat");
	run(f, 6 * SECOND, 8 * SECOND);
	board_read(&f->hosts.boards[0], &far);
	assert_near(far.utilization[PRICE_MEMORY], 0.8, 0.001);
	destroy(f);
}

/* Nothing of it is left of a device in whose place another one is, and while there is some, all of a window is looked at. */
static void test_what_is_not_stable_is_followed(void **state)
{
	struct fixture *f = make(1);

	f->hosts.queue[0].unstable = 0.8;
	run(f, SECOND, 11 * SECOND);
	assert_in_range(f->hosts.looked_at[0], 120, 123);
	f->hosts.queue[0].unstable = 0;
	f->hosts.taken[0]++;
	price_loop_turn(&f->loop, 11 * SECOND + 10 * MS);
	assert_true(board_write_price(&f->hosts.boards[0]) == 0);
	destroy(f);
}

/* The caches get the memory's size, and are emptied of what readers left. */
static void test_ghost_caches_are_served(void **state)
{
	struct fixture *f = make(1);
	struct ghost_cache *ghost = ghost_new_within(4 << 20);
	struct price_settings s = usual_settings();
	struct ghost_counts counts;

	assert_non_null(ghost);
	price_loop_init(&f->loop, &s, &f->table, &f->source.source, ghost);
	run(f, SECOND, 2 * SECOND);
	for (uint64_t i = 0; i < 100; i++)
		ghost_read(ghost, 1, i * 65536, 65536);
	run(f, 2 * SECOND, 3 * SECOND);
	ghost_counts(ghost, &counts);
	assert_true(counts.pages == 1600 && counts.missed_small > 0);
	assert_int_equal(counts.dropped, 0);

	/* between two prices nobody asks for more turns, but that the ring does not overflow */
	assert_int_equal(price_loop_turn(&f->loop, 3 * SECOND), 3 * SECOND + 450 * MS);
	for (uint64_t i = 0; i < 1000; i++)
		ghost_read(ghost, 2, i * 65536, 65536);
	assert_int_equal(price_loop_turn(&f->loop, 3 * SECOND + MS), 3 * SECOND + 51 * MS);
	ghost_free(ghost);
	destroy(f);
}

static void test_the_smallest_ghost_caches(void **state)
{
	struct ghost_cache *ghost = ghost_new_within(GHOST_MEMORY_MIN);

	assert_non_null(ghost);
	ghost_free(ghost);
	assert_null(ghost_new_within(1000));
}

static void test_prices_can_be_seen(void **state)
{
	struct fixture *f = make(1);
	struct trace_record r[2];
	uint64_t before = trace_last();

	f->hosts.queue[0].waiting = 100;
	run(f, SECOND, 1900 * MS);
	trace_switch(true);
	price_loop_turn(&f->loop, 2 * SECOND);
	trace_switch(false);
	assert_int_equal(trace_read(before, r, 2), 1);
	assert_int_equal(r[0].event, TRACE_PRICE);
	assert_int_equal(r[0].args[0], makedev(8, 0));
	assert_int_equal(r[0].args[1], 1000);
	assert_int_equal(r[0].args[2], 1000);
	assert_int_equal(r[0].args[3], PRICE_DISK);
	destroy(f);
}

/* Seconds in which the two flows of the first device use these shares of its time. */
static void use(struct fixture *f, unsigned int from, unsigned int seconds, double a, double b)
{
	for (unsigned int t = from; t < from + seconds; t++) {
		f->hosts.flows[0].disk_time += (uint64_t)(a * SECOND);
		f->hosts.flows[1].disk_time += (uint64_t)(b * SECOND);
		run(f, t * SECOND, (t + 1) * SECOND);
	}
}

/* Who used much lately is told more than the device's price, who used little less; the loop forgets. */
static void test_clients_have_prices_of_their_own(void **state)
{
	struct fixture *f = make(2);
	struct client_prices much, little;
	double price;

	f->hosts.queue[0].waiting = 4;
	for (unsigned int i = 0; i < 2; i++)
		f->hosts.flows[i] = (struct flow_use){
			.client = 5 + i, .weight = 100, .group_weight = 1, .backlogged = true};
	use(f, 1, 100, 0.8, 0.2);
	price = board_write_price(&f->hosts.boards[0]);
	assert_true(client_board_find(&f->hosts.clients, 5, 1, &much));
	assert_true(client_board_find(&f->hosts.clients, 6, 1, &little));
	assert_true(much.write > 1.5 * price && little.write < price / 1.5);
	assert_false(client_board_find(&f->hosts.clients, 7, 1, &little));
	use(f, 101, 300, 0.5, 0.5);
	assert_false(client_board_find(&f->hosts.clients, 5, 1, &much));
	destroy(f);
}

/* What is known of clients is of the device that was there. */
static void test_clients_of_another_device(void **state)
{
	struct fixture *f = make(1);
	struct client_prices p;

	f->hosts.queue[0].waiting = 4;
	for (unsigned int i = 0; i < 2; i++)
		f->hosts.flows[i] = (struct flow_use){
			.client = 5 + i, .weight = 100, .group_weight = 1, .backlogged = true};
	use(f, 1, 100, 0.8, 0.2);
	assert_true(client_board_find(&f->hosts.clients, 5, 1, &p));
	f->hosts.taken[0]++;
	memset(f->hosts.flows, 0, sizeof(f->hosts.flows));
	run(f, 101 * SECOND, 103 * SECOND);
	assert_false(client_board_find(&f->hosts.clients, 5, 1, &p));
	destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients_have_prices_of_their_own),
		cmocka_unit_test(test_clients_of_another_device),
		cmocka_unit_test(test_everything_known_at_the_first_turn),
		cmocka_unit_test(test_who_is_looked_at_when),
		cmocka_unit_test(test_calm_queues_are_looked_at_less),
		cmocka_unit_test(test_one_look_is_not_a_window),
		cmocka_unit_test(test_a_price_is_of_its_window),
		cmocka_unit_test(test_many_devices_take_turns),
		cmocka_unit_test(test_devices_beyond_the_bound_have_no_price),
		cmocka_unit_test(test_a_new_device_has_a_price_at_once),
		cmocka_unit_test(test_another_device_in_an_old_place),
		cmocka_unit_test(test_what_saturates_a_disk),
		cmocka_unit_test(test_new_settings),
		cmocka_unit_test(test_what_is_unknown_costs_nothing_and_is_said_once),
		cmocka_unit_test(test_what_is_not_stable_is_memory),
		cmocka_unit_test(test_what_is_not_stable_is_followed),
		cmocka_unit_test(test_ghost_caches_are_served),
		cmocka_unit_test(test_the_smallest_ghost_caches),
		cmocka_unit_test(test_prices_can_be_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
