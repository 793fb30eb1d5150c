/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Waiting by a mapping, or a read. See arrival.h. */
#include "disk/arrival.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/pread_again.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* glibc before 2.35 */
#endif

/*
 * ADVICE: whether what is missing is read alone (MADV_RANDOM), or read-ahead goes on (MADV_SEQUENTIAL). Neither takes
 * what is there for used.
 */
static void begin(struct arrival *a, int fd, uint64_t from, uint64_t end, atomic_bool *spoilt,
		  int advice)
{
	uint64_t base = from - from % (uint64_t)getpagesize();
	void *map = MAP_FAILED;

	*a = (struct arrival){.fd = fd, .from = base, .len = end - base, .spoilt = spoilt};
	if (spoilt != NULL && !atomic_load_explicit(spoilt, memory_order_relaxed))
		map = mmap(NULL, a->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
			   (off_t)base);
	if (map == MAP_FAILED)
		return;
	a->map = map;
	(void)madvise(map, a->len, advice);
}

void arrival_begin(struct arrival *a, int fd, uint64_t from, uint64_t end, atomic_bool *spoilt)
{
	begin(a, fd, from, end, spoilt, MADV_RANDOM);
}

void arrival_begin_ahead(struct arrival *a, int fd, uint64_t from, uint64_t end,
			 atomic_bool *spoilt)
{
	begin(a, fd, from, end, spoilt, MADV_SEQUENTIAL);
}

static char *page_at(const struct arrival *a, uint64_t offset)
{
	uint64_t in = offset - a->from;

	return a->map + (in - in % (uint64_t)getpagesize());
}

static bool read_byte(int fd, uint64_t offset)
{
	char byte;

	return pread_again(fd, &byte, 1, offset) == 1;
}

/* Whether the file ends before OFFSET, or nobody knows. */
static bool ends_before(int fd, uint64_t offset)
{
	struct stat st;

	return fstat(fd, &st) || (uint64_t)st.st_size <= offset;
}

bool arrival_await(struct arrival *a, uint64_t offset)
{
	if (a->map == NULL)
		return read_byte(a->fd, offset);
	if (!madvise(page_at(a, offset), 1, MADV_POPULATE_WRITE))
		return true;
	if (errno != EFAULT) /* this kernel has it not, or no memory */
		return read_byte(a->fd, offset);
	if (!ends_before(a->fd, offset))
		atomic_store_explicit(a->spoilt, true, memory_order_relaxed);
	return false;
}

bool arrival_is_there(const struct arrival *a, uint64_t offset)
{
	unsigned char there;

	return a->map != NULL && !mincore(page_at(a, offset), 1, &there) && (there & 1) != 0;
}

void arrival_end(struct arrival *a)
{
	if (a->map != NULL)
		munmap(a->map, a->len);
	a->map = NULL;
}
