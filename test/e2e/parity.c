/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Parity test: one random sequence of all 22 NFSv3 procedures is given to two servers, operation
 * by operation, and every answer must agree: status, attributes, data. The servers export equal
 * copies of one small file system, so inode numbers, sizes and free counts can be compared too.
 *
 *   draw an operation -> send it to both -> answers as text + data -> equal? -> learn handles
 *
 * The end of a removed file is the one thing allowed to arrive late (by at most SETTLE_MS): a server
 * may answer a REMOVE just before it drops its last reference to the file.
 *
 * Exit status: 0 equal, 1 a difference, 2 the test itself could not run.
 */
#include "parity.h"

#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_TIMEOUT_MS 30000
#define SETTLE_MS	  2000
#define SETTLE_STEP_MS	  20
#define TICK_MS		  12  /* more than a tick of the kernel's coarse clock at any HZ */
#define EVICT_EVERY	  250 /* operations */
#define HISTORY		  20
#define STATUSES	  40 /* distinct statuses counted */

struct side {
	struct nfsc_server server;
	struct rpc_context *rpc[CONNS];
	struct answer answer[AGAIN]; /* the longest burst */
	uint64_t root_fsid;
	bool has_verf;
	writeverf3 verf;
};

struct options {
	uint64_t seed;
	unsigned long ops;
	const char *tree[SIDES];
	int tolerate;
	const char *export[2];
	bool coverage;
};

struct count {
	int status;
	unsigned long n;
};

static struct side sides[SIDES];
static struct draw draw;
static struct text history[HISTORY];
static unsigned long done_ops, settled, differences;
static unsigned long ok_count[PROCS], all_count[PROCS];
static struct count statuses[STATUSES];

static void fail(const char *what)
{
	fprintf(stderr, "parity: %s\n", what);
	exit(2);
}

static void print_history(void)
{
	printf("  the operations before:\n");
	for (unsigned long k = done_ops > HISTORY ? done_ops - HISTORY : 0; k < done_ops; k++)
		printf("    %lu %s\n", k, history[k % HISTORY].p);
	fflush(stdout);
}

static void prepare(struct answer *a, const struct op *op, int *outstanding)
{
	struct text text = a->text;
	char *data = a->data;
	size_t cap = a->data_cap;

	memset(a, 0, sizeof(*a));
	a->text = text;
	text_clear(&a->text);
	text_add(&a->text, "%s", "");
	a->data = data;
	a->data_cap = cap;
	a->proc = op->proc;
	a->timed = op->timed;
	a->outstanding = outstanding;
	a->status = -1;
}

/* Sends members [from, to) of the operation to both sides and waits for all answers. */
static void exchange(const struct op *op, int from, int to)
{
	struct rpc_context *rpc[SIDES];
	int outstanding = 0;

	for (int s = 0; s < SIDES; s++) {
		rpc[s] = sides[s].rpc[op->conn];
		nfsc_credentials(rpc[s], op->uid, op->gid, op->extra_gid);
		for (int i = from; i < to; i++) {
			struct answer *a = &sides[s].answer[i];

			prepare(a, op, &outstanding);
			if (send_op(op, s, i, rpc[s], a) != 0)
				text_add(&a->text, "could not be sent: %s", rpc_get_error(rpc[s]));
			else
				outstanding++;
		}
	}
	if (nfsc_wait(rpc, SIDES, &outstanding, ANSWER_TIMEOUT_MS))
		return;
	printf("NO ANSWER within %d s, or a connection broke, at operation %lu: %s\n",
	       ANSWER_TIMEOUT_MS / 1000, done_ops, op->what.p);
	for (int s = 0; s < SIDES; s++) {
		for (int i = from; i < to; i++)
			printf("  side %d: %s\n", s,
			       sides[s].answer[i].arrived ? sides[s].answer[i].text.p : "nothing");
	}
	print_history();
	exit(1);
}

/* A burst's first READ goes alone: it settles the access time for the others. */
static void run_op(const struct op *op)
{
	exchange(op, 0, 1);
	if (op->burst > 1)
		exchange(op, 1, op->burst);
}

