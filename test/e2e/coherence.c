/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Coherence verifier: no READ may return a byte that was replaced before the READ was sent.
 *
 * Files are made of 4 KiB blocks. Every change of a file takes the next number of one counter; a
 * write stamps its blocks with it, punching and extending leave zeros, truncating leaves nothing.
 * Per block it is kept which change was completed last and which was begun last:
 *
 *   reader                              changer (one at a time per file)
 *   floor = completed[block]            number = ++counter; begun[kind][block] = number
 *   READ ------------------------->     WRITE, SETATTR, pwrite, ftruncate, fallocate, ...
 *   judge what came                     completed[block] = number
 *
 * What a READ shows of a block is of one kind (data with a stamp, zeros, or nothing), and is right
 * only if a change of that kind, numbered not below the floor, had begun by the READ's end; data
 * must carry such a stamp and be whole, unless a change ran beside the READ.
 *
 * Changes go through NFS and, behind the server's back, through the local file system. Readers use
 * patterns that provoke read-ahead, and the cached data are dropped again and again, so that
 * prefetch has something to do. Besides: files replaced by rename must show at once, and the space
 * of removed files must come back within FREE_MS.
 *
 * Exit status: 0 coherent, 1 not, 2 the test itself could not run.
 */
#include "nfsc.h"

#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define BLOCK	      4096u
#define WORDS	      (BLOCK / 8)
#define FILES	      4
#define BLOCKS	      2048u /* a file at full length */
#define READERS	      6
#define CHANGERS      2
#define PIPELINE      4	  /* READs outstanding per reader */
#define READ_BLOCKS   8u  /* of one READ */
#define WRITE_BLOCKS  16u /* at most, of one change */
#define TARGET_BLOCKS 128u
#define BIG_MB	      48u
#define FREE_MS	      10000 /* on a busy machine; a descriptor that is idle is closed after 30000 */
#define ANSWER_MS     60000
#define MAGIC	      0x9e3779b97f4a7c15ull

enum kind { DATA, ZEROS, NOTHING, KINDS };

struct file {
	pthread_mutex_t lock; /* held through a change */
	int index;
	int fd; /* local, so that renames do not matter */
	struct nfsc_fh fh;
	char name[32];
	uint32_t blocks; /* length now; under lock */
	_Atomic uint64_t begun[KINDS][BLOCKS];
	_Atomic uint64_t completed[BLOCKS];
};

struct worker {
	pthread_t thread;
	int index;
	uint64_t rng;
	struct rpc_context *rpc;
};

static struct nfsc_server server;
static struct nfsc_fh root;
static const char *local_dir;
static struct file files[FILES];
static struct file target; /* replaced by rename; only its block 0's counters are used */
static _Atomic uint64_t counter;
static _Atomic bool stopping;
static _Atomic unsigned long reads, judged, torn, changes, replaced, replaced_reads, removals;
static _Atomic unsigned long faults;
static _Atomic unsigned long worst_free_ms;
static _Atomic uint64_t answered_ms; /* when the last READ was */
static bool stops;		     /* ours, before the end, where an answer is missing */

