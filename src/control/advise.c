/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See advise.h. The plugin's measurements fix the kernel's settings of a disk; a RAID's spindles are its members
 * that rotate, through md and dm:
 *
 *   /sys/block/dm-0/slaves/md0 -> /sys/block/md0/slaves/{sda1,sdb1} -> sda, sdb: 2
 *   read_ahead_kb is dm-0's                                           scheduler, wbt_lat_usec are theirs
 */
#include "control/advise.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH	  512
#define TEXT	  256
#define DEPTH_MAX 8 /* of md upon dm upon ... */

/* What the plugin was measured with: README.md, "What the kernel does beside it". */
#define READ_AHEAD_KB 128
#define WBT_US	      75000
/* Descriptors that a server needs beside the plugin's own. */
#define FILES_WANTED 8192
/*
 * NFS-Ganesha's RPC_Ioq_ThrdMax by default; of them Full_Threads may wait with reads, twice as many with COMMITs, and so
 * many more are to be left.
 */
#define THREADS_DEFAULT 200
#define THREADS_LEFT	8
#define CONFIGURATION	"/etc/ganesha/ganesha.conf"
/* Read-ahead may have this part of memory; more takes from what is read again. */
#define MEMORY_PART 4
/* So much dirty data is more than a disk writes in ten seconds (bytes). */
#define DIRTY_MUCH (UINT64_C(2) << 30)

/* ---- reading ----------------------------------------------------------------------------- */

/* The first line of the file below the root; false: there is none. */
static bool read_text(const struct advise_machine *m, char text[TEXT], const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool read_text(const struct advise_machine *m, char text[TEXT], const char *format, ...)
{
	char path[PATH], relative[PATH];
	va_list args;
	bool good;
	FILE *f;

	va_start(args, format);
	vsnprintf(relative, sizeof(relative), format, args);
	va_end(args);
	if ((size_t)snprintf(path, sizeof(path), "%s%s", m->root, relative) >= sizeof(path))
		return false;
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	good = fgets(text, TEXT, f) != NULL;
	fclose(f);
	if (good)
		text[strcspn(text, "\n")] = '\0';
	return good;
}

/* A number of the disk's queue; -1: it has none such. */
static int64_t queue_number(const struct advise_machine *m, const char *disk, const char *name)
{
	char text[TEXT];

	return read_text(m, text, "/sys/block/%s/queue/%s", disk, name) ? strtoll(text, NULL, 10)
									: -1;
}

/* The value of a line "NAME: N" of a file below the root; 0: none. */
static uint64_t line_number(const struct advise_machine *m, const char *file, const char *name)
{
	char path[PATH], line[TEXT];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", m->root, file);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			n = strtoull(line + strlen(name) + strspn(line + strlen(name), ": \t"),
				     NULL, 10);
	if (f != NULL)
		fclose(f);
	return n;
}

/* What the server has for the parameter, of the device NAME where it has devices; FALLBACK: not known. */
static uint64_t setting(const struct advise_machine *m, const char *parameter, const char *name,
			uint64_t fallback)
{
	struct json_object *rows, *o, *value;

	if (m->values == NULL || !json_object_object_get_ex(m->values, "parameters", &rows))
		return fallback;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		o = json_object_array_get_idx(rows, i);
		if (strcmp(json_object_get_string(json_object_object_get(o, "parameter")),
			   parameter) != 0 ||
		    !json_object_object_get_ex(o, "value", &value))
			continue;
		if (name == NULL ||
		    (json_object_object_get(o, "name") != NULL &&
		     strcmp(json_object_get_string(json_object_object_get(o, "name")), name) == 0))
			return (uint64_t)json_object_get_int64(value);
	}
	return fallback;
}

/* ---- advice ------------------------------------------------------------------------------ */

/* Two partitions may be on one disk. */
static bool is_said(struct json_object *list, const char *what)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (strcmp(json_object_get_string(json_object_object_get(
				   json_object_array_get_idx(list, i), "what")),
			   what) == 0)
			return true;
	return false;
}

