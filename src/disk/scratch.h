/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Buffers into which the disk's threads read what only the page cache is to keep.
 *
 *   take(len) ---> [ a free one of its size ]  or a new one
 *   give      ---> [ free ones, the last used first ]      trim(): those long unused go
 *
 * Sizes are powers of two between SCRATCH_MIN and SCRATCH_MAX, so that buffers fit again after a
 * change of settings. At most as many are out as threads work; at most SCRATCH_KEPT are free.
 */
#ifndef DISK_SCRATCH_H
#define DISK_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#define SCRATCH_MIN  ((size_t)64 << 10) /* bytes */
#define SCRATCH_MAX  ((size_t)8 << 20)	/* bytes */
#define SCRATCH_KEPT 32			/* free buffers */

/* A buffer of at least LEN bytes, at most SCRATCH_MAX; NULL: no memory. scratch_give() it back. */
void *scratch_take(size_t len);
/* BUFFER: of scratch_take(LEN); NULL does nothing. NOW: ns. */
void scratch_give(void *buffer, size_t len, uint64_t now);
/* Frees what was given back before BEFORE (ns). */
void scratch_trim(uint64_t before);
/* Bytes that are free, for tests and operators. */
size_t scratch_free_bytes(void);

#endif