static uint64_t bits(uint64_t *rng)
{
	uint64_t z = *rng += MAGIC;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint32_t below(uint64_t *rng, uint32_t n)
{
	return (uint32_t)((bits(rng) >> 32) % n);
}

static void sleep_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

static void __attribute__((format(printf, 1, 2), noreturn)) broken(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("coherence: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	fflush(stdout);
	_exit(2);
}

/* Until all READs of W's are answered; where they are not, all is told that may say why. */
static void wait_for_reads(struct worker *w, const int *outstanding, const char *of)
{
	uint64_t began = nfsc_now_ms(), now;

	if (nfsc_wait(&w->rpc, 1, outstanding, ANSWER_MS))
		return;
	now = nfsc_now_ms();
	fprintf(stderr,
		"coherence: no answer to READ of %s for %llu ms, %d outstanding; libnfs: %s; "
		"another "
		"READ was answered %llu ms ago\n",
		of, (unsigned long long)(now - began), *outstanding, rpc_get_error(w->rpc),
		(unsigned long long)(now - atomic_load(&answered_ms)));
	if (stops)
		raise(SIGSTOP); /* whoever started us looks at the server */
	fflush(stdout);
	_exit(2);
}

/* Block contents: number, place, then words that follow from both. */
static void stamp(uint64_t *block, uint64_t place, uint64_t number)
{
	block[0] = number;
	block[1] = place;
	for (uint32_t i = 2; i < WORDS; i++)
		block[i] = (number * MAGIC) ^ (place + i);
}

/* What a block shows: its kind, the stamp, and whether all its words agree. */
static enum kind inspect(const uint64_t *block, uint64_t place, uint64_t *number, bool *whole)
{
	*whole = true;
	*number = block[0];
	if (block[0] == 0) {
		for (uint32_t i = 1; i < WORDS; i++)
			*whole = *whole && block[i] == 0;
		return ZEROS;
	}
	*whole = block[1] == place;
	for (uint32_t i = 2; i < WORDS; i++)
		*whole = *whole && block[i] == ((*number * MAGIC) ^ (place + i));
	return DATA;
}

static uint64_t place_of(const struct file *file, uint32_t block)
{
	return (uint64_t)(file->index + 1) << 32 | block;
}

/* ---- changes ---- */

static uint64_t begin_change(struct file *file, enum kind kind, uint32_t from, uint32_t to)
{
	uint64_t number = atomic_fetch_add(&counter, 1) + 1;

	for (uint32_t b = from; b < to; b++)
		atomic_store(&file->begun[kind][b], number);
	return number;
}

static void complete_change(struct file *file, uint64_t number, uint32_t from, uint32_t to)
{
	for (uint32_t b = from; b < to; b++)
		atomic_store(&file->completed[b], number);
	atomic_fetch_add(&changes, 1);
}

static void must(bool good, const char *what, const struct file *file)
{
	if (!good)
		broken("%s of %s failed", what, file->name);
}

static void change_write(struct worker *w, struct file *file, bool by_nfs)
{
	static _Thread_local uint64_t data[WRITE_BLOCKS * WORDS];
	uint32_t n = 1 + below(&w->rng, WRITE_BLOCKS);
	uint32_t from;
	uint64_t number;

	if (file->blocks < n)
		return;
	from = below(&w->rng, file->blocks - n + 1);
	number = begin_change(file, DATA, from, from + n);
	for (uint32_t i = 0; i < n; i++)
		stamp(data + i * WORDS, place_of(file, from + i), number);
	if (by_nfs)
		must(nfsc_write(w->rpc, &file->fh, (uint64_t)from * BLOCK, data, n * BLOCK,
				below(&w->rng, 8) ? UNSTABLE : FILE_SYNC) == NFS3_OK,
		     "WRITE", file);
	else
		must(pwrite(file->fd, data, n * BLOCK, (off_t)from * BLOCK) == (ssize_t)(n * BLOCK),
		     "pwrite", file);
	complete_change(file, number, from, from + n);
}

/* Changes the length: what is cut is nothing, what is added is zeros. */
static void set_length(struct worker *w, struct file *file, uint32_t blocks, bool by_nfs)
{
	bool cut = blocks < file->blocks;
	uint32_t from = cut ? blocks : file->blocks;
	uint32_t to = cut ? file->blocks : blocks;
	uint64_t number = begin_change(file, cut ? NOTHING : ZEROS, from, to);
	uint64_t size = (uint64_t)blocks * BLOCK;

	if (by_nfs)
		must(nfsc_truncate(w->rpc, &file->fh, size) == NFS3_OK, "SETATTR", file);
	else
		must(ftruncate(file->fd, (off_t)size) == 0, "ftruncate", file);
	file->blocks = blocks;
	complete_change(file, number, from, to);
}

static void change_length(struct worker *w, struct file *file, bool by_nfs)
{
	uint32_t blocks = BLOCKS;

	if (file->blocks == BLOCKS)
		blocks = BLOCKS / 2 + below(&w->rng, BLOCKS / 2);
	set_length(w, file, blocks, by_nfs);
}

/* NFSv3 cannot punch: always local. */
static void change_punch(struct worker *w, struct file *file)
{
	uint32_t n = 1 + below(&w->rng, 4 * WRITE_BLOCKS);
	uint32_t from;
	uint64_t number;

	if (file->blocks < n)
		return;
	from = below(&w->rng, file->blocks - n + 1);
	number = begin_change(file, ZEROS, from, from + n);
	must(fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from * BLOCK,
		       (off_t)n * BLOCK) == 0,
	     "punching", file);
	complete_change(file, number, from, from + n);
}

/* A rename changes no byte: readers by handle must not notice. */
static void change_name(struct worker *w, struct file *file, bool by_nfs)
{
	char name[32], from[4096], to[4096];

	snprintf(name, sizeof(name), "file%d.%u", file->index, below(&w->rng, 1000000));
	snprintf(from, sizeof(from), "%s/%s", local_dir, file->name);
	snprintf(to, sizeof(to), "%s/%s", local_dir, name);
	if (by_nfs)
		must(nfsc_rename(w->rpc, &root, file->name, name) == NFS3_OK, "RENAME", file);
	else
		must(rename(from, to) == 0, "rename", file);
	strcpy(file->name, name);
	atomic_fetch_add(&changes, 1);
}

/* Writes back and drops the file's cached data, so that read-ahead starts anew. */
static void change_evict(struct file *file)
{
	fdatasync(file->fd);
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Writes back through the server: all of the file, or a range of it. Changes no byte either. */
static void change_commit(struct worker *w, struct file *file)
{
	uint32_t from = below(&w->rng, BLOCKS), n = below(&w->rng, BLOCKS - from);

	if (below(&w->rng, 2))
		from = n = 0;
	must(nfsc_commit(w->rpc, &file->fh, (uint64_t)from * BLOCK, n * BLOCK) == NFS3_OK, "COMMIT",
	     file);
}

static void *changer(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&stopping)) {
		struct file *file = &files[below(&w->rng, FILES)];
		uint32_t what = below(&w->rng, 100);
		bool by_nfs = below(&w->rng, 2);

		pthread_mutex_lock(&file->lock);
		if (what < 70)
			change_write(w, file, by_nfs);
		else if (what < 78)
			change_length(w, file, by_nfs);
		else if (what < 88)
			change_punch(w, file);
		else if (what < 92)
			change_name(w, file, true);
		else if (what < 95)
			change_commit(w, file);
		else
			change_evict(file);
		pthread_mutex_unlock(&file->lock);
		sleep_ms(below(&w->rng, 4));
	}
	return NULL;
}

