/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What nfswalk knows of a tree: the entries of a directory, in an order; its calls. */
#ifndef NFSWALK_TREE_H
#define NFSWALK_TREE_H

#include "nfsc.h"

enum order { ORDER_READDIR, ORDER_NAME, ORDER_INODE, ORDER_RANDOM };

struct entry {
	char *name;
	uint64_t inode, size;
	bool directory;
	struct nfsc_fh fh;
};

/* Grows; entries_free() it. */
struct entries {
	struct entry *at;
	size_t n, room;
};

void entries_free(struct entries *list);
/* A copy of E goes to the end. */
void entries_add(struct entries *list, const struct entry *e);
void entries_sort(struct entries *list, enum order order, uint64_t seed);

/* All of DIR, by READDIRPLUS. 0, an NFS status, or -1: no answer. */
int list_directory(struct rpc_context *rpc, const struct nfsc_fh *dir, struct entries *list);
/* LEN bytes at OFFSET: how many came and whether the file ended. As above. */
int read_part(struct rpc_context *rpc, const struct nfsc_fh *fh, uint64_t offset, uint32_t len,
	      uint32_t *got, bool *eof);
/* What a Linux client asks before it opens a file. */
int ask_attributes(struct rpc_context *rpc, const struct nfsc_fh *fh);

#endif
