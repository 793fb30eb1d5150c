/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One mount looked after, on a machine of files: from a reply to the knobs and back, mounts that
 * come, go, hang and are another kind, and settings that change. Times are made up; the test waits
 * for a child's end only.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <string.h>

#include "agent_watched.h"

/* ------------------------------------------------------------------------------------------ */

static void test_prices_turn_the_knobs(void **state)
{
	struct watch *w = host.watches;

	rounds(40, 0.9, 1.0);
	assert_true(w->detector.believed);
	assert_int_equal(w->decision.way, WRITE_DEFER);
	assert_int_equal(files_number(RATIO), 50);
	assert_int_equal(files_number(READAHEAD), 16);
	assert_int_equal(w->totals.deferrals, 1);
	assert_in_range(w->totals.replies, 20, 40);
	now += host.settings.answer; /* no answer */
	watch_tick(&host, w, now);
	assert_true(w->totals.deferred > host.settings.answer && w->totals.deferred < now - 1000);
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
}

static void test_a_new_mount_is_asked_while_the_old_one_hangs(void **state)
{
	struct watch *w = host.watches;
	char path[128];

	unlink(replies);
	assert_int_equal(mkfifo(replies, 0600), 0); /* who opens it waits for a writer */
	watch_tick(&host, w, now);
	assert_true(w->calls.ask.worker != NULL);
	now += host.settings.answer;
	watch_tick(&host, w, now);
	assert_int_equal(w->news, NEWS_NO_ANSWER);
	snprintf(path, sizeof(path), "%s/fifo", files_root);
	rename(replies, path);
	files_put("/proc/self/mountinfo", "40%s", &NFS[2]); /* umount -l, mount */
	rounds(40, 0.9, 1.0);
	assert_int_equal(w->mount.id, 40);
	assert_true(w->detector.believed);
	assert_int_equal(files_number(READAHEAD), 16);
	watch_release(&host, w);
}

static void test_what_carries_no_prices_is_not_asked(void **state)
{
	static const char *const lines[] = {
		"",
		"36 35 0:47 / /mnt/n rw - nfs4 s:/e rw,vers=4.2,x\n",
		"36 35 0:47 / /mnt/n rw - autofs auto rw,fd=6\n",
		"36 35 0:47 / /mnt/n rw - ext4 /dev/sda1 rw\n",
	};
	struct watch *w = host.watches;

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		files_put("/proc/self/mountinfo", "%s", lines[i]);
		now += host.settings.interval;
		watch_tick(&host, w, now);
		assert_int_equal(w->news, NEWS_NOT_MOUNTED);
		assert_null(w->calls.ask.worker);
	}
	files_put("/proc/self/mountinfo", NFS);
	rounds(20, 0.9, 1.0);
	assert_true(w->detector.believed);
	watch_release(&host, w);
}

static void test_autofs_below_the_mount(void **state)
{
	files_put("/proc/self/mountinfo", "30 35 0:40 / /mnt/n rw - autofs auto rw,fd=6\n" NFS);
	rounds(20, 0.9, 1.0);
	assert_true(host.watches[0].detector.believed);
	watch_release(&host, host.watches);
}

static void test_no_record_no_knob(void **state)
{
	recordable = false;
	rounds(20, 0.9, 1.0);
	assert_int_equal(host.watches[0].decision.way, WRITE_DEFER);
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
	recordable = true;
	rounds(1, 0.9, 1.0);
	assert_int_equal(files_number(RATIO), 50);
	watch_release(&host, host.watches);
	assert_int_equal(files_number(RATIO), 0);
}

static void test_settings_change(void **state)
{
	struct settings s = settings_of("/mnt/o", "/mnt/n");

	rounds(20, 0.9, 1.0);
	assert_int_equal(files_number(RATIO), 50);
	s.decide.readahead_min = 64;
	list(s); /* one more, and it is the first now */
	assert_string_equal(host.watches[1].path, "/mnt/n");
	assert_true(host.watches[1].detector.believed);
	assert_false(host.watches[0].detector.believed);
	watch_tick(&host, &host.watches[1], now);
	assert_int_equal(files_number(RATIO), 50); /* divided by those that defer */
	assert_int_equal(files_number(READAHEAD), 64);
	list(settings_of("/mnt/o", NULL)); /* the other is let go */
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
}

