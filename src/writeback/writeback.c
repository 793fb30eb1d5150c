/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What clients write, names that go, exports that go; the room's life. See writeback.h. */
#include "writeback/writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "writeback/commit.h"
#include "writeback/dirty_memory.h"
#include "writeback/flusher.h"
#include "writeback/turn.h"

/*
 * Writers are paced only while so much of the budget waits for our turns on the disk that they write to, or its part of that
 * where several disks have a share (1/WORTH_SHARE of the budget) waiting: others, and what waits for a slow one, are not theirs.
 */
#define WORTH_PACING 0.25
#define WORTH_SHARE  64
/*
 * ... and only who writes to a file with more than COMMIT_LITTLE dirty, or this part of a small budget: less is
 * a seek, which no waiting makes shorter, and most often its COMMIT comes at once and writes it.
 */
#define PACED_PART 64
/* Longest wait of a REMOVE for the turn that its file is having (ns). */
#define TURN_TIMEOUT CLOCK_SECOND

/* ---- clients ---- */

/* A use of the backing, if its device is one whose write-back we schedule. */
static struct backing *scheduled_backing(struct backing_slot *slot, struct export_io *io)
{
	struct backing *b = backing_get(slot, io, wb.ops->now());

	if (b != NULL && !device_queues_writeback(b->device)) {
		backing_put(b);
		b = NULL;
	}
	return b;
}

/* With the lock, which it drops to log: errors leave no room for a file. Said once. */
static void say_full(void)
{
	uint32_t failed = errors_count();

	if (wb.said_full || wb.stats.files >= wb.max || failed < wb.entries - wb.max)
		return;
	wb.said_full = true;
	lock_drop(&wb.lock);
	log_line(LOG_LEVEL_CRIT,
		 "write-back of %" PRIu32 " files failed and no COMMIT has asked: "
		 "that of more files is the kernel's",
		 failed);
	lock_take(&wb.lock);
}

/*
 * The record of the file, made if need be: then it has *B. NULL: it is the kernel's to write. *LOST:
 * as of dirty_files_insert().
 */
static struct dirty_file *record_of(const struct file_key *key, struct backing **b,
				    struct kept_error **lost)
{
	struct dirty_file *f = dirty_files_find(key);

	if (f == NULL && !wb.stopping) {
		f = dirty_files_insert(key, *b, lost);
		if (f != NULL)
			*b = NULL;
		else
			say_full();
	}
	if (f == NULL || f->gone) /* no room, or it is on its way out */
		wb.stats.untracked++;
	return f == NULL || f->gone ? NULL : f;
}

/* Whether so much of F is dirty, and so much waits for its disk, that its writer may be paced. */
static bool is_much(const struct dirty_file *f)
{
	uint64_t budget = dirty_memory_budget(), part = budget / PACED_PART;
	uint64_t waiting;
	uint32_t disks;

	if (dirty_file_bytes(f) <= (part < COMMIT_LITTLE ? part : COMMIT_LITTLE))
		return false;
	waiting = dirty_files_waiting(f->backing->device);
	disks = dirty_files_disks(budget / WORTH_SHARE);
	return (double)waiting * (disks ? disks : 1) > WORTH_PACING * (double)budget;
}

/* A write of F: returns whether it is to be submitted. *PACED: whether its writer may be paced. */
static bool note_write(struct dirty_file *f, const struct export_io *io,
		       const struct writeback_settings *s, struct flow_id flow, uint64_t offset,
		       uint64_t len, bool *paced)
{
	uint64_t now = wb.ops->now();
	bool ours;

	f->io = io;
	f->flow = flow;
	f->chunk = s->chunk;
	f->delay = s->delay;
	f->age_max = s->age_max;
	f->wrote = now;
	dirty_file_note_place(f, offset, len);
	dirty_add(&f->dirty, offset, len, now);
	ours = !dirty_file_scattered(f);
	if (ours)
		dirty_files_add_waiting(f->backing->device, len);
	*paced = ours && is_much(f);
	return turn_claim(f, dirty_memory_level(), now);
}

bool writeback_wrote(struct backing_slot *slot, struct export_io *io,
		     const struct writeback_settings *s, struct flow_id flow, uint64_t offset,
		     uint64_t len)
{
	struct kept_error *lost = NULL;
	bool due = false, paced = false;
	struct dirty_file *f;
	struct file_key key;
	struct backing *b;

	if (!s->on || !wb.running || !len)
		return false;
	b = scheduled_backing(slot, io);
	if (b == NULL)
		return false;
	file_key_of(&key, slot);
	dirty_memory_wrote(len);
	dirty_memory_refresh(wb.ops->now(), false); /* the flusher may be held up */
	lock_take(&wb.lock);
	f = record_of(&key, &b, &lost);
	if (f != NULL)
		due = note_write(f, io, s, flow, offset, len, &paced);
	lock_drop(&wb.lock);
	errors_give_up(lost, wb.ops->now());
	if (b != NULL)
		backing_put(b);
	if (due)
		turn_submit(f);
	return paced;
}