/* The write verifier names a server's start: it must not change while the server lives. */
static bool verifier_kept(struct side *side, const struct answer *a)
{
	if (!a->has_verf)
		return true;
	if (!side->has_verf) {
		memcpy(side->verf, a->verf, sizeof(side->verf));
		side->has_verf = true;
	}
	return memcmp(side->verf, a->verf, sizeof(side->verf)) == 0;
}

static bool same_ids(const struct answer *a, const struct answer *b)
{
	bool created = (a->proc == P_CREATE || a->proc == P_MKDIR || a->proc == P_SYMLINK ||
			a->proc == P_MKNOD) &&
		       a->status == NFS3_OK && a->type;

	if (a->n_ids != b->n_ids)
		return false;
	for (int i = 0; i < a->n_ids; i++) {
		if (!ids_same(a->id[i], b->id[i], created && i == 0))
			return false;
	}
	return true;
}

/* A WRITE that found the file system full. */
static bool out_of_space(const struct op *op, const struct answer *a)
{
	return op->proc == P_WRITE &&
	       (a->status == NFS3ERR_NOSPC || (a->status == NFS3_OK && a->written < op->count));
}

static bool same_answers(const struct op *op)
{
	bool same = true;

	for (int i = 0; i < op->burst; i++) {
		struct answer *a = &sides[0].answer[i];
		struct answer *b = &sides[1].answer[i];

		if (out_of_space(op, a) && out_of_space(op, b))
			continue;
		if (strcmp(a->text.p, b->text.p) || a->data_len != b->data_len ||
		    (a->data_len && memcmp(a->data, b->data, a->data_len)))
			same = false;
		if (same && !same_ids(a, b))
			same = false;
		if ((a->fsid == sides[0].root_fsid) != (b->fsid == sides[1].root_fsid))
			same = false;
		for (int s = 0; s < SIDES; s++) {
			if (!verifier_kept(&sides[s], &sides[s].answer[i]))
				same = false;
		}
	}
	return same;
}

static void sleep_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

/*
 * A removed file lives as long as the disk is busy with it: REMOVE waits for that, but not for ever.
 * Whoever has its handle may meanwhile find what the reference does not have any more.
 */
static bool not_gone_yet(const struct op *op)
{
	for (int i = 0; i < op->burst; i++)
		if (sides[0].answer[i].status == NFS3ERR_STALE &&
		    sides[1].answer[i].status != NFS3ERR_STALE)
			return true;
	return false;
}

/* True when both sides agree, if need be a little later. */
static bool agree(const struct op *op)
{
	int waited;

	if (same_answers(op))
		return true;
	if (op->proc != P_FSSTAT && !not_gone_yet(op))
		return false;
	for (waited = 0; waited < SETTLE_MS; waited += SETTLE_STEP_MS) {
		sleep_ms(SETTLE_STEP_MS);
		run_op(op);
		if (same_answers(op)) {
			settled++;
			return true;
		}
	}
	return false;
}

static void report_data(const struct answer *a, const struct answer *b)
{
	size_t n = a->data_len < b->data_len ? a->data_len : b->data_len;

	for (size_t i = 0; i < n; i++) {
		if (a->data[i] != b->data[i]) {
			printf("    data differ first at byte %zu of %zu: %02x, %02x\n", i, n,
			       (unsigned char)a->data[i], (unsigned char)b->data[i]);
			return;
		}
	}
}

/* The first two, and those that are not each other's. */
static void report_ids(const struct answer *a, const struct answer *b)
{
	for (int k = 0; k < a->n_ids && k < b->n_ids; k++) {
		bool same = ids_same(a->id[k], b->id[k], false);

		if (k < 2 || !same)
			printf("    inodes %llu, %llu%s\n", (unsigned long long)a->id[k],
			       (unsigned long long)b->id[k], same ? "" : ": not each other's");
		if (!same)
			ids_report(a->id[k], b->id[k]);
	}
}

