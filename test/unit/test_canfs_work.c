/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The works of bench/canfs: the steps of each, in order, and files that nobody else has then. */
#include "support.h"

#include "work.h"

static struct group_spec group;
static struct work_set set;

static void begin(const char *text)
{
	assert_null(group_parse(text, &group));
	assert_true(work_set_init(&set, &group, 3, 1));
}

static struct step next(struct worker *w)
{
	struct step s;

	work_next(w, &s);
	return s;
}

static void expect(struct worker *w, enum op_kind op, uint64_t offset, uint64_t length)
{
	struct step s = next(w);

	assert_int_equal(s.kind, STEP_DO);
	assert_int_equal(s.op, op);
	assert_int_equal(s.offset, offset);
	assert_int_equal(s.length, length);
}

static void test_bad_groups(void **state)
{
	static const char *const bad[] = {"work=none",
					  "threads=0",
					  "files=0,work=copy",
					  "x=1",
					  "size",
					  "clients=3-1",
					  "io=1000",
					  "work=log,size=4K,io=8K",
					  "hold=2",
					  "dirs=65",
					  "work=fileserver,threads=9,files=20"};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_non_null(group_parse(bad[i], &group));
}

static void test_seqwrite_holds(void **state)
{
	struct worker w;
	struct step s;

	begin("work=seqwrite,size=160K,io=64K,count=1,hold=1,fsync=1");
	worker_init(&w, &set, 0);
	s = next(&w);
	assert_true(s.op == OP_CREATE);
	expect(&w, OP_WRITE, 0, 64 * KIB);
	expect(&w, OP_WRITE, 64 * KIB, 64 * KIB);
	expect(&w, OP_WRITE, 128 * KIB, 32 * KIB);
	expect(&w, OP_FSYNC, 0, 0);
	assert_int_equal(next(&w).kind, STEP_HOLD);
	expect(&w, OP_CLOSE, 0, 0);
	assert_int_equal(next(&w).kind, STEP_END);
	work_set_free(&set);
}

static void test_seqwrite_writes_other_data_each_time(void **state)
{
	struct worker w;
	uint64_t content;

	begin("work=seqwrite,size=64K,io=64K,count=2");
	worker_init(&w, &set, 0);
	content = next(&w).content;
	expect(&w, OP_WRITE, 0, 64 * KIB);
	expect(&w, OP_CLOSE, 0, 0);
	assert_true(next(&w).content != content);
	expect(&w, OP_WRITE, 0, 64 * KIB);
	expect(&w, OP_CLOSE, 0, 0);
	assert_int_equal(next(&w).kind, STEP_END);
	work_set_free(&set);
}

static void test_copy_is_of_the_same_content(void **state)
{
	struct worker w;
	struct step s;

	begin("work=copy,files=2,size=80K,io=64K");
	worker_init(&w, &set, 0);
	for (uint32_t f = 0; f < 2; f++) {
		uint64_t content = set.file[f].content;

		s = next(&w);
		assert_true(s.op == OP_OPEN && s.file == f);
		s = next(&w);
		assert_true(s.op == OP_CREATE && s.file == f + 2);
		for (uint64_t at = 0; at < 80 * KIB; at += 64 * KIB) {
			s = next(&w);
			assert_true(s.op == OP_READ && s.file == f && s.offset == at && s.verify);
			s = next(&w);
			assert_true(s.op == OP_WRITE && s.file == f + 2 && s.offset == at &&
				    s.content == content);
		}
		s = next(&w);
		assert_true(s.op == OP_CLOSE && s.file == f + 2);
		s = next(&w);
		assert_true(s.op == OP_CLOSE && s.file == f);
	}
	assert_int_equal(next(&w).kind, STEP_END);
	work_set_free(&set);
}

