/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The tables of lines and sites. See lines.h. */
#include "lines.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBES 64 /* places looked at */

static struct lines_file *file;
static _Thread_local uint64_t my_bit;

static void map_file(void)
{
	const char *path = getenv("RA_SHARED_LINES");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		file = map;
}

void lines_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, map_file);
}

static uint64_t this_thread(void)
{
	if (my_bit == 0) {
		uint64_t n = atomic_fetch_add(&file->threads, 1);

		my_bit = UINT64_C(1) << (n < LINES_THREADS ? n : LINES_THREADS - 1);
	}
	return my_bit;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (x ^ x >> 32) | 1;
}

/* Whether the place whose key is *KEY is WANTED's, or becomes it. */
static bool claim(_Atomic uint64_t *key, uint64_t wanted)
{
	uint64_t found = atomic_load_explicit(key, memory_order_relaxed);

	if (found == 0 && atomic_compare_exchange_strong(key, &found, wanted))
		return true;
	return found == wanted;
}

static struct lines_line *line_of(uint64_t number)
{
	uint64_t hash = mix(number);

	for (unsigned int i = 0; i < PROBES; i++) {
		struct lines_line *l = &file->lines[((hash >> 20) + i) & (LINES_TABLE - 1)];

		if (claim(&l->number, number))
			return l;
	}
	return NULL;
}

static struct lines_site *site_of(uint64_t address, uint64_t line)
{
	uint64_t key = mix(mix(address) + line);

	for (unsigned int i = 0; i < PROBES; i++) {
		struct lines_site *s = &file->sites[((key >> 20) + i) & (LINES_SITES - 1)];

		if (claim(&s->key, key)) {
			s->address = address;
			s->line = line;
			return s;
		}
	}
	return NULL;
}

/* Whether the line had to come from elsewhere, or be taken from others. */
static bool moves(struct lines_line *l, bool write)
{
	uint64_t me = this_thread(), had;

	if (write) {
		atomic_fetch_or_explicit(&l->wrote, me, memory_order_relaxed);
		had = atomic_exchange_explicit(&l->has, me, memory_order_relaxed);
		return had & ~me;
	}
	had = atomic_fetch_or_explicit(&l->has, me, memory_order_relaxed);
	return had != 0 && !(had & me) && atomic_load_explicit(&l->wrote, memory_order_relaxed);
}

static void touch_line(uint64_t number, bool write, const void *address)
{
	struct lines_line *l = line_of(number);
	struct lines_site *s = l != NULL ? site_of((uint64_t)(uintptr_t)address, number) : NULL;

	if (s == NULL) {
		atomic_fetch_add(&file->dropped, 1);
		return;
	}
	atomic_fetch_add_explicit(write ? &s->writes : &s->reads, 1, memory_order_relaxed);
	if (moves(l, write))
		atomic_fetch_add_explicit(&s->moves, 1, memory_order_relaxed);
}

void lines_touch(const volatile void *at, size_t len, bool write, const void *address)
{
	uint64_t from = (uint64_t)(uintptr_t)at / LINES_LINE;
	uint64_t upto = ((uint64_t)(uintptr_t)at + (len ? len - 1 : 0)) / LINES_LINE;

	if (file == NULL || !atomic_load_explicit(&file->on, memory_order_relaxed))
		return;
	for (; from <= upto; from++)
		touch_line(from, write, address);
}
