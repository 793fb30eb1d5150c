/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the files of a load contain.
 *
 * The eight bytes at offset o (a multiple of 8) of file number f are
 *
 *	start(seed, f) + (o / 8) * step        (modulo 2^64, in the host's byte order)
 *
 * so that any part of a file can be written or compared without the rest, with one addition a
 * word: the compiler turns the loops into vector code that runs at memory speed, and checking
 * costs next to nothing beside receiving. The step is odd, hence no word occurs twice in a file;
 * bytes of another offset or of another file show as differences.
 */
#ifndef NFSBENCH_CONTENT_H
#define NFSBENCH_CONTENT_H

#include <stddef.h>
#include <stdint.h>

/* The first word of file number `file` of the set laid out with `seed`. */
uint64_t content_start(uint64_t seed, uint32_t file);

/* The same of a file that was written anew; generation 0 is as laid out. Seeds are 32 bits. */
uint64_t content_generation(uint64_t seed, uint32_t file, uint64_t generation);

/* Fills len bytes as they are at `offset`, a multiple of 8; len is any. */
void content_fill(uint64_t start, uint64_t offset, void *buf, size_t len);

/* Number of 8-byte words (the last one may be short) that differ from what content_fill writes. */
size_t content_differences(uint64_t start, uint64_t offset, const void *buf, size_t len);

/* Whether they are as content_fill writes them; len is a multiple of 8. Fast when not. */
int content_is(uint64_t start, uint64_t offset, const void *buf, size_t len);

#endif
