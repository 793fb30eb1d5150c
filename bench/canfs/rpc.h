/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A call to the server and its answer, as the client's logic sees them. It makes calls, whoever is
 * at the edge (nfs.c, or a test) sends them and hands the answers back: client_answer().
 */
#ifndef CANFS_RPC_H
#define CANFS_RPC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cache.h"

#define HANDLE_MAX 64 /* bytes, of NFSv3 */

struct nfs_handle {
	uint32_t len;
	char data[HANDLE_MAX];
};

enum call_kind {
	CALL_LOOKUP,
	CALL_GETATTR,
	CALL_CREATE,
	CALL_REMOVE,
	CALL_READ,
	CALL_WRITE,
	CALL_COMMIT,
	CALL_FSSTAT,
	CALL_KINDS
};
extern const char *const call_kind_names[CALL_KINDS];

/* In which order calls get a slot: what a program waits for, what was read ahead, the rest. */
enum call_class { CLASS_DEMAND, CLASS_AHEAD, CLASS_BACKGROUND, CALL_CLASSES };

/* What tells one state of a file from another. */
struct file_attr {
	uint64_t mtime, ctime; /* ns */
	uint64_t size;
};

enum { ANSWER_OK, ANSWER_STALE, ANSWER_AGAIN, ANSWER_FAILED };

struct answer {
	int status; /* of the above; `error` says more */
	const char *error;
	bool has_before, has_after;
	struct file_attr before, after; /* of `before` only the times and the size count */
	struct nfs_handle handle;	/* LOOKUP, CREATE */
	const char *data;		/* READ */
	uint32_t length;		/* READ, WRITE: as much was done */
	bool stable;			/* WRITE: it is on disk already */
	uint64_t verifier;		/* WRITE, COMMIT */
	uint64_t total, avail;		/* FSSTAT: files */
};

struct client;
struct file;
struct op;
TAILQ_HEAD(op_list, op);

struct rpc {
	TAILQ_ENTRY(rpc) next; /* of those that wait for a slot */
	struct client *client;
	enum call_kind kind;
	enum call_class class;
	void (*answered)(struct rpc *rpc, const struct answer *answer, uint64_t now);
	struct file *file; /* NULL: FSSTAT */
	uint64_t offset;
	uint32_t length;
	bool stable;		/* WRITE: FILE_SYNC */
	char *data;		/* WRITE: ours until the answer */
	struct page_list pages; /* READ, WRITE, COMMIT: what it is about */
	struct op_list waiters;
	uint64_t sent; /* ns */
};

#endif