static void test_mounts_of_one_export(void **state)
{
	files_put("/proc/self/mountinfo", NFS NFS2);
	list(settings_of("/mnt/n", "/mnt/o"));
	watch_look(&host, &host.watches[0], now);
	watch_look(&host, &host.watches[1], now);
	assert_true(host.watches[0].knobs.owns && !host.watches[1].knobs.owns);
	files_put("/proc/self/mountinfo", NFS2);
	now += 1;
	watch_look(&host, &host.watches[0], now);
	watch_look(&host, &host.watches[1], now);
	assert_true(!host.watches[0].knobs.owns && host.watches[1].knobs.owns);
}

static void test_knobs_that_cannot_be_turned(void **state)
{
	struct mount_knobs k;
	struct knob_hand hand = {{record, NULL}, false};

	mount_knobs_init(&k, "/mnt/n");
	mount_knobs_ratio(&k, 50, "why", &hand, now); /* not its own: nothing happens */
	assert_int_equal(files_number(RATIO), 0);
	mount_knobs_own(&k, files_root, "0:99", 4);
	mount_knobs_ratio(&k, 50, "why", &hand, now);
	assert_non_null(strstr(files_said, "No such file or directory: not used"));
	mount_knobs_own(&k, files_root, "0:47", 4);
	mount_knobs_readahead(&k, 64, "why", &hand, now);
	assert_int_equal(mount_knobs_readahead_found(&k), 128);
	files_put(READAHEAD, "4096\n");
	mount_knobs_release(&k, &hand);
	assert_non_null(strstr(files_said, "stays as it is: somebody else has turned it"));
	assert_int_equal(files_number(READAHEAD), 4096);
	hand.dry_run = true;
	mount_knobs_ratio(&k, 50, "why", &hand, now);
	assert_string_equal(files_said, "/mnt/n: why: would set min_ratio to 50");
	assert_int_equal(files_number(RATIO), 0);
}

/* Those of a mount, its own, on a kernel with such pages. */
static struct mount_knobs knobs_of(uint32_t page_kib)
{
	struct mount_knobs k;

	mount_knobs_init(&k, "/mnt/n");
	mount_knobs_own(&k, files_root, "0:47", page_kib);
	return k;
}

/* The kernel reads ahead whole pages: less than one would be none at all. */
static void test_readahead_is_a_page_at_least(void **state)
{
	struct mount_knobs k = knobs_of(64);
	struct knob_hand hand = {{record, NULL}, false};

	mount_knobs_readahead(&k, 32, "why", &hand, now);
	assert_int_equal(files_number(READAHEAD), 64);
	assert_string_equal(files_said, "/mnt/n: why: set read_ahead_kb to 64");
	mount_knobs_readahead(&k, 256, "why", &hand, now);
	assert_int_equal(files_number(READAHEAD), 256);
	mount_knobs_release(&k, &hand);
	assert_int_equal(files_number(READAHEAD), 128);
}

/* From Linux 6.2 on: what is less than a percent is put back as it was. */
static void test_parts_of_a_percent(void **state)
{
	struct mount_knobs k;
	struct knob_hand hand = {{record, NULL}, false};

	files_put(FINE, "5000\n");
	k = knobs_of(4);
	mount_knobs_ratio(&k, 50, "why", &hand, now);
	assert_int_equal(files_number(FINE), 500000);
	assert_string_equal(files_said, "/mnt/n: why: set min_ratio to 50");
	mount_knobs_ratio(&k, 18, "why", &hand, now);
	assert_int_equal(files_number(FINE), 180000);
	mount_knobs_release(&k, &hand);
	assert_int_equal(files_number(FINE), 5000);
	assert_string_equal(files_said, "/mnt/n: min_ratio as it was");
	assert_int_equal(files_number(RATIO), 0);
	unlink(files_path(FINE));
}

