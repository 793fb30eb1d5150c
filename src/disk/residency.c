/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The two ways to ask for residency. See residency.h. */
#include "disk/residency.h"

#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/page.h"
#include "disk/cachestat.h"

/* Bytes of one mapping asked of mincore at a time. */
#define MINCORE_SPAN (UINT64_C(4) << 20)

static const char *const names[] = {"auto", "cachestat", "mincore"};

static struct {
	enum { PROBE_CACHESTAT, PROBE_MINCORE } way;
	uint64_t page;
} probe = {.way = PROBE_MINCORE, .page = PAGE_LEAST};

static bool cachestat_pages(int fd, uint64_t offset, uint64_t len, uint64_t *pages)
{
	struct cache_counts counts;

	if (!cachestat_of(fd, offset, len, &counts))
		return false;
	*pages = counts.cached;
	return true;
}

static bool have_cachestat(void)
{
	int fd = memfd_create("ra-probe", MFD_CLOEXEC);
	uint64_t pages;
	bool have;

	if (fd < 0)
		return false;
	have = cachestat_pages(fd, 0, PAGE_LEAST, &pages);
	close(fd);
	return have;
}

const char *residency_probe_nth(unsigned int n)
{
	return n < sizeof(names) / sizeof(names[0]) ? names[n] : NULL;
}

bool residency_start(const char *name)
{
	probe.page = (uint64_t)sysconf(_SC_PAGESIZE);
	probe.way =
		strcasecmp(name, "mincore") && have_cachestat() ? PROBE_CACHESTAT : PROBE_MINCORE;
	return probe.way == PROBE_CACHESTAT || strcasecmp(name, "cachestat");
}

void residency_init(struct residency *r)
{
	lock_init(&r->lock, LOCK_LEAF);
	r->map = NULL;
	r->map_from = r->map_len = 0;
}

static void unmap(struct residency *r)
{
	if (r->map != NULL)
		munmap(r->map, r->map_len);
	r->map = NULL;
	r->map_from = r->map_len = 0;
}

void residency_fini(struct residency *r)
{
	unmap(r);
	lock_fini(&r->lock);
}

/*
 * The window that OFFSET is in, mapped up to at least END, which is in it too, and to the end of the
 * file; with the lock.
 */
static bool map_window(struct residency *r, int fd, uint64_t size, uint64_t offset, uint64_t end)
{
	uint64_t from = offset - offset % RESIDENCY_WINDOW, upto = size > end ? size : end;
	uint64_t len = upto - from < RESIDENCY_WINDOW ? upto - from : RESIDENCY_WINDOW;
	void *map;

	lock_assert_held(&r->lock);
	if (from == r->map_from && end - from <= r->map_len)
		return true;
	unmap(r);
	map = mmap(NULL, len, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)from);
	if (map == MAP_FAILED)
		return false;
	r->map = map;
	r->map_from = from;
	r->map_len = len;
	return true;
}

/* Whether LEN bytes of the mapping from OFFSET of the file on, at most a span, are there. */
static bool span_resident(const struct residency *r, uint64_t offset, uint64_t len)
{
	unsigned char vec[MINCORE_SPAN / PAGE_LEAST];

	if (mincore((char *)r->map + (offset - r->map_from), len, vec))
		return false;
	for (uint64_t i = 0; i < (len + probe.page - 1) / probe.page; i++)
		if (!(vec[i] & 1))
			return false;
	return true;
}

/* How much of [offset, end) is asked at once: a span, within one window. */
static uint64_t span_at(uint64_t offset, uint64_t end)
{
	uint64_t n = end - offset < MINCORE_SPAN ? end - offset : MINCORE_SPAN;
	uint64_t room = RESIDENCY_WINDOW - offset % RESIDENCY_WINDOW;

	return n < room ? n : room;
}

static bool mincore_resident(struct residency *r, int fd, uint64_t size, uint64_t offset,
			     uint64_t end)
{
	bool resident = true;

	lock_take(&r->lock);
	while (resident && offset < end) {
		uint64_t n = span_at(offset, end);

		resident =
			map_window(r, fd, size, offset, offset + n) && span_resident(r, offset, n);
		offset += n;
	}
	lock_drop(&r->lock);
	return resident;
}

bool residency_of(struct residency *r, int fd, uint64_t size, uint64_t offset, uint64_t len)
{
	uint64_t end = len < size && offset < size - len ? offset + len : size, pages;

	if (offset >= end)
		return true; /* nothing to read there */
	offset -= offset % probe.page;
	if (probe.way == PROBE_MINCORE)
		return mincore_resident(r, fd, size, offset, end);
	return cachestat_pages(fd, offset, end - offset, &pages) &&
	       pages >= (end - offset + probe.page - 1) / probe.page;
}