static void add(struct json_object *list, const char *what, const char *now, const char *better,
		const char *why, const char *how)
{
	struct json_object *o;

	if (is_said(list, what))
		return;
	o = json_object_new_object();
	json_object_object_add(o, "what", json_object_new_string(what));
	json_object_object_add(o, "now", json_object_new_string(now));
	json_object_object_add(o, "better", json_object_new_string(better));
	json_object_object_add(o, "why", json_object_new_string(why));
	if (how != NULL)
		json_object_object_add(o, "how", json_object_new_string(how));
	json_object_array_add(list, o);
}

static void add_queue(struct json_object *list, const char *disk, const char *name, const char *now,
		      const char *better, const char *why)
{
	char what[TEXT], how[TEXT];

	snprintf(what, sizeof(what), "%s of %s", name, disk);
	snprintf(how, sizeof(how), "echo %s >/sys/block/%s/queue/%s (udev keeps it)", better, disk,
		 name);
	add(list, what, now, better, why, how);
}

/* ---- disks ------------------------------------------------------------------------------- */

/* The disk that NAME, perhaps a partition, is a part of. */
static void whole_disk(const struct advise_machine *m, const char *name, char disk[64])
{
	char path[PATH];
	DIR *d;

	snprintf(disk, 64, "%s", name);
	snprintf(path, sizeof(path), "%s/sys/block/%s", m->root, name);
	if (access(path, F_OK) == 0)
		return;
	snprintf(path, sizeof(path), "%s/sys/block", m->root);
	d = opendir(path);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
		snprintf(path, sizeof(path), "%s/sys/block/%s/%s", m->root, e->d_name, name);
		if (e->d_name[0] != '.' && access(path, F_OK) == 0)
			snprintf(disk, 64, "%.63s", e->d_name);
	}
	if (d != NULL)
		closedir(d);
}

/* The name in brackets: "none [mq-deadline] bfq". */
static bool scheduler_of(const struct advise_machine *m, const char *disk, char name[TEXT],
			 bool *has_deadline)
{
	char text[TEXT], *begin, *end;

	if (!read_text(m, text, "/sys/block/%s/queue/scheduler", disk))
		return false;
	*has_deadline = strstr(text, "mq-deadline") != NULL;
	begin = strchr(text, '[');
	end = begin != NULL ? strchr(begin, ']') : NULL;
	if (end == NULL)
		return false;
	*end = '\0';
	snprintf(name, TEXT, "%s", begin + 1);
	return true;
}

static void advise_ahead(const struct advise_machine *m, const char *disk, struct json_object *list)
{
	int64_t ahead = queue_number(m, disk, "read_ahead_kb");
	char now[32], better[32];

	if (ahead <= READ_AHEAD_KB)
		return;
	snprintf(better, sizeof(better), "%d", READ_AHEAD_KB);
	snprintf(now, sizeof(now), "%" PRId64, ahead);
	add_queue(list, disk, "read_ahead_kb", now, better,
		  "the plugin fetches ahead itself; a large value makes the kernel read beside it "
		  "for what is not queued");
}

/* Of one that is made of no others. */
static void advise_queue(const struct advise_machine *m, const char *disk, struct json_object *list)
{
	char now[TEXT], better[32];
	bool has_deadline;

	if (queue_number(m, disk, "wbt_lat_usec") == 0) {
		snprintf(better, sizeof(better), "%d", WBT_US);
		add_queue(list, disk, "wbt_lat_usec", "0", better,
			  "without it the kernel's write-back takes the disk from reads");
	}
	if (scheduler_of(m, disk, now, &has_deadline) && has_deadline &&
	    strcmp(now, "mq-deadline") != 0)
		add_queue(
			list, disk, "scheduler", now, "mq-deadline",
			"the plugin has ordered the requests; bfq would order them by thread, none "
			"not at all");
}

/* How many disks that rotate DISK is made of, itself where it has no members; and advice for each of them. */
static unsigned int spindles(const struct advise_machine *m, const char *disk, int depth,
			     struct json_object *list)
{
	char path[PATH], member[64];
	unsigned int n = 0, members = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/sys/block/%s/slaves", m->root, disk);
	d = depth < DEPTH_MAX ? opendir(path) : NULL;
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
		if (e->d_name[0] == '.')
			continue;
		members++;
		whole_disk(m, e->d_name, member);
		n += spindles(m, member, depth + 1, list);
	}
	if (d != NULL)
		closedir(d);
	if (members != 0)
		return n;
	if (queue_number(m, disk, "rotational") != 1)
		return 0;
	advise_queue(m, disk, list);
	return 1;
}

