/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where what is learnt is kept hangs: who asks goes on, and the thread goes on when the file system does. */
#include "disk_host.h"

#include <sys/wait.h>

#include "disk/learnt_file.h"
#include "disk/learnt_table.h"
#include "disk/learnt_thread.h"
#include "faults.h"

#define DEV makedev(250, 1)

static _Atomic uint64_t devices;
static char sysfs[96], dir[96];
static atomic_bool hangs;

/* The file of what was learnt is looked at before it is read. */
static void hang(int fd)
{
	(void)fd;
	if (atomic_exchange(&hangs, false))
		pause_here();
}

static void kernel_says(const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/250:1/%s", sysfs, file);
	host_write_text(path, text);
}

/* A disk, and a file that says it costs 9 ms to seek on it. */
static void a_disk_of_before(void)
{
	struct learnt l = {.saved = (uint64_t)time(NULL), .queue = {.seek_ns = 9e6}};
	char path[256];

	mkdir(sysfs, 0700);
	snprintf(path, sizeof(path), "%s/250:1", sysfs);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/250:1/queue", sysfs);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/250:1/device", sysfs);
	mkdir(path, 0700);
	kernel_says("queue/rotational", "1\n");
	kernel_says("size", "4096\n");
	kernel_says("device/wwid", "naa.1\n");
	assert_true(device_identity(sysfs, dir, DEV, &l.id));
	assert_int_equal(learnt_write(dir, &l), 0);
}

static void begin(void)
{
	struct export_settings s = host_settings(0);
	int err = 0;

	device_start(&host_dispatcher_ops, sysfs);
	learnt_start(dir, dir);
	assert_non_null(device_use(DEV, &s.device, &devices, &err));
	assert_int_equal(learnt_thread_start(NULL), 0);
}

static double seek(void)
{
	struct dispatcher_learnt l;

	dispatcher_learnt(&device_nth(0)->dispatcher, &l);
	return l.seek_ns;
}

static int setup(void **state)
{
	host_make_dir();
	snprintf(sysfs, sizeof(sysfs), "%s/sys", host_dir);
	snprintf(dir, sizeof(dir), "%s/state", host_dir);
	host_log[0] = '\0';
	log_set_writer(host_log_write);
	atomic_store(&devices, 0);
	a_disk_of_before();
	on_fstat = hang;
	pause_reset();
	return 0;
}

static int teardown(void **state)
{
	device_stop_all();
	log_set_writer(NULL);
	on_fstat = NULL;
	host_remove_dir();
	return 0;
}

static void test_known_before_the_first_read(void **state)
{
	begin();
	assert_true(learnt_thread_wait(UINT64_MAX / 4));
	assert_true(seek() > 8e6);
	assert_true(learnt_thread_stop(UINT64_MAX / 4));
}

static void test_a_hanging_file_holds_up_nobody(void **state)
{
	char name[DEVICE_IDENTITY_MAX];
	bool restored;

	atomic_store(&hangs, true);
	begin();
	learnt_thread_ask();
	pause_wait();
	assert_false(learnt_thread_wait(1));
	assert_true(learnt_identity(0, name, &restored) && !restored);
	assert_string_equal(name, "naa.1");
	assert_true(seek() == 0);
	pause_end();
	assert_true(learnt_thread_wait(UINT64_MAX / 4));
	assert_true(learnt_identity(0, name, &restored) && restored);
	assert_true(seek() > 8e6);
	assert_true(learnt_thread_stop(UINT64_MAX / 4));
}

/* The server ends: its devices are gone when the file answers. */
static void test_left_to_it(void **state)
{
	atomic_store(&hangs, true);
	begin();
	learnt_thread_ask();
	pause_wait();
	assert_false(learnt_thread_stop(1));
	device_stop_all();
	pause_end();
	learnt_look(0, 0, true); /* none is left; waits for the mutex */
	assert_null(strstr(host_log, "learnt before"));
}

/* What a seek costs by the file; ns. */
static double kept(void)
{
	struct learnt l = {.saved = 0};
	struct device_identity id;

	assert_true(device_identity(sysfs, dir, DEV, &id));
	assert_null(learnt_read(dir, &id, (uint64_t)time(NULL), &l));
	return l.queue.seek_ns;
}

/* The file answers while the devices go: the look that was asked for last begins no more, by whomever. */
static void test_left_while_devices_go(void **state)
{
	const struct dispatcher_learnt anew = {.seek_ns = 20e6};
	uint64_t until;

	atomic_store(&hangs, true);
	begin();
	learnt_thread_ask();
	pause_wait();
	dispatcher_restore(&device_nth(0)->dispatcher, &anew);
	assert_false(learnt_thread_stop(1));
	pause_end();
	for (until = clock_now() + SEC / 2; clock_now() < until && kept() < 10e6;)
		sched_yield(); /* the thread has no end that can be waited for */
	assert_true(kept() < 10e6);
	learnt_look(clock_now(), (uint64_t)time(NULL), true);
	assert_true(kept() < 10e6);
	assert_null(strstr(host_log, "learnt before"));
}

static void test_no_thread(void **state)
{
	struct export_settings s = host_settings(0);
	int err = 0;

	device_start(&host_dispatcher_ops, sysfs);
	learnt_start(dir, dir);
	assert_non_null(device_use(DEV, &s.device, &devices, &err));
	fail_pthread_create = 1;
	assert_int_equal(learnt_thread_start(NULL), EAGAIN);
	learnt_thread_ask();
	assert_true(learnt_thread_wait(1));
	assert_true(learnt_thread_stop(1));
}

/* A thread that was left to its file stays for the rest of the process: who leaves one has one for itself. */
static int run_alone(const struct CMUnitTest *test)
{
	const struct CMUnitTest tests[] = {*test};
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		exit(cmocka_run_group_tests(tests, NULL, NULL));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(void)
{
	const struct CMUnitTest alone[] = {
		cmocka_unit_test_setup_teardown(test_left_to_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_while_devices_go, setup, teardown),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_known_before_the_first_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_hanging_file_holds_up_nobody, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_thread, setup, teardown),
	};

	return run_alone(&alone[0]) + run_alone(&alone[1]) +
	       cmocka_run_group_tests(tests, NULL, NULL);
}
