/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The steps of each kind of work. See work.h. Each is a small program of phases; `phase` says which is
 * next, `at` how far it is in the file.
 */
#include <string.h>

#include "content.h"
#include "work.h"

#define PICK_TRIES 64
#define WEB_READS  10 /* files of webserver before it writes its log */

void worker_init(struct worker *w, struct work_set *s, uint32_t thread)
{
	*w = (struct worker){.set = s, .thread = thread};
	prng_init(&w->prng, s->seed * 7919 + s->number * 10007u + thread);
	w->file = thread % s->files;
}

static struct work_file *file_of(struct worker *w)
{
	return &w->set->file[w->file];
}

static void act(struct worker *w, struct step *s, enum op_kind op, uint64_t offset, uint64_t length)
{
	*s = (struct step){.kind = STEP_DO,
			   .op = op,
			   .file = w->file,
			   .offset = offset,
			   .length = length,
			   .content = file_of(w)->content,
			   .verify = op == OP_READ};
}

static void end(struct step *s)
{
	*s = (struct step){.kind = STEP_END};
}

/* The next piece of the file from end to end; false: there is none left, and it begins anew. */
static bool piece(struct worker *w, struct step *s, enum op_kind op)
{
	uint64_t size = file_of(w)->size, io = w->set->spec->io, at = w->at;

	if (at >= size) {
		w->at = 0;
		return false;
	}
	w->at += io;
	act(w, s, op, at, size - at < io ? size - at : io);
	return true;
}

static bool enough(const struct worker *w)
{
	return w->set->spec->count && w->done >= w->set->spec->count;
}

static void random_place(struct worker *w, struct step *s, enum op_kind op)
{
	uint64_t io = w->set->spec->io;

	act(w, s, op, prng_below(&w->prng, file_of(w)->size / io) * io, io);
}

/* randread and randwrite */
static void next_random(struct worker *w, struct step *s, enum op_kind op)
{
	if (w->phase == 0) {
		w->phase = 1;
		act(w, s, OP_OPEN, 0, 0);
		s->quiet = true;
		return;
	}
	if (w->set->spec->warm && !w->warmed) {
		if (piece(w, s, OP_READ)) {
			s->quiet = true;
			return;
		}
		w->warmed = true;
	}
	if (w->phase == 2 || enough(w)) {
		end(s);
		if (w->phase == 1)
			act(w, s, OP_CLOSE, 0, 0);
		w->phase = 2;
		return;
	}
	w->done++;
	random_place(w, s, op);
}

static void next_seqread(struct worker *w, struct step *s)
{
	if (w->phase == 1 && piece(w, s, OP_READ))
		return;
	if (w->phase == 1) {
		act(w, s, OP_CLOSE, 0, 0);
		w->done++;
		w->phase = 0;
	} else if (enough(w)) {
		end(s);
	} else {
		act(w, s, OP_OPEN, 0, 0);
		w->phase = 1;
	}
}

/* Another generation of data each time. */
static void begin_anew(struct worker *w, struct step *s)
{
	struct work_file *f = file_of(w);

	f->content =
		content_generation(w->set->seed, w->set->number << 20 | w->file, ++f->generation);
	w->at = 0;
	act(w, s, OP_CREATE, 0, 0);
}

static void next_seqwrite(struct worker *w, struct step *s)
{
	enum { CREATE, WRITE, SYNC, HOLD, CLOSE, MORE };

	if (w->phase == WRITE && !piece(w, s, OP_WRITE))
		w->phase = w->set->spec->fsync ? SYNC : w->set->spec->hold ? HOLD : CLOSE;
	else if (w->phase == WRITE)
		return;
	switch (w->phase) {
	case CREATE:
		begin_anew(w, s);
		w->phase = WRITE;
		break;
	case SYNC:
		act(w, s, OP_FSYNC, 0, 0);
		w->phase = w->set->spec->hold ? HOLD : CLOSE;
		break;
	case HOLD:
		*s = (struct step){.kind = STEP_HOLD};
		w->phase = CLOSE;
		break;
	case CLOSE:
		act(w, s, OP_CLOSE, 0, 0);
		w->phase = MORE;
		break;
	default:
		w->done++;
		if (enough(w)) {
			end(s);
		} else {
			begin_anew(w, s);
			w->phase = WRITE;
		}
	}
}

static void next_log(struct worker *w, struct step *s)
{
	enum { CREATE, WRITE, SYNC };

	if (w->phase == CREATE) {
		begin_anew(w, s);
		s->quiet = true;
		w->phase = WRITE;
	} else if (w->phase == SYNC) {
		act(w, s, OP_FSYNC, 0, 0);
		w->phase = WRITE;
		w->done++;
	} else if (enough(w)) {
		end(s);
	} else {
		if (!piece(w, s, OP_WRITE))
			piece(w, s, OP_WRITE);
		w->phase = SYNC;
	}
}