/* ---- reads ---- */

struct read_call {
	struct file *file;
	uint32_t from;
	uint64_t floor[READ_BLOCKS];
	int *outstanding;
};

static void fault(const struct read_call *call, uint32_t block, const char *what, uint64_t number)
{
	struct file *f = call->file;

	if (atomic_fetch_add(&faults, 1) >= 20)
		return;
	printf("STALE: file %d block %u: %s (stamp %llu); completed before the READ: %llu; begun "
	       "by "
	       "its end: data %llu zeros %llu nothing %llu; READ of blocks %u-%u\n",
	       f->index, block, what, (unsigned long long)number,
	       (unsigned long long)call->floor[block - call->from],
	       (unsigned long long)atomic_load(&f->begun[DATA][block]),
	       (unsigned long long)atomic_load(&f->begun[ZEROS][block]),
	       (unsigned long long)atomic_load(&f->begun[NOTHING][block]), call->from,
	       call->from + READ_BLOCKS - 1);
	fflush(stdout);
}

static bool changed_beside(const struct file *f, uint32_t block, uint64_t floor)
{
	for (int kind = 0; kind < KINDS; kind++) {
		if (atomic_load(&f->begun[kind][block]) > floor)
			return true;
	}
	return false;
}

static void judge(const struct read_call *call, uint32_t block, const uint64_t *data)
{
	struct file *f = call->file;
	uint64_t floor = call->floor[block - call->from];
	uint64_t number = 0;
	bool whole = true;
	enum kind kind = data ? inspect(data, place_of(f, block), &number, &whole) : NOTHING;

	atomic_fetch_add(&judged, 1);
	if (!whole) {
		if (changed_beside(f, block, floor))
			atomic_fetch_add(&torn, 1);
		else
			fault(call, block, "words do not agree", number);
		return;
	}
	if (atomic_load(&f->begun[kind][block]) < floor)
		fault(call, block,
		      kind == DATA    ? "old data"
		      : kind == ZEROS ? "zeros where there were none"
				      : "no data: the file is longer",
		      number);
	else if (kind == DATA && number < floor)
		fault(call, block, "old data", number);
	else if (kind == DATA && number > atomic_load(&f->begun[DATA][block]))
		fault(call, block, "data of another place or time", number);
}

