/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The parsers of /proc's texts, the log's writer, the ring of decisions. */
#include "common/clock.h"
#include "common/lock.h"
#include "common/log.h"
#include "common/text.h"
#include "common/trace.h"

#include "support.h"

#include <unistd.h>

static void lines_and_numbers(void **state)
{
	const char *text = "MemTotal:  12 kB\nDirty: 7 9\nlast 18446744073709551616\n", *at;
	uint64_t n[2];

	at = text_line(text, "Dirty:");
	assert_non_null(at);
	assert_true(text_numbers(at, n, 2));
	assert_int_equal(n[0], 7);
	assert_int_equal(n[1], 9);
	assert_false(text_numbers(at, n, 2) && text_number(&at, n) && text_number(&at, n) &&
		     text_number(&at, n)); /* there are two */
	assert_null(text_line(text, "irty:"));
	at = text_line(text, "last");
	assert_false(text_number(&at, n)); /* beyond 64 bits */
	assert_null(text_next_line("one\n"));
}

static void a_text_is_read_whole(void **state)
{
	char name[] = "/tmp/ra-text.XXXXXX", buf[16];
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(text_read(fd, buf, sizeof(buf)), 10);
	assert_int_equal(text_read(fd, buf, 4), 4);
	close(fd);
	assert_int_equal(text_read(fd, buf, 4), -1);
}

static char line[128];
static enum log_level line_level;

static void keep(enum log_level level, const char *format, va_list args)
{
	line_level = level;
	vsnprintf(line, sizeof(line), format, args);
}

static void a_line_reaches_the_writer(void **state)
{
	log_set_writer(keep);
	log_line(LOG_LEVEL_WARN, "%d of %s", 3, "four");
	log_set_writer(NULL);
	assert_string_equal(line, "3 of four");
	assert_int_equal(line_level, LOG_LEVEL_WARN);
}

static void decisions_are_kept_in_order(void **state)
{
	static struct trace_record r[TRACE_RING];
	uint64_t before = trace_last();

	trace(TRACE_PICK, 1, 0, 2, 3, 4, 5);
	assert_int_equal(trace_last(), before); /* nobody looks */
	trace_switch(true);
	trace(TRACE_PICK, 1, 0, 2, 3, 4, 5);
	trace(TRACE_TURN, 6, 0, 7, 8, 9, 10);
	assert_int_equal(trace_read(before, r, TRACE_RING), 2);
	assert_int_equal(r[0].event, TRACE_PICK);
	assert_int_equal(r[0].file, 1);
	assert_int_equal(r[0].args[3], 5);
	assert_int_equal(r[1].number, r[0].number + 1);
	/* the ring keeps the last ones, and a slow reader misses the others */
	for (uint64_t i = 0; i < 2 * TRACE_RING; i++)
		trace(TRACE_PLAN, i, 0, 0, 0, 0, 0);
	assert_int_equal(trace_read(before, r, TRACE_RING), TRACE_RING);
	assert_int_equal(r[TRACE_RING - 1].number, trace_last());
	assert_int_equal(r[0].number, trace_last() - TRACE_RING + 1);
	assert_int_equal(r[0].file, TRACE_RING);
	assert_int_equal(trace_read(before, r, 3), 3);
	trace_switch(false);
}

static void *write_many(void *arg)
{
	for (uint64_t i = 0; i < 50000; i++)
		trace(TRACE_PRICE, i, 0, i, i, i, i);
	return arg;
}

static void a_copy_is_never_torn(void **state)
{
	static struct trace_record r[256];
	pthread_t thread[2];

	trace_switch(true);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_many, NULL), 0);
	for (int i = 0; i < 200; i++) {
		unsigned int n = trace_read(trace_last() > 256 ? trace_last() - 256 : 0, r, 256);

		for (unsigned int k = 1; k < n; k++) /* none is left out that is not overwritten */
			assert_true(r[k].number == r[k - 1].number + 1 ||
				    r[k - 1].number + 1 + TRACE_RING <= trace_last());
		for (unsigned int k = 0; k < n; k++)
			if (r[k].event == TRACE_PRICE)
				for (int a = 0; a < TRACE_ARGS; a++)
					assert_int_equal(r[k].args[a], r[k].file);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	trace_switch(false);
}

static void locks_are_taken_in_order(void **state)
{
	static struct lock outer = LOCK_INITIALIZER(LOCK_EXPORTS), inner;

	lock_init(&inner, LOCK_LEAF);
	lock_take(&outer);
	lock_take(&inner);
	lock_assert_held(&outer);
	lock_drop(&outer); /* in any order */
	lock_drop(&inner);
#ifndef NDEBUG
	assert_int_equal(lock_held, 0);
#endif
	lock_fini(&inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_numbers),
		cmocka_unit_test(a_text_is_read_whole),
		cmocka_unit_test(a_line_reaches_the_writer),
		cmocka_unit_test(decisions_are_kept_in_order),
		cmocka_unit_test(a_copy_is_never_torn),
		cmocka_unit_test(locks_are_taken_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
