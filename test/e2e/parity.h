/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the parts of the parity test share.
 *
 *   parity_ops.c     draws a random operation and sends it to one side
 *   parity_ids.c     knows which inode of one side is which of the other
 *   parity_answer.c  turns an answer into text in which only what must agree is left
 *   parity.c         keeps pairs of handles, runs both sides, compares, reports
 */
#ifndef RA_E2E_PARITY_H
#define RA_E2E_PARITY_H

#include "nfsc.h"

#define SIDES	  2    /* side 0 is the reference */
#define CONNS	  2    /* connections to each side, used in turn at random */
#define BURST_MAX 16   /* READs of one operation that are outstanding at once */
#define AGAIN	  40   /* ... of one place, so often that it counts as hot */
#define NAME_SIZE 2304 /* bytes, longest name or link text drawn, with its NUL */
#define NODES_MAX 192  /* pairs of handles remembered */
#define WRITE_MAX (1024u * 1024)
#define LEARN_MAX 8    /* handles learnt from one READDIRPLUS */
#define IDS_MAX	  1024 /* inode numbers remembered of one answer */

enum proc {
	P_NULL,
	P_GETATTR,
	P_SETATTR,
	P_LOOKUP,
	P_ACCESS,
	P_READLINK,
	P_READ,
	P_WRITE,
	P_CREATE,
	P_MKDIR,
	P_SYMLINK,
	P_MKNOD,
	P_REMOVE,
	P_RMDIR,
	P_RENAME,
	P_LINK,
	P_READDIR,
	P_READDIRPLUS,
	P_FSSTAT,
	P_FSINFO,
	P_PATHCONF,
	P_COMMIT,
	PROCS
};

/* Text that grows. */
struct text {
	char *p;
	size_t len, cap;
};

void text_clear(struct text *text);
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds bytes with everything but printable ASCII escaped, shortened in the middle. */
void text_add_name(struct text *text, const char *name);

/* One object as both sides name it. type 0: unknown. */
struct node {
	struct nfsc_fh fh[SIDES];
	int type;   /* ftype3 */
	int export; /* 0: no squash, 1: root squash */
	bool root;
};

/* A directory listing to be continued. */
struct listing {
	struct nfsc_fh dir[SIDES];
	cookie3 cookie;
	cookieverf3 verf[SIDES];
	bool plus;
	bool open;
};

struct op {
	enum proc proc;
	int conn;
	uint32_t uid, gid, extra_gid;
	struct nfsc_fh fh[SIDES], fh2[SIDES]; /* object or directory; second directory or link */
	int export;
	char name[NAME_SIZE], name2[NAME_SIZE];
	uint64_t offset; /* bytes; of burst member 0 */
	uint32_t count;	 /* bytes */
	int burst;	 /* READ: how many consecutive ones at once; others 1 */
	bool again;	 /* ... not consecutive: all of the same place */
	int stable;
	char *data; /* WRITE: count bytes; owned by the drawing state */
	uint32_t mask;
	sattr3 attr;
	bool guard;
	nfstime3 guard_time[SIDES];
	createmode3 how;
	createverf3 createverf;
	ftype3 type;
	specdata3 spec;
	cookie3 cookie;
	cookieverf3 cookieverf[SIDES];
	uint32_t dircount;
	bool timed; /* clocks have moved on before it: a change of a time must show on both sides */
	struct text what;
};

struct entry {
	struct nfsc_fh fh;
	int type;
};

/* One side's answer to one call. */
struct answer {
	enum proc proc;
	int *outstanding;
	bool timed;
	bool arrived;
	int status; /* nfsstat3, or -1: the call itself failed */
	struct text text;
	char *data; /* READ */
	size_t data_len, data_cap;
	struct nfsc_fh fh; /* len 0: none */
	int type;	   /* ftype3 of the answer's attributes, 0: none */
	nfstime3 ctime;
	uint64_t fsid;
	uint32_t written; /* WRITE */
	int n_ids;
	uint64_t id[IDS_MAX]; /* the inode numbers in it, in order */
	bool has_verf;
	writeverf3 verf; /* WRITE, COMMIT: of the server's start */
	/* READDIR, READDIRPLUS */
	cookie3 last_cookie;
	cookieverf3 cookieverf;
	bool eof;
	int n_entries; /* all of them */
	int n_learnt;
	struct entry learnt[LEARN_MAX];
};

/* The state an operation is drawn from. */
struct draw {
	uint64_t rng;
	struct node node[NODES_MAX];
	int nodes;
	struct listing listing;
	char *noise;	   /* WRITE_MAX + 4096 random bytes */
	uint32_t read_min; /* bytes of a READ, at least */
	bool fsstat_root;  /* FSSTAT asks of the root only */
	struct {	   /* of the last MKDIR: the node, and the name, empty: none yet */
		int dir;
		char name[NAME_SIZE];
	} made;
};

extern const char *const proc_name[PROCS];

uint64_t draw_bits(struct draw *draw);
/* A number from 0 to n - 1. */
uint32_t draw_below(struct draw *draw, uint32_t n);
/* Draws the next operation and describes it in op->what. */
void draw_op(struct draw *draw, struct op *op);
/* Remembers a pair of handles, in the place of an older one when there are many. */
void draw_learn(struct draw *draw, const struct node *node);
/* Sends burst member `i` of op to side `side`; the callback fills *answer. 0, or -1. */
int send_op(const struct op *op, int side, int i, struct rpc_context *rpc, struct answer *answer);

/* The callback of every call: private_data is a struct answer. */
void answer_cb(struct rpc_context *rpc, int status, void *data, void *private_data);
const char *status_name(int status);

/* Where the file system of a side is to be seen locally; `dir` is kept. */
void ids_look_in(int side, const char *dir);
/* Whether inode `a` of side 0 is inode `b` of side 1; of what was `created` just now it is so. */
bool ids_same(uint64_t a, uint64_t b, bool created);
/* Says what two that are not each other's were. */
void ids_report(uint64_t a, uint64_t b);

#endif
