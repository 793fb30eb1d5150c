/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is learnt of devices, kept over a restart: the text and its check, files that are damaged, foreign, old or
 * cannot be written, disks by their serials, and a table of devices that is ended and begun again.
 */
#include "disk_host.h"

#include <inttypes.h>
#include <utime.h>

#include "disk/device_identity.h"
#include "disk/learnt_file.h"
#include "disk/learnt_table.h"

#define DEV  makedev(250, 1)
#define WALL UINT64_C(1800000000)

static _Atomic uint64_t devices;
static char sysfs[96], dir[96], by_uuid[96];

/* ---- a machine --------------------------------------------------------------------------- */

/* Writes TEXT into the file of DEV's directory in sysfs. */
static void kernel_says(dev_t dev, const char *file, const char *text)
{
	char path[256], *slash;

	snprintf(path, sizeof(path), "%s/%u:%u/%s", sysfs, major(dev), minor(dev), file);
	for (slash = path + strlen(host_dir) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	host_write_text(path, text);
}

static void a_disk(const char *serial, const char *size)
{
	kernel_says(DEV, "queue/rotational", "1\n");
	kernel_says(DEV, "size", size);
	kernel_says(DEV, "device/wwid", serial);
}

static struct device *use(dev_t dev)
{
	struct export_settings s = host_settings(0);
	int err = 0;
	struct device *d = device_use(dev, &s.device, &devices, &err);

	assert_non_null(d);
	return d;
}

/* Begins the table, as a server does. */
static struct device *begin(uint64_t now)
{
	struct device *d;

	device_start(&host_dispatcher_ops, sysfs);
	learnt_start(dir, by_uuid);
	atomic_store(&devices, 0);
	d = use(DEV);
	learnt_look(now, WALL, false);
	return d;
}

static void end(uint64_t now)
{
	learnt_look(now, WALL, true);
	device_stop_all();
}

/* The medium brings 100 MB/s, a seek costs 9 ms. */
static void work(struct device *d, double factor)
{
	for (uint64_t i = 0; i < 16; i++)
		host_observe(d, i * MIB, MIB, (uint64_t)(10 * MSEC * factor));
	for (uint64_t i = 1; i < 40; i++)
		host_observe(d, i * 1000 * MIB, 4 * KIB, (uint64_t)(9 * MSEC * factor));
}

static struct dispatcher_learnt known(struct device *d)
{
	struct dispatcher_learnt l;

	dispatcher_learnt(&d->dispatcher, &l);
	return l;
}

static int setup(void **state)
{
	host_make_dir();
	snprintf(sysfs, sizeof(sysfs), "%s/sys", host_dir);
	snprintf(dir, sizeof(dir), "%s/state/ra", host_dir);
	snprintf(by_uuid, sizeof(by_uuid), "%s/uuid", host_dir);
	mkdir(sysfs, 0700);
	host_log[0] = '\0';
	host_log_lines = 0;
	log_set_writer(host_log_write);
	return 0;
}

static int teardown(void **state)
{
	device_stop_all();
	log_set_writer(NULL);
	host_remove_dir();
	return 0;
}

/* ---- the text ---------------------------------------------------------------------------- */

static struct learnt sample(void)
{
	struct learnt l = {
		.id = {.bytes = 1000, .rotating = true},
		.saved = WALL,
		.queue = {.seek_ns = 9e6,
			  .ns_per_byte = 8.125,
			  .decided = true,
			  .together = true,
			  .read_ns = {9e6, 4e6}},
		.seeks_free = false,
		.returns = 3,
	};

	snprintf(l.id.name, sizeof(l.id.name), "naa.5000");
	return l;
}

static void test_text_and_back(void **state)
{
	struct learnt l = sample(), back;
	char text[LEARNT_TEXT];
	size_t n = learnt_print(&l, text, sizeof(text));

	assert_in_range(n, 100, LEARNT_TEXT - 1);
	assert_null(learnt_parse(&back, text, n));
	assert_string_equal(back.id.name, "naa.5000");
	assert_true(back.queue.seek_ns == 9e6 && back.queue.ns_per_byte == 8.125);
	assert_true(back.queue.decided && back.queue.together && !back.seeks_free);
	assert_int_equal(back.returns, 3);
	assert_false(learnt_differs(&l, &back) || learnt_contradicts(&l, &back));
	assert_int_equal(learnt_print(&l, text, 60), 0);
}

/* No byte may be another, none may be missing or too many. */
static void test_any_damage_is_seen(void **state)
{
	struct learnt l = sample(), back;
	char text[LEARNT_TEXT], copy[LEARNT_TEXT];
	size_t n = learnt_print(&l, text, sizeof(text));

	for (size_t i = 0; i < n; i++) {
		memcpy(copy, text, n + 1);
		copy[i] = (char)(copy[i] ^ 1);
		assert_non_null(learnt_parse(&back, copy, n));
		memcpy(copy, text, i);
		copy[i] = '\0';
		assert_non_null(learnt_parse(&back, copy, i));
	}
	memcpy(copy, text, n);
	memcpy(copy + n, "x 1\n", 5);
	assert_non_null(learnt_parse(&back, copy, n + 4));
}

/* Writes TO in the place of FROM into TEXT, whose check is right again; returns its length. */
static size_t forge(char *text, const char *from, const char *to)
{
	char rest[LEARNT_TEXT], *at = strstr(text, from);
	uint64_t h = UINT64_C(14695981039346656037);

	assert_non_null(at);
	snprintf(rest, sizeof(rest), "%s", at + strlen(from));
	snprintf(at, LEARNT_TEXT - (size_t)(at - text), "%s%s", to, rest);
	at = strstr(text, "check ");
	for (const char *c = text; c < at; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
	snprintf(at, LEARNT_TEXT - (size_t)(at - text), "check %016" PRIx64 "\n", h);
	return strlen(text);
}

static void test_other_versions_and_values(void **state)
{
	struct learnt l = sample(), back;
	char text[LEARNT_TEXT];
	size_t n;

	n = learnt_print(&l, text, sizeof(text));
	assert_int_equal(forge(text, "seek_ns 9000000\n", "seek_ns 9000000\n"), n);
	assert_null(learnt_parse(&back, text, n));
	/* no device takes so long */
	n = forge(text, "seek_ns 9000000\n", "seek_ns 1000000000000\n");
	assert_non_null(strstr(learnt_parse(&back, text, n), "range"));
	assert_non_null(strstr(learnt_parse(&back, "nfs-ganesha-ra learnt 2\n", 24), "version"));
	assert_non_null(strstr(learnt_parse(&back, "what?", 5), "none of ours"));
}

/* Whatever it says of a disk that hung, what else is known of it is not lost with it. */
static void test_what_is_written_can_be_read(void **state)
{
	struct learnt l = sample(), back;
	char text[LEARNT_TEXT];

	l.queue.seek_ns = 2e10;
	l.queue.ns_per_byte = 1e9;
	l.queue.read_ns[0] = l.queue.read_ns[1] = 1e15;
	l.returns = UINT32_MAX;
	assert_null(learnt_parse(&back, text, learnt_print(&l, text, sizeof(text))));
	assert_true(back.queue.seek_ns == 1e10 && back.queue.ns_per_byte == 1e5);
	assert_string_equal(back.id.name, "naa.5000");
}

static void test_what_it_is_worth(void **state)
{
	struct learnt l = sample(), other = sample();
	struct device_identity id = l.id;

	assert_null(learnt_judge(&l, &id, WALL));
	assert_non_null(strstr(learnt_judge(&l, &id, WALL - 2 * 86400), "future"));
	assert_non_null(strstr(learnt_judge(&l, &id, WALL + 366 * UINT64_C(86400)), "year"));
	id.bytes++;
	assert_non_null(strstr(learnt_judge(&l, &id, WALL), "another size"));
	id.name[0] = 'x';
	assert_non_null(strstr(learnt_judge(&l, &id, WALL), "another disk"));
	other.queue.seek_ns *= 1.2;
	assert_false(learnt_differs(&l, &other));
	other.queue.seek_ns *= 2;
	assert_true(learnt_differs(&l, &other));
	assert_false(learnt_contradicts(&l, &other));
	other.queue.seek_ns *= 2;
	assert_true(learnt_contradicts(&l, &other));
	other = (struct learnt){.saved = WALL};
	assert_true(learnt_differs(&l, &other));
	assert_false(learnt_contradicts(&l, &other));
	assert_false(learnt_is_something(&other));
}

/* ---- files ------------------------------------------------------------------------------- */

static void path_of(const struct learnt *l, char path[256])
{
	char name[LEARNT_NAME];

	learnt_name(&l->id, name);
	snprintf(path, 256, "%s/%s", dir, name);
}

static void test_files(void **state)
{
	struct learnt l = sample(), back;
	char path[256], other[300];

	assert_string_equal(learnt_read(dir, &l.id, WALL, &back), ""); /* not even the directory */
	assert_int_equal(learnt_write(dir, &l), 0);
	assert_null(learnt_read(dir, &l.id, WALL, &back));
	path_of(&l, path);
	snprintf(other, sizeof(other), "%s.new", path);
	assert_int_equal(access(other, F_OK), -1);
	assert_int_equal(chmod(path, 0666), 0);
	assert_non_null(strstr(learnt_read(dir, &l.id, WALL, &back), "others"));
	assert_int_equal(learnt_write(dir, &l), 0); /* a new one */
	host_write_text(path, "nonsense\n");
	assert_non_null(strstr(learnt_read(dir, &l.id, WALL, &back), "none of ours"));
	snprintf(other, sizeof(other), "%s/elsewhere", host_dir);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_non_null(learnt_read(dir, &l.id, WALL, &back));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_non_null(learnt_read(dir, &l.id, WALL, &back));
}

static void test_what_cannot_be_written(void **state)
{
	struct learnt l = sample();
	char file[128];

	snprintf(file, sizeof(file), "%s/file", host_dir);
	host_write_text(file, "");
	assert_int_equal(learnt_write(file, &l), ENOTDIR);
	strcat(file, "/below");
	assert_int_equal(learnt_write(file, &l), ENOTDIR);
}

/* A year of disks that come and go fills nothing. */
static void test_files_are_bounded(void **state)
{
	struct learnt l = sample();
	struct utimbuf old = {.actime = 1000, .modtime = 1000};
	char path[256], command[256];
	FILE *f;
	int n = 0;

	for (unsigned int i = 0; i < LEARNT_FILES_MAX; i++) {
		snprintf(l.id.name, sizeof(l.id.name), "disk%u", i);
		assert_int_equal(learnt_write(dir, &l), 0);
		path_of(&l, path);
		if (i == 7)
			assert_int_equal(utime(path, &old), 0);
	}
	snprintf(l.id.name, sizeof(l.id.name), "disk7");
	path_of(&l, path);
	snprintf(l.id.name, sizeof(l.id.name), "one more");
	assert_int_equal(learnt_write(dir, &l), 0);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(command, sizeof(command), "ls '%s' | wc -l", dir);
	f = popen(command, "r");
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	assert_int_equal(n, LEARNT_FILES_MAX);
}

/* ---- who a disk is ----------------------------------------------------------------------- */

static void test_identities(void **state)
{
	struct device_identity id;
	char path[256];

	assert_false(device_identity(sysfs, by_uuid, DEV, &id));
	a_disk("t10.ATA     WDC WD10  WD-123  \n", "4096\n");
	assert_true(device_identity(sysfs, by_uuid, DEV, &id));
	assert_string_equal(id.name, "t10.ATA_WDC_WD10_WD-123");
	assert_true(id.bytes == 4096 * 512 && id.rotating);
	assert_true(device_has_serial(sysfs, DEV, "wd-123"));
	assert_true(device_has_serial(sysfs, DEV, "t10.ATA_WDC_WD10_WD-123"));
	assert_false(device_has_serial(sysfs, DEV, "123"));
	kernel_says(DEV, "device/vpd_pg80", "HEADS3Z0\n");
	assert_true(device_has_serial(sysfs, DEV, "S3Z0"));
	/* a part of a disk, of which sysfs has a link into the disk's directory */
	kernel_says(DEV, "sda1/partition", "1\n");
	kernel_says(DEV, "sda1/size", "8\n");
	snprintf(path, sizeof(path), "%s/250:2", sysfs);
	assert_int_equal(symlink("250:1/sda1", path), 0);
	assert_true(device_identity(sysfs, by_uuid, makedev(250, 2), &id));
	assert_string_equal(id.name, "t10.ATA_WDC_WD10_WD-123-part1");
	assert_int_equal(id.bytes, 8 * 512);
	assert_true(device_has_serial(sysfs, makedev(250, 2), "WD-123"));
}

/* ---- the table --------------------------------------------------------------------------- */

static void test_kept_over_a_restart(void **state)
{
	struct device *d;
	char name[DEVICE_IDENTITY_MAX];
	bool restored;

	a_disk("naa.1\n", "4096\n");
	d = begin(0);
	assert_true(known(d).seek_ns == 0);
	assert_true(learnt_identity(0, name, &restored) && !restored);
	assert_string_equal(name, "naa.1");
	work(d, 1);
	end(SEC);
	host_log[0] = '\0';
	d = begin(0);
	assert_true(known(d).seek_ns > 8e6 && known(d).ns_per_byte > 9);
	assert_non_null(strstr(host_log, "is naa.1, learnt before, a seek costs"));
	assert_true(learnt_identity(0, name, &restored) && restored);
	assert_false(learnt_identity(1, name, &restored));
}

static void test_seeks_that_are_free_stay_free(void **state)
{
	struct device *d;

	a_disk("naa.2\n", "4096\n");
	d = begin(0);
	assert_true(device_queues_demand(d));
	for (uint64_t i = 1; i < 100; i++)
		host_observe(d, i * 100 * MIB, 4 * KIB, 10000);
	assert_false(device_queues_demand(d));
	end(SEC);
	d = begin(0);
	assert_false(device_queues_demand(d));
	for (uint64_t i = 1; i < 100; i++) /* and that is unlearnt as ever */
		host_observe(d, i * 100 * MIB, 4 * KIB, 60 * MSEC);
	assert_true(device_queues_demand(d));
}

/* At once when something is known, then every ten minutes, and only what is worth it. */
static void test_written_rarely(void **state)
{
	struct learnt l = {.saved = 0};
	struct device_identity id;
	struct device *d;
	uint64_t now = SEC;

	a_disk("naa.3\n", "4096\n");
	d = begin(now);
	assert_true(device_identity(sysfs, by_uuid, DEV, &id));
	work(d, 1);
	learnt_look(now + SEC, WALL, false); /* looked at a second ago */
	assert_string_equal(learnt_read(dir, &id, WALL, &l), "");
	now += LEARNT_LOOK;
	learnt_look(now, WALL, false);
	assert_null(learnt_read(dir, &id, WALL, &l));
	work(d, 2);
	learnt_look(now + LEARNT_LOOK, WALL + 1, false);
	assert_null(learnt_read(dir, &id, WALL, &l));
	assert_int_equal(l.saved, WALL);
	learnt_look(now + LEARNT_WRITE, WALL + 2, false);
	assert_null(learnt_read(dir, &id, WALL, &l));
	assert_int_equal(l.saved, WALL + 2);
	learnt_look(now + 3 * LEARNT_WRITE, WALL + 3, true); /* nothing new */
	assert_null(learnt_read(dir, &id, WALL, &l));
	assert_int_equal(l.saved, WALL + 2);
}

/* It starts as without: one line, and no more. */
static void test_damaged_and_unwritable(void **state)
{
	struct learnt l = {.saved = 0};
	char path[256];
	struct device *d;

	a_disk("naa.4\n", "4096\n");
	snprintf(l.id.name, sizeof(l.id.name), "naa.4");
	assert_int_equal(learnt_write(dir, &l), 0);
	path_of(&l, path);
	host_write_text(path, "nfs-ganesha-ra learnt 1\ncheck 0\n");
	d = begin(0);
	assert_non_null(strstr(host_log, "is not used: it is damaged"));
	assert_true(known(d).seek_ns == 0);
	device_stop_all();
	snprintf(dir, sizeof(dir), "%s/sys/250:1/size/no", host_dir); /* below a file */
	d = begin(0);
	work(d, 1);
	host_log_lines = 0;
	learnt_look(LEARNT_LOOK, WALL, false);
	assert_non_null(strstr(host_log, "is not kept: "));
	learnt_look(2 * LEARNT_LOOK, WALL, true);
	learnt_look(3 * LEARNT_LOOK, WALL, true);
	assert_int_equal(host_log_lines, 1);
}

static void test_another_disk_in_its_place(void **state)
{
	struct device *d;

	a_disk("naa.5\n", "4096\n");
	d = begin(0);
	work(d, 1);
	learnt_look(LEARNT_LOOK, WALL, false);
	a_disk("naa.6\n", "4096\n");
	learnt_look(2 * LEARNT_LOOK, WALL, false);
	assert_non_null(strstr(host_log, "is another disk now, naa.6, was naa.5"));
	assert_true(known(d).seek_ns == 0 && known(d).ns_per_byte == 0);
	a_disk("naa.5\n", "4096\n");
	learnt_look(3 * LEARNT_LOOK, WALL, false);
	assert_true(known(d).seek_ns > 8e6);
	device_stop_all();
	a_disk("naa.5\n", "8192\n"); /* it has grown: a RAID with another member */
	d = begin(0);
	assert_non_null(strstr(host_log, "another size"));
	assert_true(known(d).seek_ns == 0);
}

static void test_a_disk_that_changed(void **state)
{
	struct device *d;

	a_disk("naa.7\n", "4096\n");
	d = begin(0);
	work(d, 1);
	end(SEC);
	d = begin(0);
	for (int i = 0; i < 20; i++)
		work(d, 5);
	learnt_look(LEARNT_LOOK, WALL, false);
	assert_non_null(strstr(host_log, "is not as it was: a seek costs"));
	host_log[0] = '\0';
	learnt_look(2 * LEARNT_LOOK, WALL, false);
	assert_null(strstr(host_log, "not as it was")); /* said once */
}

static void test_nothing_is_kept(void **state)
{
	struct learnt l;
	struct device_identity id;
	struct device *d;

	a_disk("naa.8\n", "4096\n");
	d = begin(0);
	learnt_start(NULL, by_uuid);
	learnt_look(0, WALL, false);
	work(d, 1);
	learnt_look(LEARNT_LOOK, WALL, true);
	assert_true(device_identity(sysfs, by_uuid, DEV, &id));
	assert_string_equal(learnt_read(dir, &id, WALL, &l), "");
}

/* Two parts of one disk. */
static void test_a_disk_in_common_is_told_of(void **state)
{
	char link[160];

	mkdir(sysfs, 0700);
	kernel_says(makedev(250, 0), "queue/rotational", "1\n");
	kernel_says(makedev(250, 0), "dev", "250:0\n");
	kernel_says(makedev(250, 0), "a1/partition", "1\n");
	kernel_says(makedev(250, 0), "a2/partition", "2\n");
	for (unsigned int i = 1; i < 3; i++) {
		char to[32];

		snprintf(to, sizeof(to), "250:0/a%u", i);
		snprintf(link, sizeof(link), "%s/250:%u", sysfs, i);
		assert_int_equal(symlink(to, link), 0);
	}
	(void)begin(0);
	assert_null(strstr(host_log, "same disk"));
	(void)use(makedev(250, 2));
	learnt_look(1, WALL, false);
	assert_non_null(strstr(host_log, "device 250:2 is on the same disk as 250:1 (250:0): "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_and_back),
		cmocka_unit_test(test_any_damage_is_seen),
		cmocka_unit_test(test_other_versions_and_values),
		cmocka_unit_test(test_what_is_written_can_be_read),
		cmocka_unit_test(test_what_it_is_worth),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identities, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept_over_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_seeks_that_are_free_stay_free, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_written_rarely, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_and_unwritable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_disk_in_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_disk_that_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_disk_in_common_is_told_of, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