static void report(const struct op *op, const struct options *opt)
{
	printf("DIFFERENCE at operation %lu (seed %llu): %s\n", done_ops,
	       (unsigned long long)opt->seed, op->what.p);
	for (int i = 0; i < op->burst; i++) {
		struct answer *a = &sides[0].answer[i];
		struct answer *b = &sides[1].answer[i];

		printf("  [%d] reference: %s\n      tested:    %s\n", i, a->text.p, b->text.p);
		report_data(a, b);
		report_ids(a, b);
		for (int s = 0; s < SIDES; s++) {
			if (!verifier_kept(&sides[s], &sides[s].answer[i]))
				printf("    the write verifier of side %d changed\n", s);
		}
	}
	print_history();
}

static void learn_pair(const struct nfsc_fh *a, const struct nfsc_fh *b, int type, int export)
{
	struct node node = {.fh = {*a, *b}, .type = type, .export = export};

	draw_learn(&draw, &node);
}

static void learn(const struct op *op)
{
	struct answer *a = &sides[0].answer[0];
	struct answer *b = &sides[1].answer[0];

	if (a->status != NFS3_OK)
		return;
	/* ".." may lead out of the export, to what both servers share */
	if (a->fh.len && b->fh.len && strcmp(op->name, "..") != 0)
		learn_pair(&a->fh, &b->fh, a->type, op->export);
	if (op->proc != P_READDIR && op->proc != P_READDIRPLUS)
		return;
	for (int i = 0; i < a->n_learnt; i += 3)
		learn_pair(&a->learnt[i].fh, &b->learnt[i].fh, a->learnt[i].type, op->export);
	draw.listing.open = !a->eof && a->n_entries;
	draw.listing.plus = op->proc == P_READDIRPLUS;
	memcpy(draw.listing.dir, op->fh, sizeof(draw.listing.dir));
	draw.listing.cookie = a->last_cookie;
	memcpy(draw.listing.verf[0], a->cookieverf, sizeof(cookieverf3));
	memcpy(draw.listing.verf[1], b->cookieverf, sizeof(cookieverf3));
}

static void count_status(enum proc proc, int status)
{
	int i;

	all_count[proc]++;
	ok_count[proc] += status == NFS3_OK || proc == P_NULL;
	for (i = 0; i < STATUSES - 1; i++) {
		if (!statuses[i].n || statuses[i].status == status)
			break;
	}
	statuses[i].status = status;
	statuses[i].n++;
}

static void remember(const struct op *op)
{
	struct text *line = &history[done_ops % HISTORY];

	text_clear(line);
	text_add(line, "%s => %s", op->what.p, status_name(sides[0].answer[0].status));
}

/* How much of a WRITE still fits depends on the size of the folios in the page cache, for ext4
 * allocates one folio at a time: both must run out, but then the file is emptied on both. */
static void empty_after_short_write(const struct op *op)
{
	struct op empty = {.proc = P_SETATTR, .conn = op->conn, .burst = 1};

	memcpy(empty.fh, op->fh, sizeof(empty.fh));
	empty.attr.size.set_it = 1;
	text_add(&empty.what, "SETATTR uid=0 size=0, after a short write");
	exchange(&empty, 0, 1);
	free(empty.what.p);
}

/* A guarded SETATTR needs the object's ctime, which each side has its own of: ask first. */
static void draw_guard(struct op *op)
{
	struct op ask = {.proc = P_GETATTR, .conn = op->conn, .burst = 1};
	bool wrong = draw_below(&draw, 2);

	memcpy(ask.fh, op->fh, sizeof(ask.fh));
	exchange(&ask, 0, 1);
	for (int s = 0; s < SIDES; s++) {
		op->guard_time[s] = sides[s].answer[0].ctime;
		op->guard_time[s].seconds += wrong;
	}
}

static int evict_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	int fd = kind == FTW_F && S_ISREG(st->st_mode)
			 ? open(path, O_RDONLY | O_NOATIME | O_CLOEXEC)
			 : -1;

	if (fd >= 0) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	return 0;
}