static void test_what_is_shown(void **state)
{
	char text[512] = "";
	FILE *out;

	rounds(20, 0.9, 1.0);
	out = fmemopen(text, sizeof(text), "w");
	watch_show(&host, host.watches, out);
	fclose(out);
	assert_non_null(strstr(text, "mount /mnt/n 0:47: believed, write 0.9"));
	assert_non_null(strstr(text, "defer: the server is dearer than our memory; "));
	assert_non_null(strstr(text, " MB held back\n"));
	files_put("/proc/self/mountinfo", "\n");
	now += 1;
	watch_look(&host, host.watches, now);
	watch_tick(&host, host.watches, now);
	out = fmemopen(text, sizeof(text), "w");
	watch_show(&host, host.watches, out);
	fclose(out);
	assert_non_null(strstr(text, "nothing is mounted there: not yet"));
}

/* Who may choose the name of a mount, as below an automounter, writes no line of the record. */
static void test_a_name_is_one_line(void **state)
{
	char text[512] = "", *path = (char *)host.watches[0].path;
	FILE *out = fmemopen(text, sizeof(text), "w");

	host.watches[0].path = "/mnt/\033[Ja\\b\nknob /proc/sys/vm/dirty_ratio found 1 set any\n";
	watch_show(&host, host.watches, out);
	fclose(out);
	host.watches[0].path = path;
	assert_non_null(strstr(text, "mount /mnt/\\033[Ja\\134b\\012knob /proc"));
	assert_null(strstr(text, "\nknob"));
	assert_null(strchr(text, '\033'));
}

/* A cheap server, and something to write. */
static void make_accelerated(void)
{
	host.settings.dirty_min = 0;
	files_put("/proc/vmstat",
		  "nr_free_pages 1000000\nnr_active_file 1\nnr_inactive_file 1\nnr_dirty 10\n"
		  "nr_writeback 0\nnr_dirty_threshold 400000\n"
		  "nr_dirty_background_threshold 200000\n");
	files_put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 600000 kB\n");
	machine_look(&host.machine);
	rounds(40, 0, 0);
	assert_int_equal(host.watches[0].decision.way, WRITE_ACCELERATE);
}

/* syncfs, in a child. Here it fails, which is said once. */
static void test_accelerate(void **state)
{
	struct watch *w = host.watches;
	char text[512] = "";
	FILE *out;

	make_accelerated();
	for (unsigned int i = 0; i < 1000 && !w->push_told; i++) {
		rounds(1, 0, 0);
		wakeup_wait(&wakeup, wakeup_now() + 0.01); /* for the child's end */
	}
	assert_true(w->push_told);
	assert_int_equal(w->totals.pushes, 0); /* none succeeded: that is shown */
	assert_int_equal(watch_way(&host, w), WRITE_NORMAL);
	out = fmemopen(text, sizeof(text), "w");
	watch_show(&host, w, out);
	fclose(out);
	assert_non_null(strstr(text, "normal: "));
	assert_non_null(strstr(text, "; but syncfs fails"));
	assert_int_equal(files_number(READAHEAD), 128); /* memory is short: not above what it was */
}

/* Calls of the same server have as many places as pushes may: it is pushed when one is free. */
static void test_a_push_waits_for_a_place(void **state)
{
	struct watch *w = host.watches;
	struct async_worker *places = &host.pool.workers[ASYNC_WORKERS_MAX - ASYNC_GROUP_MAX];

	assert_int_equal(mkdir(files_path("/mnt"), 0700), 0);
	assert_int_equal(mkdir(files_path("/mnt/n"), 0700), 0);
	host.settings.dry_run = true; /* no push yet */
	make_accelerated();
	host.settings.dry_run = w->pushed = false;
	for (unsigned int i = 0; i < PUSHES_MAX; i++)
		places[i] = (struct async_worker){
			.child = getpid(), .state = ASYNC_BUSY, .group = w->mount.server};
	watch_act(&host, w, now);
	assert_true(!w->calls.push.worker && !w->pushed);
	w->ask_at = now; /* a question has one */
	watch_ask(&host, w, now);
	assert_true(mount_calls_asks(&w->calls));
	memset(places, 0, ASYNC_GROUP_MAX * sizeof(*places));
	watch_act(&host, w, now);
	assert_true(w->calls.push.worker && w->pushed);
	for (unsigned int i = 0; i < 6000 && !w->totals.pushes; i++) {
		rounds(1, 0, 0);
		wakeup_wait(&wakeup, wakeup_now() + 0.01); /* for the child's end */
	}
	assert_true(w->totals.pushes > 0);
	rmdir(files_path("/mnt/n"));
	rmdir(files_path("/mnt"));
}

