/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pages, in which memory holds files and disks bring them. */
#ifndef COMMON_PAGE_H
#define COMMON_PAGE_H

#include <stdint.h>

/* Bytes of the smallest page of any architecture. */
#define PAGE_LEAST 4096u

/* Where the page ends that has the byte before AT; 0 for 0. */
static inline uint64_t page_up(uint64_t at)
{
	return (at + PAGE_LEAST - 1) / PAGE_LEAST * PAGE_LEAST;
}

static inline uint64_t page_down(uint64_t at)
{
	return at - at % PAGE_LEAST;
}

#endif
