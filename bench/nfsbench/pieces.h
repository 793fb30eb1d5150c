/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a reader of work ends takes of each file, in this order: pieces at distances from its end,
 * as a reader of an archive's index or of a columnar file's footer does.
 */
#ifndef NFSBENCH_PIECES_H
#define NFSBENCH_PIECES_H

#include <stdint.h>

#define MAX_PIECES 64

struct piece {
	uint32_t bytes;
	uint64_t back; /* of its first byte, from the file's end */
};

struct pieces {
	uint32_t count; /* 0: none are known */
	struct piece piece[MAX_PIECES];
	uint32_t largest;  /* bytes of one of them */
	uint64_t furthest; /* bytes that a file must have */
};

/* BYTES@BACK,… into *p. 0, or -1 after a message on stderr. */
int pieces_parse(struct pieces *p, const char *text);

#endif
