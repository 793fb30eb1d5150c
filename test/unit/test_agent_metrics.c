/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The agent's metrics as Prometheus reads them, files that are replaced whole, and the live view. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <errno.h>
#include <string.h>

#include "agent_files.h"
#include "history.h"
#include "live.h"
#include "metrics.h"
#include "state.h"
#include "whole_file.h"

static struct watch_host host;
static char text[32768];

/* Two mounts: one believed whose writes are deferred since 10 s, one that is not there. */
static int machine(void **state)
{
	struct watch *w = host.watches;

	host = (struct watch_host){
		.settings = {.mount_count = 2, .answer = 10, .root = files_root}};
	machine_init(&host.machine, files_root, 0, false);
	host.machine.dirty = 0.25;
	w->path = "/mnt/a \"b\"\\c";
	w->mount = (struct mount){.kind = MOUNT_NFS3, .device = "0:47"};
	w->detector.believed = true;
	w->detector.prices = (struct fsstat_prices){0.5, 0.125, 1};
	w->decision = (struct decision){.way = WRITE_DEFER, .readahead = 64, .ours = 0.0625};
	w->totals =
		(struct watch_totals){.replies = 9, .deferrals = 2, .pushes = 3, .deferred = 12.5};
	w->answered = 100;
	host.watches[1].path = "/mnt/none";
	return 0;
}

static void print(double now)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	memset(text, 0, sizeof(text));
	metrics_print(&host, now, out);
	fclose(out);
}

static bool has(const char *line)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	return strstr(text, whole) != NULL;
}

#define A "{mount=\"/mnt/a \\\"b\\\"\\\\c\"} "
#define N "{mount=\"/mnt/none\"} "

static void test_all_of_a_mount(void **state)
{
	print(101);
	assert_true(has("ca_nfs_agent_mounted" N "0"));
	assert_true(has("ca_nfs_agent_priced" A "1"));
	assert_true(has("ca_nfs_agent_write_price" A "0.5"));
	assert_true(has("ca_nfs_agent_readahead_price" A "0.125"));
	assert_true(has("ca_nfs_agent_own_price" A "0.0625"));
	assert_true(has("ca_nfs_agent_writes{mount=\"/mnt/a \\\"b\\\"\\\\c\",way=\"defer\"} 1"));
	assert_true(has("ca_nfs_agent_writes{mount=\"/mnt/none\",way=\"normal\"} 1"));
	assert_true(has("ca_nfs_agent_readahead_bytes" A "65536"));
	assert_true(has("ca_nfs_agent_deferred_seconds_total" A "12.5"));
	assert_true(has("ca_nfs_agent_deferrals_total" A "2"));
	assert_true(has("ca_nfs_agent_syncfs_total" A "3"));
	assert_true(has("ca_nfs_agent_replies_total" A "9"));
	assert_true(has("ca_nfs_agent_dirty_ratio 0.25"));
	assert_true(has("ca_nfs_agent_weight" A "1"));
	assert_true(has("ca_nfs_agent_halted_groups 0"));
	assert_true(has("ca_nfs_agent_kept_groups 0"));
}

static void test_what_the_kernel_counts(void **state)
{
	host.watches[0].path = "/mnt/a";
	files_put("/proc/self/mountstats",
		  "device s:/e mounted on /mnt/a with fstype nfs statvers=1.1\n"
		  "\tbytes:\t100 20 3 4 50 60 7 8\n\t  READ: 5 5\n\t  WRITE: 6 6\n");
	watch_use_look(&host, 101);
	print(101);
	assert_true(has("ca_nfs_agent_programs_read_bytes_total{mount=\"/mnt/a\"} 103"));
	assert_true(has("ca_nfs_agent_programs_written_bytes_total{mount=\"/mnt/a\"} 24"));
	assert_true(has("ca_nfs_agent_server_read_bytes_total{mount=\"/mnt/a\"} 50"));
	assert_true(has("ca_nfs_agent_server_written_bytes_total{mount=\"/mnt/a\"} 60"));
	assert_true(has("ca_nfs_agent_reads_total{mount=\"/mnt/a\"} 5"));
	assert_true(has("ca_nfs_agent_writes_total{mount=\"/mnt/a\"} 6"));
	assert_null(strstr(text, "ca_nfs_agent_reads_total" N));
	unlink(files_path("/proc/self/mountstats"));
	watch_use_look(&host, 102);
	print(101);
	assert_null(strstr(text, "ca_nfs_agent_reads_total{"));
}

static void test_what_there_is_not_is_left_out(void **state)
{
	print(111); /* no answer for longer than counts */
	assert_true(has("ca_nfs_agent_priced" A "0"));
	assert_null(strstr(text, "ca_nfs_agent_write_price{"));
	assert_null(strstr(text, "ca_nfs_agent_readahead_bytes" N));
	assert_true(has("ca_nfs_agent_deferred_bytes" N "0"));
}

/* One name that is no UTF-8 would make Prometheus refuse all of them. */
static void test_names_that_are_no_utf8(void **state)
{
	host.watches[0].path = "/mnt/\303\244\xff\n\303";
	print(101);
	assert_true(has("ca_nfs_agent_weight{mount=\"/mnt/\303\244\\\\377\\n\\\\303\"} 1"));
}