/* A name that stays when the machine starts again, as far as one is known. */
static void path_of(const struct advise_machine *m, const char *disk, char path[TEXT])
{
	char name[TEXT];

	if (read_text(m, name, "/sys/block/%s/dm/name", disk))
		snprintf(path, TEXT, "/dev/mapper/%.200s", name);
	else
		snprintf(path, TEXT, "/dev/%.64s", disk);
}

/* IN: the name by which the server has it. */
static void advise_disk(const struct advise_machine *m, const char *in, struct json_object *list)
{
	char disk[64], what[TEXT], now[32], better[32], why[TEXT], path[TEXT], how[2 * TEXT];
	unsigned int n;
	uint64_t depth;

	whole_disk(m, in, disk);
	if (queue_number(m, disk, "rotational") != 1)
		return; /* the kernel's settings are right for flash */
	advise_ahead(m, disk, list);
	n = spindles(m, disk, 0, list);
	depth = setting(m, "Queue_Depth", in, 0);
	if (n < 2 || depth >= n)
		return;
	snprintf(what, sizeof(what), "Queue_Depth of %s", in);
	snprintf(now, sizeof(now), "%" PRIu64, depth);
	snprintf(better, sizeof(better), "%u", n);
	snprintf(why, sizeof(why), "%s is made of %u disks: so many requests keep all of them busy",
		 disk, n);
	path_of(m, in, path);
	snprintf(how, sizeof(how), "DEVICE { Path = %s; Queue_Depth = %u; }", path, n);
	add(list, what, now, better, why, how);
}

static void advise_all_disks(const struct advise_machine *m, struct json_object *list)
{
	static const char *const others[] = {"loop", "ram", "zram", "sr", "fd", "nbd"};
	char path[PATH];
	bool other;
	DIR *d;

	snprintf(path, sizeof(path), "%s/sys/block", m->root);
	d = opendir(path);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
		other = e->d_name[0] == '.';
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			other |= strncmp(e->d_name, others[i], strlen(others[i])) == 0 &&
				 isdigit((unsigned char)e->d_name[strlen(others[i])]);
		if (!other)
			advise_disk(m, e->d_name, list);
	}
	if (d != NULL)
		closedir(d);
}

static void advise_disks(const struct advise_machine *m, struct json_object *list)
{
	struct json_object *devices, *name;

	if (m->devices == NULL || !json_object_object_get_ex(m->devices, "devices", &devices)) {
		advise_all_disks(m, list);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(devices); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(devices, i), "name", &name))
			advise_disk(m, json_object_get_string(name), list);
}

/* ---- memory, network, the server --------------------------------------------------------- */

static void advise_memory(const struct advise_machine *m, struct json_object *list)
{
	uint64_t total = line_number(m, "/proc/meminfo", "MemTotal") << 10;
	uint64_t ahead = setting(m, "Readahead_Memory", NULL, UINT64_C(256) << 20);
	char now[TEXT], better[TEXT];

	if (total == 0 || ahead <= total / MEMORY_PART)
		return;
	snprintf(now, sizeof(now), "%" PRIu64, ahead);
	snprintf(better, sizeof(better), "%" PRIu64, total / MEMORY_PART);
	add(list, "Readahead_Memory", now, better,
	    "it is more than a quarter of the memory: what is fetched ahead would drive out what "
	    "is read again",
	    "ractl set Readahead_Memory ..., and in the block RA");
}

static void advise_dirty(const struct advise_machine *m, struct json_object *list)
{
	uint64_t total = line_number(m, "/proc/meminfo", "MemTotal") << 10, bytes = 0;
	char text[TEXT], now[TEXT];

	if (read_text(m, text, "/proc/sys/vm/dirty_background_bytes"))
		bytes = strtoull(text, NULL, 10);
	if (bytes == 0 && read_text(m, text, "/proc/sys/vm/dirty_background_ratio"))
		bytes = total / 100 * strtoull(text, NULL, 10);
	if (bytes <= DIRTY_MUCH)
		return;
	snprintf(now, sizeof(now), "%.1f GiB", (double)bytes / (1 << 30));
	add(list, "the kernel's background threshold of dirty memory", now, "1 GiB",
	    "Dirty_Budget is three quarters of it: as much may be lost with the machine, and a "
	    "COMMIT may have to wait for it",
	    "sysctl vm.dirty_background_bytes=1073741824");
}