/* Makes the reads that follow go to the disk. Only file data are dropped: ext4 without a journal
 * picks inode numbers by what it still has cached of deleted inodes. */
static void evict(const struct options *opt)
{
	sync();
	for (int s = 0; s < SIDES; s++) {
		if (opt->tree[s])
			nftw(opt->tree[s], evict_file, 8, FTW_PHYS | FTW_MOUNT);
	}
}

static int run(const struct options *opt)
{
	static struct op op;
	enum proc before = P_NULL;

	for (done_ops = 0; done_ops < opt->ops; done_ops++) {
		if (done_ops % EVICT_EVERY == EVICT_EVERY - 1)
			evict(opt);
		draw_op(&draw, &op);
		if (op.guard)
			draw_guard(&op);
		if (op.timed)
			sleep_ms(TICK_MS);
		/* MDCACHE notes the time of an asynchronous READ just after the answer went out:
		 * leave it that moment before times are set. */
		if (before == P_READ && (op.proc == P_SETATTR || op.proc == P_CREATE))
			sleep_ms(1);
		before = op.proc;
		run_op(&op);
		if (!agree(&op)) {
			report(&op, opt);
			if (++differences >= (unsigned long)opt->tolerate)
				return 1;
		}
		count_status(op.proc, sides[0].answer[0].status);
		remember(&op);
		learn(&op);
		if (out_of_space(&op, &sides[0].answer[0]))
			empty_after_short_write(&op);
	}
	return differences ? 1 : 0;
}

static bool seen(int status)
{
	for (int i = 0; i < STATUSES; i++) {
		if (statuses[i].n && statuses[i].status == status)
			return true;
	}
	return false;
}

/* A sequence that reaches too little proves too little. */
static int check_coverage(void)
{
	static const int wanted[] = {
		NFS3_OK,	NFS3ERR_NOENT,	     NFS3ERR_ACCES,    NFS3ERR_EXIST,
		NFS3ERR_NOTDIR, NFS3ERR_ISDIR,	     NFS3ERR_INVAL,    NFS3ERR_NOSPC,
		NFS3ERR_STALE,	NFS3ERR_NAMETOOLONG, NFS3ERR_NOTEMPTY, NFS3ERR_BADHANDLE,
		NFS3ERR_PERM,	NFS3ERR_NOT_SYNC,
	};
	int missing = 0;

	for (int p = 0; p < PROCS; p++) {
		if (!ok_count[p]) {
			printf("not covered: %s never succeeded\n", proc_name[p]);
			missing++;
		}
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!seen(wanted[i])) {
			printf("not covered: no %s\n", status_name(wanted[i]));
			missing++;
		}
	}
	return missing;
}

static void summary(const struct options *opt, uint64_t ms)
{
	printf("seed %llu: %lu operations in %.1f s, %lu differences, %lu settled late\n",
	       (unsigned long long)opt->seed, done_ops, (double)ms / 1000, differences, settled);
	for (int p = 0; p < PROCS; p++)
		printf("  %s %lu/%lu%s", proc_name[p], ok_count[p], all_count[p],
		       p % 6 == 5 || p == PROCS - 1 ? "\n" : "");
	for (int i = 0; i < STATUSES && statuses[i].n; i++)
		printf("  %s %lu", status_name(statuses[i].status), statuses[i].n);
	printf("\n");
}

static void connect_side(struct side *side, const struct options *opt, int s)
{
	for (int c = 0; c < CONNS; c++) {
		side->rpc[c] = nfsc_connect(&side->server);
		if (!side->rpc[c])
			exit(2);
	}
	for (int e = 0; e < 2; e++) {
		int status = nfsc_mount(&side->server, opt->export[e], &draw.node[e].fh[s]);

		if (status != 0) {
			fprintf(stderr, "parity: mount of %s at side %d: %d\n", opt->export[e], s,
				status);
			exit(2);
		}
		draw.node[e].type = NF3DIR;
		draw.node[e].export = e;
		draw.node[e].root = true;
	}
	draw.nodes = 2;
}