static void read_done(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	static _Thread_local uint64_t aligned[READ_BLOCKS * WORDS];
	struct read_call *call = private_data;
	const READ3res *res = data;
	uint32_t n;

	--*call->outstanding;
	atomic_store(&answered_ms, nfsc_now_ms());
	if (status != RPC_STATUS_SUCCESS)
		broken("READ: no answer: %s", status == RPC_STATUS_ERROR ? (char *)data : "");
	if (res->status != NFS3_OK)
		broken("READ of file %d: status %d", call->file->index, res->status);
	n = res->READ3res_u.resok.data.data_len;
	if (n > sizeof(aligned) || n % BLOCK)
		broken("READ of file %d: %u bytes", call->file->index, n);
	memcpy(aligned, res->READ3res_u.resok.data.data_val, n);
	for (uint32_t i = 0; i < READ_BLOCKS; i++)
		judge(call, call->from + i, i < n / BLOCK ? aligned + i * WORDS : NULL);
	atomic_fetch_add(&reads, 1);
}

static void send_read(struct worker *w, struct read_call *call, struct file *file, uint32_t from,
		      int *outstanding)
{
	READ3args args = {nfsc_wire(&file->fh), (uint64_t)from * BLOCK, READ_BLOCKS * BLOCK};

	call->file = file;
	call->from = from;
	call->outstanding = outstanding;
	for (uint32_t i = 0; i < READ_BLOCKS; i++)
		call->floor[i] = atomic_load(&file->completed[from + i]);
	if (rpc_nfs3_read_async(w->rpc, read_done, &args, call) != 0)
		broken("READ could not be sent: %s", rpc_get_error(w->rpc));
	++*outstanding;
}

/* One run over a file: sequential, strided, or a few at random, PIPELINE at a time. */
static void read_run(struct worker *w)
{
	static const uint32_t steps[] = {1, 1, 1, 2, 4, 8};
	struct file *file = &files[below(&w->rng, FILES)];
	uint32_t step = steps[below(&w->rng, 6)] * READ_BLOCKS;
	uint32_t at = below(&w->rng, BLOCKS / READ_BLOCKS / 2) * READ_BLOCKS;
	bool random = below(&w->rng, 6) == 0;

	for (int round = 0; round < 48 && !atomic_load(&stopping); round++) {
		struct read_call calls[PIPELINE];
		int outstanding = 0;

		for (int i = 0; i < PIPELINE; i++) {
			if (random)
				at = below(&w->rng, BLOCKS - READ_BLOCKS);
			if (at + READ_BLOCKS > BLOCKS)
				return;
			send_read(w, &calls[i], file, at, &outstanding);
			at += step;
			if (at + READ_BLOCKS > BLOCKS)
				break;
		}
		wait_for_reads(w, &outstanding, file->name);
	}
}

static void *reader(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&stopping))
		read_run(w);
	return NULL;
}

/* ---- replaced by rename ---- */

static void *replacer(void *arg)
{
	struct worker *w = arg;
	static uint64_t data[TARGET_BLOCKS * WORDS];

	while (!atomic_load(&stopping)) {
		struct nfsc_fh fh;
		uint64_t number = begin_change(&target, DATA, 0, 1);

		for (uint32_t b = 0; b < TARGET_BLOCKS; b++)
			stamp(data + b * WORDS, place_of(&target, b), number);
		must(nfsc_create(w->rpc, &root, "new", &fh) == NFS3_OK, "CREATE", &target);
		must(nfsc_write(w->rpc, &fh, 0, data, sizeof(data), UNSTABLE) == NFS3_OK, "WRITE",
		     &target);
		must(nfsc_rename(w->rpc, &root, "new", "target") == NFS3_OK, "RENAME", &target);
		complete_change(&target, number, 0, 1);
		atomic_fetch_add(&replaced, 1);
		sleep_ms(below(&w->rng, 40));
	}
	return NULL;
}

struct target_read {
	int outstanding;
	int status;
	uint64_t number;
	bool mixed;
	uint32_t blocks;
};