/* Whether an interface other than the loopback states its speed; false also without any. */
static bool speed_is_stated(const struct advise_machine *m)
{
	char path[PATH], text[TEXT];
	bool stated = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s/sys/class/net", m->root);
	d = opendir(path);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		if (e->d_name[0] != '.' && strcmp(e->d_name, "lo") != 0 &&
		    read_text(m, text, "/sys/class/net/%s/speed", e->d_name) &&
		    strtol(text, NULL, 10) > 0)
			stated = true;
	if (d != NULL)
		closedir(d);
	return stated;
}

static void advise_network(const struct advise_machine *m, struct json_object *list)
{
	if (setting(m, "Network_Capacity", NULL, 0) == 0 && !speed_is_stated(m))
		add(list, "Network_Capacity", "0", "what the network carries, in Mbit/s",
		    "no interface states its speed, so the network has no price",
		    "ractl set Network_Capacity ..., and in the block RA");
}

/* What follows "NAME =" in the line, where that is no comment; 0: nothing does. */
static uint64_t assigned(char *line, const char *name)
{
	const char *at;

	line[strcspn(line, "#")] = '\0';
	at = strcasestr(line, name);
	if (at == NULL)
		return 0;
	at += strlen(name);
	at += strspn(at, " \t");
	return *at == '=' ? strtoull(at + 1, NULL, 10) : 0;
}

/* A number of the server's own configuration, as far as that is in one file; FALLBACK: it is not there. */
static uint64_t configured(const struct advise_machine *m, const char *name, uint64_t fallback)
{
	char path[PATH], line[TEXT];
	uint64_t n = 0, found;
	FILE *f;

	snprintf(path, sizeof(path), "%s" CONFIGURATION, m->root);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if ((found = assigned(line, name)) != 0)
			n = found;
	if (f != NULL)
		fclose(f);
	return n != 0 ? n : fallback;
}

/* The server's own threads: reads that wait for room in a full queue keep some of them, and COMMITs that have turns. */
static void advise_threads(const struct advise_machine *m, struct json_object *list)
{
	uint64_t threads = configured(m, "RPC_Ioq_ThrdMax", THREADS_DEFAULT);
	uint64_t full = 3 * setting(m, "Full_Threads", NULL, 64);
	char now[32], better[32];

	if (threads >= full + THREADS_LEFT)
		return;
	snprintf(now, sizeof(now), "%" PRIu64, threads);
	snprintf(better, sizeof(better), "%" PRIu64, full + THREADS_LEFT);
	add(list, "RPC_Ioq_ThrdMax of NFS_CORE_PARAM", now, better,
	    "reads that wait for room in a full queue may keep Full_Threads of these threads, "
	    "COMMITs that wait for write-back twice as many: too few are left for other "
	    "clients",
	    "in " CONFIGURATION "; or ractl set Full_Threads, smaller");
}

static void advise_server(const struct advise_machine *m, struct json_object *list)
{
	struct json_object *pid;
	char file[64], now[TEXT], better[32];
	uint64_t files;

	advise_threads(m, list);
	if (m->status == NULL || !json_object_object_get_ex(m->status, "pid", &pid))
		return;
	snprintf(file, sizeof(file), "/proc/%s/limits", json_object_get_string(pid));
	files = line_number(m, file, "Max open files");
	if (files == 0 || files >= FILES_WANTED)
		return;
	snprintf(now, sizeof(now), "%" PRIu64, files);
	snprintf(better, sizeof(better), "%d", FILES_WANTED);
	add(list, "LimitNOFILE of nfs-ganesha.service", now, better,
	    "the plugin keeps up to Descriptors_Max and Writeback_Files descriptors, beside the "
	    "server's own cache",
	    "systemctl edit nfs-ganesha: [Service] LimitNOFILE=8192");
}

struct json_object *advise(const struct advise_machine *m)
{
	struct json_object *list = json_object_new_array();

	advise_disks(m, list);
	advise_memory(m, list);
	advise_dirty(m, list);
	advise_network(m, list);
	advise_server(m, list);
	return list;
}
