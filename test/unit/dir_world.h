/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A tree of one level, the walks over it, and a host that fetches at once. */
#ifndef UNIT_DIR_WORLD_H
#define UNIT_DIR_WORLD_H

#include "readahead/dir_walk.h"

#include "readahead/engine.h"
#include "readahead/readahead.h"
#include "support.h"

#define MEMORY	(64 * MIB)
#define FILE_KB (8 * KIB)
#ifndef DIRS /* a test may have others: of its own, before this */
#define DIRS  512
#define FILES 5000
#endif
#define TOP 1 /* the directory of directories */

static struct world {
	struct readahead *ra;
	struct dir_walks *w;
	struct readahead_counters counters;
	uint64_t now;
	uint32_t dirs, files;
	uint32_t bytes;		      /* of each file */
	uint32_t reader;	      /* who reads now */
	uint64_t stamp;		      /* of the lists now */
	bool removed[DIRS][FILES];    /* from its directory */
	uint16_t listed[DIRS][FILES]; /* the file that has an index in the list */
	bool there[DIRS][FILES];      /* in memory */
	uint32_t fetched;	      /* files, ahead */
	uint32_t demand;	      /* reads that waited for the disk */
	uint32_t jobs;
} t;

static uint64_t dir_id(uint32_t dir)
{
	return 1000 + dir;
}

/* The number that follows X in an order like chance. */
static inline uint64_t drawn(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

/* Names, inodes and places are three different orders. */
static uint32_t scrambled(uint32_t i, uint32_t n, uint32_t by)
{
	return (uint32_t)((uint64_t)i * by % n);
}

static uint64_t inode_of(uint32_t dir, uint32_t file)
{
	return 1000000 + (uint64_t)dir * FILES + scrambled(file, t.files, 7);
}

static uint32_t name_of(uint32_t file)
{
	return scrambled(file, t.files, 11);
}

static void start(uint32_t dirs, uint32_t files, uint64_t memory, uint64_t lists)
{
	static const struct readahead_limits limits = {
		.table_size = 16, .cursors = 16, .cursors_per_file = 4, .idle_time = 10 * SEC};
	struct readahead_limits l = limits;
	struct dir_handle h = {.type = 1, .len = 8};

	memset(&t, 0, sizeof(t));
	l.memory = memory;
	t.ra = readahead_create(&l);
	t.w = dir_walks_create(lists, t.ra, &t.counters);
	t.now = SEC;
	t.dirs = dirs;
	t.files = files;
	t.bytes = FILE_KB;
	t.stamp = 1;
	dir_walks_seen(t.w, &(struct dir_name){.id = TOP, .inode = TOP}, &h, t.now);
	for (uint32_t d = 0; d < dirs; d++)
		dir_walks_seen(
			t.w, &(struct dir_name){.id = dir_id(d), .parent = TOP, .inode = dir_id(d)},
			&h, t.now);
}

static void check_sums(void)
{
	struct readahead_stats s;

	readahead_collect(t.ra, 0, &t.counters); /* what was given up waits there */
	readahead_stats(t.ra, &s);
	assert_int_equal(readahead_counted(&t.counters, READAHEAD_PLANNED),
			 readahead_counted(&t.counters, READAHEAD_USED) +
				 readahead_counted(&t.counters, READAHEAD_WASTED) +
				 readahead_counted(&t.counters, READAHEAD_UNFETCHED) + s.unread);
	assert_true(s.unread_max <= s.memory);
}

static void end(void)
{
	struct readahead_stats s;

	check_sums();
	dir_walks_destroy(t.w);
	readahead_stats(t.ra, &s);
	assert_int_equal(s.unread, 0);
	readahead_destroy(t.ra);
}

static void know_files(uint32_t dir)
{
	struct dir_list *files = dir_list_new(), *dirs = dir_list_new();
	uint32_t n = 0;
	char name[16];

	if (dir_walks_listed(t.w, dir_id(dir), t.stamp)) {
		dir_list_free(files);
		dir_list_free(dirs);
		return;
	}
	for (uint32_t i = 0; i < t.files; i++) {
		if (t.removed[dir][i])
			continue;
		snprintf(name, sizeof(name), "f%06u", name_of(i));
		assert_true(dir_list_add(files, name, inode_of(dir, i)));
		t.listed[dir][n++] = (uint16_t)i;
	}
	assert_true(dir_list_end(files) && dir_list_end(dirs));
	dir_walks_enlist(t.w, dir_id(dir), t.stamp, files, dirs, true);
}

static void know_top(void)
{
	struct dir_list *files, *dirs;
	char name[16];

	if (dir_walks_listed(t.w, TOP, 1))
		return;
	files = dir_list_new();
	dirs = dir_list_new();
	for (uint32_t i = 0; i < t.dirs; i++) {
		snprintf(name, sizeof(name), "d%06u", i);
		assert_true(dir_list_add(dirs, name, dir_id(i)));
	}
	assert_true(dir_list_end(files) && dir_list_end(dirs));
	dir_walks_enlist(t.w, TOP, 1, files, dirs, false);
}

static void fetch(uint32_t dir, bool sibling)
{
	uint32_t indices[DIR_WINDOW_MAX], n;
	const struct dir_list *list;
	bool full = false;

	know_files(dir);
	n = dir_walks_pick(t.w, dir_id(dir), sibling, indices, DIR_WINDOW_MAX, &list);
	for (uint32_t i = 0; i < n; i++) {
		bool *there = &t.there[dir][t.listed[dir][indices[i]]];

		if (*there)
			continue; /* nothing to fetch */
		if (full || !dir_walks_hold(t.w, &t.counters, dir_id(dir), indices[i], t.bytes)) {
			full = true;
			dir_walks_unhold(t.w, &t.counters, dir_id(dir), indices[i]);
			continue;
		}
		*there = true;
		t.fetched++;
	}
	dir_walks_end(t.w, dir_id(dir));
}

static void run_job(uint32_t dir)
{
	uint64_t parent, inode;
	char name[DIR_NAME_MAX];

	t.jobs++;
	parent = dir_walks_parent(t.w, dir_id(dir));
	fetch(dir, false);
	if (parent == 0)
		return;
	assert_int_equal(parent, TOP);
	know_top();
	for (int i = 0; i < 2 && dir_walks_sibling(t.w, TOP, name, &inode); i++) {
		struct dir_name of = {.id = inode, .parent = TOP, .inode = inode};

		assert_true(dir_walks_begin(t.w, &of, dir_id(dir), t.now));
		fetch((uint32_t)(inode - dir_id(0)), true);
	}
}

/* The file of directory 0 is read, and is not in memory for all that is known: whether others are to be fetched. */
static inline bool read_on(uint32_t file)
{
	struct dir_read read = {.dir = dir_id(0), .inode = inode_of(0, file), .now = t.now};
	struct dir_handle h;

	return dir_walks_read(t.w, &t.counters, &read, &h);
}

/* A client reads the file whole; returns whether it was there. */
static bool read_file(uint32_t dir, uint32_t file)
{
	struct dir_read read = {.dir = dir_id(dir),
				.inode = inode_of(dir, file),
				.now = t.now += MSEC,
				.resident = t.there[dir][file],
				.missing = t.there[dir][file] ? 0 : t.bytes,
				.reader = t.reader};
	struct dir_handle h;

	t.demand += !read.resident;
	t.there[dir][file] = true;
	if (dir_walks_read(t.w, &t.counters, &read, &h)) {
		assert_int_equal(h.len, 8);
		run_job(dir);
	}
	check_sums();
	return read.resident;
}

#endif
