/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The record in /run: written whole or not at all, and what is put back by it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "agent_files.h"
#include "state.h"

#define RATIO	  "/sys/class/bdi/0:47/min_ratio"
#define READAHEAD "/sys/class/bdi/0:47/read_ahead_kb"

static struct knob held(const char *name, uint64_t found, uint64_t ours)
{
	struct knob k;

	knob_init(&k, files_root, "%s", name);
	k.held = true;
	k.found = found;
	k.ours = ours;
	return k;
}

static int write_record(const struct knob *k, const struct knob *other)
{
	char text[512] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	state_head(out);
	state_knob(out, k);
	state_knob(out, other);
	fclose(out);
	return state_write(files_root, text);
}

static int knobs(void **state)
{
	files_put(RATIO, "50\n");
	files_put(READAHEAD, "16\n");
	return 0;
}

static void test_what_was_turned_is_put_back(void **state)
{
	struct knob ratio = held(RATIO, 0, 50), readahead = held(READAHEAD, 128, 16);

	assert_int_equal(write_record(&ratio, &readahead), 0);
	assert_int_equal(state_restore(files_root), 2);
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
	assert_int_equal(state_restore(files_root), 0); /* the record is gone */
}

static void test_being_turned(void **state)
{
	struct knob ratio = held(RATIO, 0, 0), readahead = held(READAHEAD, 128, 64);

	ratio.turning = readahead.turning = true; /* died in between: it may stand at anything */
	assert_int_equal(write_record(&ratio, &readahead), 0);
	assert_int_equal(state_restore(files_root), 2);
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
}

static void test_somebody_elses(void **state)
{
	struct knob ratio = held(RATIO, 0, 40), none = held(READAHEAD, 128, 16);

	none.held = false;
	assert_int_equal(write_record(&ratio, &none), 0);
	assert_int_equal(state_restore(files_root), 0);
	assert_int_equal(files_number(RATIO), 50);
	assert_int_equal(files_number(READAHEAD), 16);
	assert_non_null(strstr(files_said, "not put back: somebody else has turned it"));
}

static void test_a_mount_that_is_gone(void **state)
{
	struct knob ratio = held("/sys/class/bdi/0:99/min_ratio", 0, 50);
	struct knob unturned = held(READAHEAD, 16, 16);

	assert_int_equal(write_record(&ratio, &unturned), 0);
	assert_int_equal(state_restore(files_root), 0);
	assert_int_equal(files_number(READAHEAD), 16);
}