static void target_done(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct target_read *r = private_data;
	const READ3res *res = data;
	uint64_t block[WORDS], number;
	bool whole;

	r->outstanding--;
	r->status = status == RPC_STATUS_SUCCESS ? (int)res->status : -1;
	if (r->status != NFS3_OK)
		return;
	for (uint32_t at = 0; at + BLOCK <= res->READ3res_u.resok.data.data_len; at += BLOCK) {
		memcpy(block, res->READ3res_u.resok.data.data_val + at, BLOCK);
		inspect(block, place_of(&target, r->blocks++), &number, &whole);
		if (!whole || (r->number && number != r->number))
			r->mixed = true;
		r->number = number;
	}
}

/* Reads the whole of what LOOKUP gives; false when it was replaced meanwhile (stale). */
static bool read_target(struct worker *w, struct target_read *r)
{
	struct nfsc_fh fh;

	must(nfsc_lookup(w->rpc, &root, "target", &fh) == NFS3_OK, "LOOKUP", &target);
	for (uint32_t b = 0; b < TARGET_BLOCKS; b += READ_BLOCKS) {
		READ3args args = {nfsc_wire(&fh), (uint64_t)b * BLOCK, READ_BLOCKS * BLOCK};

		r->outstanding = 1;
		if (rpc_nfs3_read_async(w->rpc, target_done, &args, r) != 0)
			broken("READ could not be sent: %s", rpc_get_error(w->rpc));
		wait_for_reads(w, &r->outstanding, "the replaced file");
		if (r->status == NFS3ERR_STALE || r->status == NFS3ERR_NOENT ||
		    r->status == NFS3ERR_JUKEBOX) /* its inode is being made another file's */
			return false;
		must(r->status == NFS3_OK, "READ", &target);
	}
	return true;
}

static void *target_reader(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&stopping)) {
		uint64_t floor = atomic_load(&target.completed[0]);
		struct target_read r = {0};

		if (!floor) {
			sleep_ms(5);
			continue;
		}
		if (!read_target(w, &r))
			continue;
		atomic_fetch_add(&replaced_reads, 1);
		if (r.mixed || r.blocks != TARGET_BLOCKS || r.number < floor) {
			atomic_fetch_add(&faults, 1);
			printf("STALE: the replaced file shows stamp %llu in %u blocks%s, but %llu "
			       "was renamed over it before\n",
			       (unsigned long long)r.number, r.blocks, r.mixed ? " (mixed)" : "",
			       (unsigned long long)floor);
		}
	}
	return NULL;
}

/* ---- removed files ---- */

static uint64_t free_bytes(void)
{
	struct statvfs st;

	if (statvfs(local_dir, &st) != 0)
		broken("statvfs %s", local_dir);
	return (uint64_t)st.f_bfree * st.f_frsize;
}

static void make_big(const char *path)
{
	static char chunk[1 << 20];
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0)
		broken("cannot create %s", path);
	for (uint32_t i = 0; i < BIG_MB; i++) {
		if (write(fd, chunk, sizeof(chunk)) != (ssize_t)sizeof(chunk))
			broken("cannot fill %s", path);
	}
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static void ignore_read(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	--*(int *)private_data;
}

/* Reads the first MiBs of the file, enough for read-ahead to be under way far ahead. */
static void start_stream(struct worker *w, const struct nfsc_fh *fh)
{
	int outstanding = 0;

	for (uint32_t i = 0; i < 64; i++) {
		READ3args args = {nfsc_wire(fh), (uint64_t)i * 32768, 32768};

		if (rpc_nfs3_read_async(w->rpc, ignore_read, &args, &outstanding) == 0)
			outstanding++;
		if (outstanding >= PIPELINE)
			wait_for_reads(w, &outstanding, "the big file");
	}
	wait_for_reads(w, &outstanding, "the big file");
}

static void *remover(void *arg)
{
	struct worker *w = arg;
	char path[4096];

	snprintf(path, sizeof(path), "%s/big", local_dir);
	while (!atomic_load(&stopping)) {
		struct nfsc_fh fh;
		uint64_t full, began, took;

		make_big(path);
		must(nfsc_lookup(w->rpc, &root, "big", &fh) == NFS3_OK, "LOOKUP", &target);
		start_stream(w, &fh);
		full = free_bytes();
		must(nfsc_remove(w->rpc, &root, "big") == NFS3_OK, "REMOVE", &target);
		began = nfsc_now_ms();
		/* the other files' holes and truncations move the count a little */
		while (free_bytes() < full + (uint64_t)BIG_MB * 3 / 4 * (1 << 20) &&
		       nfsc_now_ms() - began < 4 * FREE_MS)
			sleep_ms(5);
		took = nfsc_now_ms() - began;
		atomic_fetch_add(&removals, 1);
		if (took > atomic_load(&worst_free_ms))
			atomic_store(&worst_free_ms, took);
		if (took > FREE_MS) {
			atomic_fetch_add(&faults, 1);
			printf("PINNED: the space of a removed file was not free after %llu ms\n",
			       (unsigned long long)took);
		}
		sleep_ms(100);
	}
	return NULL;
}