/* ---- what must be as without the agent ----------------------------------------------------- */

/* The mount's counters: bytes read and written by programs, READs. */
static void count(unsigned int read, unsigned int written, unsigned int reads)
{
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/n with fstype nfs statvers=1.1\n"
		  "\tbytes:\t%u %u 0 0 %u %u 7 8\n\t  READ: %u 5\n\t  WRITE: 6 6\n",
		  read, written, read, written, reads);
}

static void count_writes(unsigned long written, unsigned long sent)
{
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/n with fstype nfs statvers=1.1\n"
		  "\tbytes:\t0 %lu 0 0 0 %lu 7 8\n\t  READ: 0 5\n\t  WRITE: 6 6\n",
		  written, sent);
}

/* What is written and closed is sent all the same; what stays open is not. */
static void test_deferral_in_vain(void **state)
{
	struct watch *w = host.watches;
	const unsigned long more = 8 << 20;

	count_writes(1, 1);
	rounds(1, 0, 0);
	watch_round(&host, now);
	while (w->decision.way != WRITE_DEFER)
		rounds(1, 0.9, 0);
	for (unsigned int i = 1; i < 5; i++) { /* on its way when it began; written; and sent */
		now += i == 1 ? 2 : 3;
		count_writes(1 + (i < 3 ? 1 : 2) * more, 1 + (i < 4 ? 1 : 2) * more);
		watch_round(&host, now);
		rounds(1, 0.9, 0);
		assert_int_equal(w->decision.why == WHY_VAIN, i == 4);
	}
	now += VAIN_TIME;
	rounds(1, 0.9, 0);
	assert_int_not_equal(w->decision.why, WHY_VAIN);
}

/* What an earlier deferral has left waiting goes out for long, which is not in vain; what is written now and
 * sent all the same is. */
static void test_what_waited_goes_first(void **state)
{
	struct watch *w = host.watches;
	const unsigned long more = 8 << 20;

	files_put("/proc/vmstat", "nr_free_pages 1000\nnr_active_file 1\nnr_inactive_file 1\n"
				  "nr_dirty 8192\nnr_writeback 0\nnr_dirty_threshold 400000\n"
				  "nr_dirty_background_threshold 200000\n");
	machine_look(&host.machine);
	count_writes(9 * more, more); /* a program writes over most of it before it is sent */
	rounds(1, 0, 0);
	watch_round(&host, now);
	while (w->decision.way != WRITE_DEFER)
		rounds(1, 0.9, 0);
	for (unsigned int i = 1; i < 9; i++) { /* 32 MiB wait */
		now += i == 1 ? 2 : 1.5;
		count_writes((9 + (i > 1 ? i - 1 : 0)) * more, i * more);
		watch_round(&host, now);
		rounds(1, 0.9, 0);
		assert_int_equal(w->decision.why == WHY_VAIN, w->waiting <= 0);
		if (i == 7) /* none does */
			w->waiting = 0;
	}
}

static bool untouched(void)
{
	return files_number(RATIO) == 0 && files_number(READAHEAD) == 128;
}

/* A mount that nobody uses, whatever its server says; it is hardly asked either. */
static void test_an_unused_mount_is_left_alone(void **state)
{
	struct watch *w = host.watches;
	uint64_t heard;

	count(1000, 1000, 5);
	for (unsigned int i = 0; i < 200; i++) {
		state_prices(i % 2 ? 0.9 : 0.01, i % 3 ? 1 : 0);
		now += 0.25;
		watch_round(&host, now);
		rounds(1, i % 2 ? 0.9 : 0.01, i % 3 ? 1 : 0);
		if (now > 1000 + DECIDE_UNUSED + 1) {
			assert_int_equal(w->decision.why, WHY_UNUSED);
			assert_true(untouched());
		}
	}
	heard = w->totals.replies;
	for (double end = now + 50; now < end; now += 0.25)
		rounds(1, 0.9, 1);
	assert_in_range(w->totals.replies - heard, 5, 12);
	assert_true(untouched());
	unlink(files_path("/proc/self/mountstats"));
}

