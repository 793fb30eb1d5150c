/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What programs do, step by step: workloads by their public descriptions, written anew. A group is
 * so many threads on each of its clients; a thread asks work_next() for its next step, and again
 * when that is done.
 *
 *   randread    random reads of `io` bytes of a file, `count` of them; `warm`: all of it once before
 *   seqread     the file from end to end, `count` times
 *   randwrite   random writes of `io` bytes, `count` of them (0: for ever)
 *   seqwrite    a new file from end to end, `count` times; `hold`: stays open till others are done
 *   log         appends `io` bytes and waits until they are on disk, again and again
 *   copy        each file of a tree, one after another: open, create, read and write, close both
 *   fileserver  filebench's: create and write whole, append, read whole, delete, stat; files of
 *               a gamma distribution of sizes, appends of 16 KiB in the mean
 *   webserver   filebench's: ten times open, read whole, close; then 16 KiB appended to a log
 *
 * oltp (filebench's, an I/O model of Oracle 9i) is three groups: randread, randwrite and log.
 * Two threads never have one file of fileserver's at a time. Pure, for one thread.
 */
#ifndef CANFS_WORK_H
#define CANFS_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "prng.h"

enum work_kind {
	WORK_RANDREAD,
	WORK_SEQREAD,
	WORK_RANDWRITE,
	WORK_SEQWRITE,
	WORK_LOG,
	WORK_COPY,
	WORK_FILESERVER,
	WORK_WEBSERVER,
	WORK_KINDS
};

enum size_law { SIZES_FIXED, SIZES_GAMMA, SIZES_LOG };

#define GROUP_NAME 32
#define GROUP_DIRS 64 /* directories of a set, at most */

struct group_spec {
	char name[GROUP_NAME], dir[GROUP_NAME]; /* dir: below the export */
	enum work_kind work;
	enum size_law sizes;
	uint64_t first, last; /* clients */
	uint64_t threads, files, dirs;
	uint64_t size;	 /* bytes: of each file, or in the mean (gamma), or at most (log) */
	uint64_t least;	 /* bytes: log: at least */
	uint64_t total;	 /* bytes: log: of all files together, 0: as it comes */
	uint64_t io;	 /* bytes of a read or write */
	uint64_t append; /* bytes in the mean */
	uint64_t count;	 /* see above; fileserver, webserver: rounds; 0: for ever */
	uint64_t rate;	 /* bytes/s of a thread, 0: as fast as it goes */
	uint64_t think;	 /* us after each step */
	uint64_t start;	 /* ms: later than the others */
	bool background; /* does not keep the run from ending */
	bool hold, warm, fsync;
};

/* Fills it from "work=copy,files=100,..."; NULL, or what is wrong (static). */
const char *group_parse(const char *text, struct group_spec *g);

enum file_state { FILE_ABSENT, FILE_FREE, FILE_BUSY };

struct work_file {
	uint64_t size;	  /* as laid out, then as known */
	uint64_t content; /* its first word */
	uint32_t generation;
	enum file_state state;
};

/* The files of a group on one client. */
struct work_set {
	const struct group_spec *spec;
	uint64_t seed;
	uint32_t number; /* of the set: no two have the same */
	uint32_t files;
	struct work_file *file;
};

/* False: no memory. Sizes follow from the seed: who lays out and who measures have the same. */
bool work_set_init(struct work_set *s, const struct group_spec *g, uint32_t number, uint64_t seed);
void work_set_free(struct work_set *s);
/* Of all kinds: also copies and logs. */
uint32_t work_set_files(const struct work_set *s);
/* "d03/f00012", at most GROUP_NAME bytes. */
void work_file_name(const struct work_set *s, uint32_t file, char *name);
/* Whether it is there before the load begins. */
bool work_file_laid_out(const struct work_set *s, uint32_t file);

enum step_kind { STEP_DO, STEP_HOLD, STEP_END };

struct step {
	enum step_kind kind; /* HOLD: go on when others are done */
	enum op_kind op;
	uint32_t file;
	uint64_t offset, length, content;
	bool verify, quiet; /* quiet: not in the statistics */
};

struct worker {
	struct work_set *set;
	struct prng prng;
	uint32_t thread;
	uint32_t phase, file;
	uint64_t at, done;
	bool warmed;
};

void worker_init(struct worker *w, struct work_set *s, uint32_t thread);
void work_next(struct worker *w, struct step *step);

#endif
