/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Advice for machines that are made up of files below a directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include <sys/stat.h>
#include <unistd.h>

#include "control/advise.h"

static struct {
	char root[64];
	struct advise_machine machine;
	char said[16384];
} place;

static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", place.root, path);
	for (char *at = whole + strlen(place.root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(whole, 0700);
		*at = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_disk(const char *name, const char *rotational, const char *ahead,
		     const char *scheduler, const char *wbt)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/block/%s/queue/rotational", name);
	put(path, rotational);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/read_ahead_kb", name);
	put(path, ahead);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", name);
	put(path, scheduler);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/wbt_lat_usec", name);
	put(path, wbt);
}

static int setup(void **state)
{
	memset(&place, 0, sizeof(place));
	snprintf(place.root, sizeof(place.root), "/tmp/ra-advise-XXXXXX");
	assert_non_null(mkdtemp(place.root));
	place.machine.root = place.root;
	put("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 5 kB\n");
	put("/proc/sys/vm/dirty_background_bytes", "0\n");
	put("/proc/sys/vm/dirty_background_ratio", "10\n");
	put("/sys/class/net/lo/speed", "0\n");
	put("/sys/class/net/eth0/speed", "10000\n");
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	json_object_put(place.machine.devices);
	json_object_put(place.machine.values);
	json_object_put(place.machine.status);
	snprintf(command, sizeof(command), "rm -r '%s'", place.root);
	return system(command);
}

/* How many pieces of advice there are; what they say is in place.said. */
static size_t ask(void)
{
	struct json_object *list = advise(&place.machine);
	size_t n = json_object_array_length(list);

	snprintf(place.said, sizeof(place.said), "%s",
		 json_object_to_json_string_ext(list, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(list);
	return n;
}

static void assert_says(const char *part)
{
	if (!strstr(place.said, part))
		fail_msg("\"%s\" is not in:\n%s", part, place.said);
}

static void test_nothing_to_change(void **state)
{
	put_disk("sda", "1\n", "128\n", "none [mq-deadline]\n", "75000\n");
	put_disk("nvme0n1", "0\n", "4096\n", "[none] mq-deadline\n", "0\n");
	put_disk("loop0", "1\n", "4096\n", "[none] mq-deadline\n", "0\n");
	assert_int_equal(ask(), 0);
}

static void test_a_disk_that_was_tuned(void **state)
{
	put_disk("sda", "1\n", "4096\n", "none mq-deadline [bfq]\n", "0\n");
	assert_int_equal(ask(), 3);
	assert_says("\"read_ahead_kb of sda\",\"now\":\"4096\",\"better\":\"128\"");
	assert_says("\"wbt_lat_usec of sda\"");
	assert_says("\"now\":\"bfq\",\"better\":\"mq-deadline\"");
}

/* LVM upon a RAID of three disks, one of them flash, by partitions. */
static void test_spindles_through_dm_and_md(void **state)
{
	put_disk("sda", "1\n", "128\n", "[mq-deadline]\n", "75000\n");
	put_disk("sdb", "1\n", "128\n", "[mq-deadline]\n", "75000\n");
	put_disk("sdc", "0\n", "128\n", "[none]\n", "2000\n");
	put("/sys/block/sda/sda1/dev", "8:1\n");
	put("/sys/block/sdb/sdb1/dev", "8:17\n");
	put("/sys/block/sdc/sdc1/dev", "8:33\n");
	put("/sys/block/md0/queue/rotational", "1\n");
	put("/sys/block/md0/slaves/sda1/dev", "");
	put("/sys/block/md0/slaves/sdb1/dev", "");
	put("/sys/block/md0/slaves/sdc1/dev", "");
	put("/sys/block/dm-0/queue/rotational", "1\n");
	put("/sys/block/dm-0/slaves/md0/dev", "");
	place.machine.devices = json_tokener_parse("{\"devices\":[{\"name\":\"dm-0\"}]}");
	assert_int_equal(ask(), 1);
	assert_says("DEVICE { Path = /dev/dm-0; Queue_Depth = 2; }");
	place.machine.values = json_tokener_parse("{\"parameters\":[{\"parameter\":\"Queue_Depth\","
						  "\"name\":\"dm-0\",\"value\":2}]}");
	assert_int_equal(ask(), 0);
	json_object_put(place.machine.values);
	place.machine.values = NULL;
	put("/sys/block/dm-0/dm/name", "data-nfs\n");
	put_disk("sdb", "1\n", "4096\n", "[bfq] mq-deadline\n", "0\n");
	put("/sys/block/dm-0/queue/read_ahead_kb", "8192\n");
	assert_int_equal(ask(), 4); /* sdb's own read_ahead_kb is nobody's */
	assert_says("\"read_ahead_kb of dm-0\"");
	assert_says("\"scheduler of sdb\"");
	assert_says("\"wbt_lat_usec of sdb\"");
	assert_says("DEVICE { Path = /dev/mapper/data-nfs; Queue_Depth = 2; }");
}

static void test_said_once(void **state)
{
	put_disk("sda", "1\n", "4096\n", "[mq-deadline]\n", "75000\n");
	put("/sys/block/sda/sda1/dev", "8:1\n");
	put("/sys/block/sda/sda2/dev", "8:2\n");
	place.machine.devices =
		json_tokener_parse("{\"devices\":[{\"name\":\"sda1\"},{\"name\":\"sda2\"}]}");
	assert_int_equal(ask(), 1);
}

static void test_memory_network_and_descriptors(void **state)
{
	put("/proc/meminfo", "MemTotal:       65536000 kB\n");
	put("/sys/class/net/eth0/speed", "-1\n");
	put("/proc/77/limits",
	    "Limit Soft Hard\nMax open files            1024     4096     files\n");
	place.machine.status = json_tokener_parse("{\"pid\":77}");
	place.machine.values = json_tokener_parse(
		"{\"parameters\":[{\"parameter\":\"Readahead_Memory\",\"value\":34359738368}]}");
	assert_int_equal(ask(), 4);
	assert_says("\"Readahead_Memory\",\"now\":\"34359738368\"");
	assert_says("\"now\":\"6.2 GiB\",\"better\":\"1 GiB\"");
	assert_says("no interface states its speed");
	assert_says("\"LimitNOFILE of nfs-ganesha.service\",\"now\":\"1024\"");
	put("/proc/sys/vm/dirty_background_bytes", "1073741824\n");
	assert_int_equal(ask(), 3);
}

static void test_threads_of_the_server(void **state)
{
	put("/etc/ganesha/ganesha.conf", "NFS_CORE_PARAM {\n  # RPC_Ioq_ThrdMax = 16;\n}\n");
	assert_int_equal(ask(), 0);
	put("/etc/ganesha/ganesha.conf", "NFS_CORE_PARAM {\n\trpc_ioq_thrdmax = 100; # few\n}\n");
	assert_int_equal(ask(), 1);
	assert_says("\"RPC_Ioq_ThrdMax of NFS_CORE_PARAM\",\"now\":\"100\",\"better\":\"200\"");
}

static void test_an_empty_machine(void **state)
{
	place.machine.root = "/nonexistent";
	assert_int_equal(ask(), 1); /* the network */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_to_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_disk_that_was_tuned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spindles_through_dm_and_md, setup, teardown),
		cmocka_unit_test_setup_teardown(test_said_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_network_and_descriptors, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_threads_of_the_server, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_empty_machine, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