/* ---- set-up ---- */

static void make_file(struct worker *w, int index)
{
	struct file *f = &files[index];
	char path[4096];

	f->index = index;
	pthread_mutex_init(&f->lock, NULL);
	snprintf(f->name, sizeof(f->name), "file%d", index);
	snprintf(path, sizeof(path), "%s/%s", local_dir, f->name);
	f->fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
	if (f->fd < 0)
		broken("cannot create %s", path);
	must(nfsc_lookup(w->rpc, &root, f->name, &f->fh) == NFS3_OK, "LOOKUP", f);
	set_length(w, f, BLOCKS, false);
	for (int i = 0; i < 400; i++)
		change_write(w, f, false);
}

static void run_worker(struct worker *w, int index, uint64_t seed, void *(*work)(void *))
{
	w->index = index;
	w->rng = seed + (uint64_t)index * 0x1234567;
	w->rpc = nfsc_connect(&server);
	if (!w->rpc)
		exit(2);
	nfsc_credentials(w->rpc, 0, 0, 0);
	if (work && pthread_create(&w->thread, NULL, work, w) != 0)
		broken("cannot start a thread");
}

static int run(uint64_t seed, int seconds)
{
	static struct worker w[READERS + CHANGERS + 4];
	int n = 0;

	run_worker(&w[0], 0, seed, NULL);
	for (int i = 0; i < FILES; i++)
		make_file(&w[0], i);
	target.index = FILES;
	strcpy(target.name, "target");
	for (n = 1; n <= READERS; n++)
		run_worker(&w[n], n, seed, reader);
	for (; n <= READERS + CHANGERS; n++)
		run_worker(&w[n], n, seed, changer);
	run_worker(&w[n], n, seed, replacer);
	n++;
	run_worker(&w[n], n, seed, target_reader);
	n++;
	run_worker(&w[n], n, seed, remover);
	for (int s = 0; s < seconds * 10 && atomic_load(&faults) < 20; s++)
		sleep_ms(100);
	atomic_store(&stopping, true);
	for (int i = 1; i <= n; i++)
		pthread_join(w[i].thread, NULL);
	printf("%lu READs, %lu blocks judged (%lu torn by a change beside), %lu changes, "
	       "%lu replacements read %lu times, %lu removals (space back after %lu ms at most), "
	       "%lu faults\n",
	       reads, judged, torn, changes, replaced, replaced_reads, removals, worst_free_ms,
	       faults);
	return faults ? 1 : 0;
}

static const char usage[] = "coherence [--seed N] [--seconds N] [--export PATH] [--stops] --local "
			    "DIRECTORY "
			    "HOST:PORT:MOUNTPORT\n"
			    "  DIRECTORY is what the server exports as PATH, on this machine\n"
			    "  --stops: by SIGSTOP where an answer is missing, before it ends\n";

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"seed", required_argument, NULL, 's'},	  {"seconds", required_argument, NULL, 't'},
		{"export", required_argument, NULL, 'e'}, {"local", required_argument, NULL, 'l'},
		{"stops", no_argument, NULL, 'S'},	  {NULL, 0, NULL, 0},
	};
	uint64_t seed = (uint64_t)time(NULL);
	const char *export = "/full";
	int seconds = 20;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 't')
			seconds = atoi(optarg);
		else if (c == 'e')
			export = optarg;
		else if (c == 'l')
			local_dir = optarg;
		else if (c == 'S')
			stops = true;
		else
			local_dir = NULL;
	}
	if (!local_dir || argc - optind != 1 || !nfsc_parse_server(argv[optind], &server)) {
		fputs(usage, stderr);
		return 2;
	}
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	if (nfsc_mount(&server, export, &root) != 0)
		broken("mount of %s failed", export);
	return run(seed, seconds);
}