struct kept_error *writeback_expect(struct backing_slot *slot)
{
	struct kept_error *lost, *place;
	struct file_key key;

	if (!wb.running || !slot->key_len)
		return NULL;
	file_key_of(&key, slot);
	lock_take(&wb.lock);
	place = dirty_files_expect(&key, &lost);
	if (place == NULL)
		say_full();
	lock_drop(&wb.lock);
	errors_give_up(lost, wb.ops->now());
	return place;
}

/* First it is recorded, as by a turn. */
void writeback_expected(struct kept_error *place, dev_t dev, uint64_t file, int err)
{
	bool first;

	lock_take(&wb.lock);
	first = dirty_files_expected(place, dev, file, err);
	lock_drop(&wb.lock);
	if (first)
		errors_log(dev, file, err, "the next COMMIT will say so", wb.ops->now());
}

/* Whether the file of SLOT, of which no descriptor is known, has lost its last link. */
static bool is_gone(struct backing_slot *slot)
{
	int err, fd = slot->open(slot, O_RDONLY, &err);
	struct backing b = {.fd = fd};
	bool gone;

	if (fd < 0)
		return err == ESTALE || err == ENOENT;
	gone = wb.ops->nameless(&b);
	close(fd);
	return gone;
}

/* An error of the file is kept, and no more: who will ask for it? */
static void forget_error(struct backing_slot *slot, const struct file_key *key)
{
	int untold;

	if (!is_gone(slot))
		return;
	lock_take(&wb.lock);
	untold = errors_removed(key);
	lock_drop(&wb.lock);
	if (untold)
		log_line(LOG_LEVEL_EVENT,
			 "a file whose write-back had failed (%s) was removed before anybody asked",
			 strerror(untold));
}

void writeback_unlinked(struct backing_slot *slot)
{
	struct file_key key;
	bool kept;

	if (!wb.running || !slot->key_len)
		return;
	file_key_of(&key, slot);
	lock_take(&wb.lock);
	kept = errors_has(&key);
	lock_drop(&wb.lock);
	if (kept)
		forget_error(slot, &key);
	else
		dirty_files_removed(&key, wb.ops->now() + TURN_TIMEOUT);
}

void writeback_renamed(void)
{
	flusher_sweep_soon();
}

static bool is_of_export(const struct dirty_file *f, const void *io)
{
	return f->io == io;
}

void writeback_leave(const struct export_io *io)
{
	if (wb.running)
		dirty_files_abandon_all(is_of_export, io);
}

/* ---- life ---- */

int writeback_start(const struct writeback_limits *limits, const struct writeback_ops *ops)
{
	int err;

	TAILQ_INIT(&wb.all);
	for (int i = 0; i < DIRTY_FILE_HASH; i++)
		TAILQ_INIT(&wb.hash[i]);
	clock_cond_init(&wb.wake);
	wb.swept = wb.next = NULL;
	wb.n_waiting = 0;
	wb.stopping = false;
	wb.ops = ops;
	wb.refresh = limits->refresh;
	wb.max = limits->files;
	wb.entries = limits->entries;
	wb.said_full = false;
	wb.stats = (struct writeback_stats){0};
	errors_start();
	err = flusher_start(limits->name_thread);
	wb.running = !err;
	return err;
}

static bool is_any(const struct dirty_file *f, const void *unused)
{
	return true;
}

/* The kernel has the data; queued requests end when devices stop. */
void writeback_stop(void)
{
	uint32_t untold;

	if (!wb.running)
		return;
	flusher_stop();
	wb.running = false;
	dirty_files_abandon_all(is_any, NULL);
	lock_take(&wb.lock);
	untold = errors_stop();
	lock_drop(&wb.lock);
	if (untold)
		log_line(LOG_LEVEL_CRIT,
			 "write-back of %" PRIu32 " files failed, and no COMMIT asked for it",
			 untold);
}

void writeback_stats(struct writeback_stats *s)
{
	lock_take(&wb.lock);
	*s = wb.stats;
	s->kept = errors_count();
	lock_drop(&wb.lock);
}