/* Of each file that is written. */
static void files_may_grow_to(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The text from before stays where a new one cannot be written. */
static void test_a_full_run(void **state)
{
	struct knob ratio = held(RATIO, 0, 50), readahead = held(READAHEAD, 128, 16);

	assert_int_equal(write_record(&ratio, &readahead), 0);
	files_may_grow_to(0);
	assert_int_equal(write_record(&ratio, &ratio), EFBIG); /* as ENOSPC */
	files_may_grow_to(RLIM_INFINITY);
	assert_int_equal(state_restore(files_root), 2);
	assert_int_equal(rename(files_path("/run"), "/tmp/ra-no-run"), 0);
	assert_int_equal(write_record(&ratio, &readahead), ENOENT);
	assert_int_equal(rename("/tmp/ra-no-run", files_path("/run")), 0);
}

static void files_may_be(rlim_t most)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = most;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* No file can be opened just now: the record stays for the next one who looks. */
static void test_a_record_that_cannot_be_read(void **state)
{
	struct knob ratio = held(RATIO, 0, 50), readahead = held(READAHEAD, 128, 16);
	struct rlimit before;

	getrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(write_record(&ratio, &readahead), 0);
	files_may_be(0);
	assert_true(state_restore(files_root) == STATE_UNREAD);
	files_may_be(before.rlim_cur);
	assert_int_equal(files_number(RATIO), 50);
	assert_int_equal(state_restore(files_root), 2);
	assert_int_equal(files_number(RATIO), 0);
	assert_false(state_stands(files_root));
}

/* What is being turned is added; the last line about a knob counts, and part of one says nothing. */
static void test_lines_are_added(void **state)
{
	struct knob ratio = held(RATIO, 0, 40), readahead = held(READAHEAD, 128, 16);
	char lines[256];

	assert_int_equal(state_add(files_root, "knob\n"), ENOENT); /* there is no text yet */
	assert_int_equal(write_record(&ratio, &readahead), 0);
	snprintf(lines, sizeof(lines), "knob %s" RATIO " found 0 set any\nknob %s" READAHEAD,
		 files_root, files_root);
	assert_int_equal(state_add(files_root, lines), 0);
	*files_said = '\0';
	assert_int_equal(state_restore(files_root), 2);
	assert_null(strstr(files_said, "somebody else"));
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
	assert_int_equal(symlink("/dev/full", files_path(STATE_FILE)), 0);
	assert_int_equal(state_add(files_root, lines), ENOSPC);
	state_remove(files_root);
}

/* Neither bytes that are no text nor a part of a line behind them hide the lines that are whole. */
static void test_damage_hides_no_line(void **state)
{
	struct knob ratio = held(RATIO, 0, 50), readahead = held(READAHEAD, 128, 16);
	FILE *out = fopen(files_path(STATE_FILE), "w");

	fwrite("?\0?\n", 1, 4, out);
	state_knob(out, &ratio);
	state_knob(out, &readahead);
	fprintf(out, "knob %s" RATIO " found 0 set\nknob %s" READAHEAD " found 1", files_root,
		files_root);
	fclose(out);
	assert_int_equal(state_restore(files_root), 2);
	assert_int_equal(files_number(RATIO), 0);
	assert_int_equal(files_number(READAHEAD), 128);
}

static void test_it_is_shown(void **state)
{
	struct knob ratio = held(RATIO, 0, 50);

	assert_false(state_print(files_root) || state_stands(files_root));
	assert_int_equal(write_record(&ratio, &ratio), 0);
	assert_true(state_print(files_root) && state_stands(files_root));
	state_remove(files_root);
	assert_false(state_print(files_root));
}

#define PROM "/x.prom"

/* Killed, and taken away: nobody would write its metrics any more, nor remove them. */
static void test_metrics_go(void **state)
{
	static const char *const kept[] = {"other 1\n", "", "# HELP ca_nfs"};
	char text[256] = "", prom[FILES_PATH];
	FILE *out = fmemopen(text, sizeof(text), "w");

	snprintf(prom, sizeof(prom), "%s", files_path(PROM));
	state_head(out);
	state_metrics(out, "");
	state_metrics(out, prom);
	fclose(out);
	assert_int_equal(state_write(files_root, text), 0);
	files_put(PROM, "# HELP ca_nfs_agent_mounted Whether\n");
	files_put(PROM ".new", "# HELP ca_n");
	assert_int_equal(state_restore(files_root), 0);
	assert_true(access(prom, F_OK) != 0 && access(files_path(PROM ".new"), F_OK) != 0);
	for (unsigned int i = 0; i < 3; i++) { /* somebody else's */
		assert_int_equal(state_write(files_root, text), 0);
		files_put(PROM, "%s", kept[i]);
		files_put(PROM ".new", "%s", "other 1\n");
		state_restore(files_root);
		assert_true(access(prom, F_OK) == 0 && access(files_path(PROM ".new"), F_OK) == 0);
	}
	files_put(PROM, "# HELP ca_nfs_agent_mounted Whether\n");
	files_put("/proc/self/mountinfo", "20 1 0:60 / / rw - nfs s:/root rw,vers=3\n");
	assert_int_equal(state_write(files_root, text), 0);
	state_restore(files_root); /* it is not touched where that might hang */
	assert_int_equal(access(prom, F_OK), 0);
	unlink(files_path("/proc/self/mountinfo"));
	text[strlen(text) - 1] = '\0'; /* cut off: perhaps another's name */
	assert_int_equal(state_write(files_root, text), 0);
	state_restore(files_root);
	assert_int_equal(access(prom, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_what_was_turned_is_put_back, knobs),
		cmocka_unit_test_setup(test_being_turned, knobs),
		cmocka_unit_test_setup(test_lines_are_added, knobs),
		cmocka_unit_test_setup(test_damage_hides_no_line, knobs),
		cmocka_unit_test_setup(test_somebody_elses, knobs),
		cmocka_unit_test_setup(test_a_mount_that_is_gone, knobs),
		cmocka_unit_test_setup(test_a_full_run, knobs),
		cmocka_unit_test_setup(test_a_record_that_cannot_be_read, knobs),
		cmocka_unit_test_setup(test_it_is_shown, knobs),
		cmocka_unit_test(test_metrics_go),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
