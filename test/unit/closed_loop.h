/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Random readers of 8 KiB who ask again as soon as they are answered, over the modelled disk of
 * bench/mechdisk, at depth 1; and, if wanted, a client whose COMMITs wait one after the other.
 *
 *   next = sched_next() ---> disk_model_serve() ---> sched_done() ---> the reader asks again
 */
#ifndef UNIT_CLOSED_LOOP_H
#define UNIT_CLOSED_LOOP_H

#include "disk.h"
#include "disk_model.h"

#define LOOP_READ 8192

struct loop {
	struct sched_queue *q;
	struct disk_model *disk;
	struct sched_req *reads, write;
	uint64_t now, seed, size;
	uint64_t wished;       /* when the present COMMIT began to wait; 0: none does */
	uint64_t write_length; /* ns that a write-back takes */
	bool unasked;	       /* no COMMIT asks for what is written */
	/* What came out. */
	uint64_t served, commits, commit_wait_max, read_wait_max;
};

static inline void loop_read(struct loop *l, struct sched_req *r)
{
	uint64_t block = random_below(&l->seed, l->size / LOOP_READ) * LOOP_READ;

	*r = (struct sched_req){.class = SCHED_DEMAND,
				.file = 1,
				.offset = block,
				.block = block,
				.len = LOOP_READ};
	assert_int_equal(sched_submit(l->q, r, l->now), SCHED_ADDED);
}

static inline void loop_commit(struct loop *l)
{
	uint64_t block = random_below(&l->seed, l->size / MIB - 4) * MIB;

	l->write = (struct sched_req){
		.class = SCHED_WRITEBACK, .file = 2, .block = block, .len = 4 * MIB};
	assert_int_equal(sched_submit(l->q, &l->write, l->now), SCHED_ADDED);
	if (!l->unasked)
		sched_want(l->q, &l->write, &l->write.flow, l->now);
	l->wished = l->now;
}

static inline void loop_init(struct loop *l, const char *policy, unsigned int readers,
			     const struct sched_limits *limits)
{
	struct disk_params p;

	disk_params_default(&p);
	*l = (struct loop){.q = queue_new(sched_policy_find(policy), limits),
			   .disk = disk_model_new(&p),
			   .reads = calloc(readers, sizeof(*l->reads)),
			   .now = SEC,
			   .seed = readers,
			   .write_length = 130 * MSEC};
	assert_true(l->disk && l->reads);
	l->size = disk_model_size(l->disk);
	for (unsigned int i = 0; i < readers; i++)
		loop_read(l, &l->reads[i]);
}

static inline void loop_serve_read(struct loop *l, struct sched_req *r, struct sched_list *woken)
{
	uint64_t wait = l->now - r->submitted;
	struct disk_service s;

	disk_model_serve(l->disk, DISK_READ, r->block, r->io_len, (int64_t)l->now, &s);
	l->read_wait_max = wait > l->read_wait_max ? wait : l->read_wait_max;
	l->now = (uint64_t)s.end_ns;
	sched_done(l->q, r, l->now, woken);
	l->served++;
	loop_read(l, r);
}

static inline void loop_serve_write(struct loop *l, struct sched_list *woken)
{
	uint64_t wait = l->now - l->wished;

	l->commit_wait_max = wait > l->commit_wait_max ? wait : l->commit_wait_max;
	l->now += l->write_length;
	sched_done(l->q, &l->write, l->now, woken);
	l->commits++;
	l->wished = 0;
}

/* Goes on for NS; COMMITTING: with a COMMIT always waiting. */
static inline void loop_run(struct loop *l, uint64_t ns, bool committing)
{
	struct sched_list woken = TAILQ_HEAD_INITIALIZER(woken);
	uint64_t end = l->now + ns;

	while (l->now < end) {
		struct sched_req *r;

		if (committing && !l->wished)
			loop_commit(l);
		r = sched_next(l->q, l->now);
		assert_non_null(r);
		if (r == &l->write)
			loop_serve_write(l, &woken);
		else
			loop_serve_read(l, r, &woken);
		while ((r = TAILQ_FIRST(&woken))) { /* neighbours by chance */
			TAILQ_REMOVE(&woken, r, link);
			loop_read(l, r);
		}
	}
}

static inline void loop_fini(struct loop *l)
{
	disk_model_free(l->disk);
	free(l->reads);
	queue_free(l->q);
}

#endif