static void test_ten_reads_make_a_question(void **state)
{
	struct watch *w = host.watches;
	uint64_t heard;

	count(1000, 1000, 5);
	watch_round(&host, now);
	rounds(40, 0.01, 0.01);
	assert_true(w->detector.believed);
	heard = w->totals.replies;
	for (unsigned int i = 1; i < 20; i++) { /* 20 READs a second */
		count(1000 * i, 1000, 5 + 10 * i);
		watch_round(&host, now += 0.5);
		rounds(1, 0.01, 0.01);
	}
	assert_in_range(w->totals.replies - heard, 15, 20);
	unlink(files_path("/proc/self/mountstats"));
}

static void test_prices_that_stand_still(void **state)
{
	struct watch *w = host.watches;

	host.settings.interval = 2;
	rounds(20, 0.6, 0.9);
	assert_false(untouched());
	rounds(60, 0.6, 0.9);
	assert_int_equal(w->decision.why, WHY_DOUBT);
	assert_true(untouched());
	rounds(8, 0.5, 0.9); /* it moves: it counts */
	assert_false(untouched());
	watch_release(&host, w);
}

/* 90 mounts that defer have one per cent each, and never a sum that the kernel would refuse. */
static void test_many_that_defer_share(void **state)
{
	struct settings s = settings_of("/mnt/n", NULL);
	char name[64];

	many_mounts(&s, 60);
	many_knobs(60, "min_ratio", "0");
	list(s);
	for (unsigned int i = 1; i <= 60; i++) {
		struct watch *w = &host.watches[i];
		int sum = 0;

		watch_look(&host, w, now);
		w->detector.believed = true;
		w->detector.prices.write = 0.9;
		w->answered = now;
		watch_act(&host, w, now);
		assert_int_equal(w->decision.way, WRITE_DEFER);
		for (unsigned int j = 0; j < 60; j++) {
			snprintf(name, sizeof(name), "/sys/class/bdi/0:%u/min_ratio", 100 + j);
			sum += files_number(name);
		}
		assert_in_range(sum, i, DEFER_RATIO_SUM);
	}
	for (unsigned int i = 1; i <= 60; i++)
		watch_release(&host, &host.watches[i]);
}

/* Two clients that were started together do not go on asking together. */
static void test_questions_come_at_moments_of_their_own(void **state)
{
	struct watch *w = host.watches;
	double least = 1, most = 0;

	host.settings.interval = 1;
	files_put("/proc/self/mountinfo", "\n");
	for (unsigned int i = 0; i < 100; i++) {
		watch_tick(&host, w, now);
		least = w->ask_at - now < least ? w->ask_at - now : least;
		most = w->ask_at - now > most ? w->ask_at - now : most;
		now = w->ask_at;
	}
	assert_true(least >= 1 - ASK_EARLY && least < 0.8 && most > 0.95 && most <= 1);
}

/* ------------------------------------------------------------------------------------------ */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(test_prices_turn_the_knobs),
		ON_A_MACHINE(test_a_new_mount_is_asked_while_the_old_one_hangs),
		ON_A_MACHINE(test_what_carries_no_prices_is_not_asked),
		ON_A_MACHINE(test_autofs_below_the_mount),
		ON_A_MACHINE(test_no_record_no_knob),
		ON_A_MACHINE(test_settings_change),
		ON_A_MACHINE(test_mounts_of_one_export),
		ON_A_MACHINE(test_knobs_that_cannot_be_turned),
		ON_A_MACHINE(test_readahead_is_a_page_at_least),
		ON_A_MACHINE(test_parts_of_a_percent),
		ON_A_MACHINE(test_what_is_shown),
		ON_A_MACHINE(test_a_name_is_one_line),
		ON_A_MACHINE(test_accelerate),
		ON_A_MACHINE(test_a_push_waits_for_a_place),
		ON_A_MACHINE(test_deferral_in_vain),
		ON_A_MACHINE(test_what_waited_goes_first),
		ON_A_MACHINE(test_an_unused_mount_is_left_alone),
		ON_A_MACHINE(test_ten_reads_make_a_question),
		ON_A_MACHINE(test_prices_that_stand_still),
		ON_A_MACHINE(test_many_that_defer_share),
		ON_A_MACHINE(test_questions_come_at_moments_of_their_own),
	};

	return cmocka_run_group_tests(tests, begin, files_end);
}