static void test_randread_warms_first(void **state)
{
	struct worker w;
	struct step s;

	begin("work=randread,size=128K,io=64K,count=3,warm=1");
	worker_init(&w, &set, 0);
	assert_true(next(&w).quiet); /* open */
	for (int i = 0; i < 2; i++) {
		s = next(&w);
		assert_true(s.op == OP_READ && s.quiet && s.offset == i * 64 * KIB);
	}
	for (int i = 0; i < 3; i++) {
		s = next(&w);
		assert_true(s.op == OP_READ && !s.quiet && s.offset % (64 * KIB) == 0);
	}
	expect(&w, OP_CLOSE, 0, 0);
	assert_int_equal(next(&w).kind, STEP_END);
	work_set_free(&set);
}

/* Ten reads, then the log; which thread 0 makes first. */
static void test_webserver(void **state)
{
	struct worker w;
	int reads = 0, appends = 0, opens = 0;

	begin("work=webserver,files=20,size=16K,count=5");
	worker_init(&w, &set, 0);
	assert_true(next(&w).op == OP_CREATE);
	for (struct step s = next(&w); s.kind != STEP_END; s = next(&w)) {
		opens += s.op == OP_OPEN;
		reads += s.op == OP_READ;
		appends += s.op == OP_APPEND;
		assert_true(s.op != OP_APPEND || opens == 10 * appends);
	}
	assert_true(opens == 50 && reads == 50 && appends == 5);
	work_set_free(&set);
}

/* Nobody opens, removes or creates a file that another thread has. */
static void test_fileserver_shares_no_file(void **state)
{
	struct worker w[4];
	struct step now[4] = {0};
	uint64_t seed = 5, kinds[OP_KINDS] = {0};

	begin("work=fileserver,threads=4,files=20,size=64K,sizes=gamma,io=32K");
	for (uint32_t t = 0; t < 4; t++)
		worker_init(&w[t], &set, t);
	for (int i = 0; i < 20000; i++) {
		uint32_t t = (uint32_t)random_below(&seed, 4);

		now[t] = next(&w[t]);
		kinds[now[t].op]++;
		assert_int_equal(now[t].kind, STEP_DO);
		assert_int_equal(set.file[now[t].file].state, FILE_BUSY);
		for (uint32_t other = 0; other < 4; other++)
			assert_true(other == t || !w[other].phase || w[other].file != w[t].file);
	}
	assert_true(kinds[OP_CREATE] && kinds[OP_APPEND] && kinds[OP_READ] && kinds[OP_REMOVE] &&
		    kinds[OP_STAT] && kinds[OP_WRITE]);
	work_set_free(&set);
}

static void test_sizes(void **state)
{
	double mean = 0;
	uint64_t sum = 0;

	begin("work=fileserver,files=20000,size=128K,sizes=gamma");
	for (uint32_t i = 0; i < set.files; i++) {
		mean += (double)set.file[i].size / set.files;
		assert_true(set.file[i].size && set.file[i].size % PAGE_BYTES == 0);
	}
	assert_in_range((uint64_t)mean, 125 * KIB, 137 * KIB);
	work_set_free(&set);
	begin("work=copy,files=60,sizes=log,least=4K,size=12M,total=256M");
	for (uint32_t i = 0; i < set.files; i++) {
		sum += set.file[i].size;
		assert_in_range(set.file[i].size, 4 * KIB, 12 * MIB);
	}
	assert_in_range(sum, 250 * MIB, 262 * MIB);
	work_set_free(&set);
}

/* Who lays out and who measures agree. */
static void test_repeatable(void **state)
{
	struct work_set again;

	begin("work=webserver,files=100,size=16K,sizes=gamma");
	assert_true(work_set_init(&again, &group, 3, 1));
	for (uint32_t i = 0; i < set.files; i++)
		assert_true(set.file[i].size == again.file[i].size &&
			    set.file[i].content == again.file[i].content);
	work_set_free(&again);
	work_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_groups),
		cmocka_unit_test(test_seqwrite_holds),
		cmocka_unit_test(test_seqwrite_writes_other_data_each_time),
		cmocka_unit_test(test_copy_is_of_the_same_content),
		cmocka_unit_test(test_randread_warms_first),
		cmocka_unit_test(test_webserver),
		cmocka_unit_test(test_fileserver_shares_no_file),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_repeatable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