/* Of the same content: the copy of what was read. */
static void next_copy(struct worker *w, struct step *s)
{
	enum { OPEN, CREATE, READ, WRITE, CLOSE_COPY, CLOSE };
	uint32_t files = w->set->files;
	uint64_t at = w->at;

	switch (w->phase) {
	case OPEN:
		w->file = w->done % files;
		if (w->done >= files) {
			end(s);
			return;
		}
		act(w, s, OP_OPEN, 0, 0);
		w->phase = CREATE;
		break;
	case CREATE:
		act(w, s, OP_CREATE, 0, 0);
		s->file += files;
		w->phase = READ;
		break;
	case READ:
		piece(w, s, OP_READ);
		w->phase = WRITE;
		break;
	case WRITE:
		w->at -= w->set->spec->io;
		piece(w, s, OP_WRITE);
		s->file += files;
		w->phase = at < file_of(w)->size ? READ : CLOSE_COPY;
		break;
	case CLOSE_COPY:
		w->at = 0;
		act(w, s, OP_CLOSE, 0, 0);
		s->file += files;
		w->phase = CLOSE;
		break;
	default:
		act(w, s, OP_CLOSE, 0, 0);
		w->phase = OPEN;
		w->done++;
	}
}

/* A file in the state wanted, now ours. False: none found. */
static bool pick(struct worker *w, enum file_state wanted)
{
	for (int i = 0; i < PICK_TRIES; i++) {
		w->file = prng_below(&w->prng, w->set->files);
		if (file_of(w)->state == wanted) {
			file_of(w)->state = FILE_BUSY;
			return true;
		}
	}
	return false;
}

static uint64_t append_size(struct worker *w)
{
	uint64_t pages = w->set->spec->append / PAGE_BYTES;

	return (1 + prng_below(&w->prng, 2 * pages)) * PAGE_BYTES;
}

enum { FS_PICK, FS_WRITE, FS_OPENED, FS_APPENDED, FS_READ, FS_DONE, FS_GONE };

/* Which of the five parts of a round comes now; what it needs may not be there. */
static void fileserver_part(struct worker *w, struct step *s)
{
	uint64_t part = w->done % 5;

	while (!pick(w, part == 0 ? FILE_ABSENT : FILE_FREE))
		part = ++w->done % 5;
	switch (part) {
	case 0:
		begin_anew(w, s);
		w->phase = FS_WRITE;
		break;
	case 1:
	case 2:
		act(w, s, OP_OPEN, 0, 0);
		w->phase = part == 1 ? FS_OPENED : FS_READ;
		break;
	case 3:
		act(w, s, OP_REMOVE, 0, 0);
		w->phase = FS_GONE;
		break;
	default:
		act(w, s, OP_STAT, 0, 0);
		w->phase = FS_DONE;
	}
}

static void next_fileserver(struct worker *w, struct step *s)
{
	struct work_file *f = file_of(w);

	if (w->phase == FS_DONE || w->phase == FS_GONE) {
		f->state = w->phase == FS_GONE ? FILE_ABSENT : FILE_FREE;
		w->phase = FS_PICK;
		w->done++;
	}
	if (w->phase == FS_PICK) {
		if (w->set->spec->count && w->done >= 5 * w->set->spec->count)
			end(s);
		else
			fileserver_part(w, s);
	} else if (w->phase == FS_OPENED) {
		uint64_t length = append_size(w);

		act(w, s, OP_APPEND, 0, length);
		f->size += length;
		w->phase = FS_APPENDED;
	} else if (w->phase == FS_APPENDED ||
		   !piece(w, s, w->phase == FS_WRITE ? OP_WRITE : OP_READ)) {
		act(w, s, OP_CLOSE, 0, 0);
		w->phase = FS_DONE;
	}
}

/* The log is the file after the last; it stays open. Thread 0 makes it; until then none writes it. */
static bool web_log_made(struct worker *w, struct step *s)
{
	struct work_file *log = &w->set->file[w->set->files];

	if (w->thread == 0 && log->state == FILE_ABSENT) {
		w->file = w->set->files;
		log->state = FILE_BUSY;
		act(w, s, OP_CREATE, 0, 0);
		s->quiet = true;
		return true;
	}
	if (w->thread == 0)
		log->state = FILE_FREE;
	return false;
}

static void next_webserver(struct worker *w, struct step *s)
{
	struct work_file *log = &w->set->file[w->set->files];
	enum { OPEN, READ };

	if (web_log_made(w, s))
		return;
	if (w->phase == READ && piece(w, s, OP_READ))
		return;
	if (w->phase == READ) {
		act(w, s, OP_CLOSE, 0, 0);
		w->phase = OPEN;
		w->done++;
	} else if (w->set->spec->count && w->done >= w->set->spec->count * (WEB_READS + 1)) {
		end(s);
	} else if (w->done % (WEB_READS + 1) == WEB_READS && log->state == FILE_FREE) {
		w->done++;
		w->file = w->set->files;
		act(w, s, OP_APPEND, 0, w->set->spec->append);
	} else {
		w->done += w->done % (WEB_READS + 1) == WEB_READS;
		w->file = prng_below(&w->prng, w->set->files);
		w->at = 0;
		act(w, s, OP_OPEN, 0, 0);
		w->phase = READ;
	}
}

void work_next(struct worker *w, struct step *s)
{
	switch (w->set->spec->work) {
	case WORK_RANDREAD:
		next_random(w, s, OP_READ);
		break;
	case WORK_RANDWRITE:
		next_random(w, s, OP_WRITE);
		break;
	case WORK_SEQREAD:
		next_seqread(w, s);
		break;
	case WORK_SEQWRITE:
		next_seqwrite(w, s);
		break;
	case WORK_LOG:
		next_log(w, s);
		break;
	case WORK_COPY:
		next_copy(w, s);
		break;
	case WORK_FILESERVER:
		next_fileserver(w, s);
		break;
	default:
		next_webserver(w, s);
	}
}