/* Each name once in HELP and TYPE, and its lines together; counters end in _total. */
static void test_the_format(void **state)
{
	char seen[64][64], *rest = text, *line, name[64], type[16];
	unsigned int count = 0;

	print(101);
	while ((line = strsep(&rest, "\n")) && *line) {
		if (strncmp(line, "# HELP ", 7) == 0)
			continue;
		if (sscanf(line, "# TYPE %63s %15s", name, type) == 2) {
			for (unsigned int i = 0; i < count; i++)
				assert_string_not_equal(seen[i], name);
			strcpy(seen[count++], name);
			assert_int_equal(strcmp(type, "counter") == 0,
					 strcmp(name + strlen(name) - 6, "_total") == 0);
			continue;
		}
		assert_int_equal(strncmp(line, seen[count - 1], strlen(seen[count - 1])), 0);
		assert_non_null(strchr(" {", line[strlen(seen[count - 1])]));
	}
	assert_in_range(count, 20, 64);
}

static void test_the_file(void **state)
{
	struct stat found;
	char path[FILES_PATH];

	snprintf(path, sizeof(path), "%s", files_path("/agent.prom"));
	umask(0077);
	assert_int_equal(metrics_write(&host, 101, path), 0);
	umask(0022);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0644); /* the exporter is somebody else */
	print(101);
	assert_int_equal(found.st_size, strlen(text));
	assert_int_equal(access(files_path("/agent.prom.new"), F_OK), -1);
	assert_int_equal(metrics_write(&host, 101, files_path("/nowhere/x.prom")), ENOENT);
	files_put("/proc/self/mountinfo", "20 1 0:60 / / rw - nfs s:/root rw,vers=3\n");
	assert_int_equal(metrics_write(&host, 201, path), EREMOTE); /* it might hang */
	mount_table_free(&host.mounts);
}

static void test_a_file_that_cannot_be_replaced_stays(void **state)
{
	files_put("/whole", "7\n");
	assert_int_equal(mkdir(files_path("/whole.new"), 0700), 0);
	assert_int_equal(whole_file_write(files_path("/whole"), "8\n", 0), EISDIR);
	assert_int_equal(files_number("/whole"), 7);
	rmdir(files_path("/whole.new"));
	assert_int_equal(whole_file_write(files_path("/whole"), "8\n", 0), 0);
	assert_int_equal(files_number("/whole"), 8);
}

/* Who may write to the directory, and is not root, cannot have another file written, or the agent wait. */
static void test_what_others_put_in_the_way(void **state)
{
	struct stat found;

	files_put("/whole", "7\n");
	files_put("/another", "1\n");
	assert_int_equal(symlink("another", files_path("/whole.new")), 0);
	assert_int_equal(whole_file_write(files_path("/whole"), "8\n", 1), 0);
	assert_int_equal(files_number("/another"), 1);
	assert_int_equal(files_number("/whole"), 8);
	assert_int_equal(mkfifo(files_path("/whole.new"), 0600), 0);
	alarm(10);
	assert_int_equal(whole_file_write(files_path("/whole"), "9\n", 1), 0);
	alarm(0);
	assert_int_equal(lstat(files_path("/whole"), &found), 0);
	assert_true(S_ISREG(found.st_mode));
	assert_int_equal(files_number("/whole"), 9);
}

static void print_history(const struct history *h, unsigned int most, char *into, size_t size)
{
	char record[HISTORY_MAX * (HISTORY_TEXT + 16)] = "agent 7\n";
	FILE *out = fmemopen(record + 8, sizeof(record) - 8, "w");

	history_print(h, out);
	fclose(out);
	strcat(record, "knob x\n");
	memset(into, 0, size);
	out = fmemopen(into, size, "w");
	history_show(record, most, out);
	fputs("--\n", out);
	history_leave_out(record, out);
	fclose(out);
}

static void test_decisions_are_remembered(void **state)
{
	static struct history h;

	print_history(&h, 5, text, sizeof(text));
	assert_string_equal(text, "--\nagent 7\nknob x\n");
	for (unsigned int i = 0; i < HISTORY_MAX + 3; i++)
		history_add(&h, "/mnt/%u: a\nb", i);
	print_history(&h, HISTORY_MAX, text, sizeof(text));
	assert_null(strstr(text, "/mnt/2:"));
	assert_non_null(strstr(text, " /mnt/3: a b\n"));
	assert_non_null(strstr(text, " /mnt/34: a b\n--\nagent 7\nknob x\n"));
	print_history(&h, 2, text, sizeof(text));
	assert_null(strstr(text, "/mnt/32:"));
	assert_non_null(strstr(text, "/mnt/33:"));
}

static void watch_once(int terminal)
{
	FILE *out = fmemopen(text, sizeof(text), "w");

	memset(text, 0, sizeof(text));
	live_watch(files_root, 1, terminal, out);
	fclose(out);
}

static void test_the_live_view(void **state)
{
	files_put("/run/ca-nfs-agent.lock", "%s", "");
	watch_once(0);
	assert_non_null(strstr(text, "\nno agent is running\n"));
	assert_null(strchr(text, '\033'));
	watch_once(1);
	assert_int_equal(text[0], '\033');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_of_a_mount, machine),
		cmocka_unit_test_setup(test_what_the_kernel_counts, machine),
		cmocka_unit_test_setup(test_what_there_is_not_is_left_out, machine),
		cmocka_unit_test_setup(test_names_that_are_no_utf8, machine),
		cmocka_unit_test_setup(test_the_format, machine),
		cmocka_unit_test_setup(test_the_file, machine),
		cmocka_unit_test(test_a_file_that_cannot_be_replaced_stays),
		cmocka_unit_test(test_what_others_put_in_the_way),
		cmocka_unit_test(test_decisions_are_remembered),
		cmocka_unit_test(test_the_live_view),
	};

	return cmocka_run_group_tests(tests, files_begin, files_end);
}