static void learn_fsid(void)
{
	struct op ask = {.proc = P_GETATTR, .burst = 1};

	memcpy(ask.fh, draw.node[0].fh, sizeof(ask.fh));
	exchange(&ask, 0, 1);
	for (int s = 0; s < SIDES; s++) {
		if (sides[s].answer[0].status != NFS3_OK)
			fail("GETATTR of the root failed");
		sides[s].root_fsid = sides[s].answer[0].fsid;
	}
}

static void start(const struct options *opt)
{
	draw.rng = opt->seed;
	draw.noise = malloc(WRITE_MAX + 4096);
	if (!draw.noise)
		fail("out of memory");
	for (size_t i = 0; i < WRITE_MAX + 4096; i += 8) {
		uint64_t bits = draw_bits(&draw);

		memcpy(draw.noise + i, &bits, 8);
	}
	for (int s = 0; s < SIDES; s++)
		connect_side(&sides[s], opt, s);
	learn_fsid();
}

static const char usage[] =
	"parity [options] HOST:PORT:MOUNTPORT HOST:PORT:MOUNTPORT   (reference, tested)\n"
	"  --seed N        of the sequence (default: the time)\n"
	"  --ops N         operations (default 20000)\n"
	"  --full PATH     export without squash (default /full)\n"
	"  --squash PATH   the same tree with root squash (default /squash)\n"
	"  --tree DIR      the local tree of a side, the first one's first: cached data of its\n"
	"                  files are dropped now and then, and names of inodes are looked up\n"
	"  --tolerate N    stop at the Nth difference (default 1)\n"
	"  --read-min N    bytes that a READ asks for, at least (default 0)\n"
	"  --fsstat-root   FSSTAT asks of the root, never of what may be gone\n"
	"  --no-coverage   do not fail when some procedure or status was never reached\n";

static void keep_tree(struct options *opt, const char *dir)
{
	int side = opt->tree[0] != NULL;

	opt->tree[side] = dir;
	ids_look_in(side, dir);
}

static bool parse(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = {
		{"seed", required_argument, NULL, 's'},	 {"ops", required_argument, NULL, 'n'},
		{"full", required_argument, NULL, 'f'},	 {"squash", required_argument, NULL, 'q'},
		{"tree", required_argument, NULL, 'e'},	 {"tolerate", required_argument, NULL, 't'},
		{"no-coverage", no_argument, NULL, 'c'}, {"read-min", required_argument, NULL, 'r'},
		{"fsstat-root", no_argument, NULL, 'o'}, {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 's')
			opt->seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			opt->ops = strtoul(optarg, NULL, 0);
		else if (c == 'f')
			opt->export[0] = optarg;
		else if (c == 'q')
			opt->export[1] = optarg;
		else if (c == 'e')
			keep_tree(opt, optarg);
		else if (c == 't')
			opt->tolerate = atoi(optarg);
		else if (c == 'r')
			draw.read_min = strtoul(optarg, NULL, 0);
		else if (c == 'o')
			draw.fsstat_root = true;
		else if (c == 'c')
			opt->coverage = false;
		else
			return false;
	}
	return argc - optind == SIDES && nfsc_parse_server(argv[optind], &sides[0].server) &&
	       nfsc_parse_server(argv[optind + 1], &sides[1].server);
}

int main(int argc, char **argv)
{
	struct options opt = {
		.seed = (uint64_t)time(NULL),
		.ops = 20000,
		.tolerate = 1,
		.export = {"/full", "/squash"},
		.coverage = true,
	};
	uint64_t began = nfsc_now_ms();
	int rc;

	if (!parse(argc, argv, &opt)) {
		fputs(usage, stderr);
		return 2;
	}
	printf("seed %llu\n", (unsigned long long)opt.seed);
	fflush(stdout);
	start(&opt);
	rc = run(&opt);
	summary(&opt, nfsc_now_ms() - began);
	if (opt.coverage && rc == 0 && check_coverage())
		rc = 1;
	return rc;
}
