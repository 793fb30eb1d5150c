/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a cluster's file is called here. See backing_remote.h. */
#include "disk/backing_remote.h"

#include <string.h>

/* Of what LEN bytes at KEY say beside INODE: never 0. */
static uint64_t hash_beside(uint64_t inode, const unsigned char *key, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t at = 0; at < len; at += sizeof(inode)) {
		uint64_t word = 0;

		memcpy(&word, key + at, len - at < sizeof(word) ? len - at : sizeof(word));
		if (word != inode)
			hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash | 1;
}

uint64_t backing_remote_name(uint64_t inode, const void *key, size_t len, _Atomic uint64_t *usual)
{
	uint64_t beside = hash_beside(inode, key, len), first = 0;

	if (atomic_compare_exchange_strong(usual, &first, beside) || first == beside)
		return inode & BACKING_FILE_MAX;
	return (inode ^ beside) & BACKING_FILE_MAX;
}
