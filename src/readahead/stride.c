/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Records a step apart. See stride.h. */
#include "readahead/stride.h"

#include "readahead/follow.h"
#include "readahead/stride_history.h"
#include "readahead/way.h"

/* So many runs later a cursor that expects a record expects none any more, of each stride in turn. */
#define EXPECTS_FOR 32
/* A new cursor must be right so often before anything is fetched. */
#define TO_PROVE 2
/* What lies between records is read too where it takes no longer than this part of a seek. */
#define THROUGH_SHARE 4

static struct cursor *expecting(const struct heur_file *f, uint64_t position)
{
	struct cursor *c = cursor_set_match(&f->set, position, 0);

	if (!c || !way_is_stride(c->way) || c->next != position ||
	    f->history->n - c->unit > EXPECTS_FOR * f->set.n_strided)
		return NULL;
	return c;
}

/* The position of the step that begins with the record at OFFSET. */
static uint64_t position(enum way way, uint64_t offset, uint64_t step)
{
	return way_from(way, offset, offset + step);
}

/* The cursor of WAY that expects a record at OFFSET, or has, or will. */
static struct cursor *find(const struct heur_file *f, enum way way, uint64_t offset)
{
	uint64_t step = f->history->step, at = position(way, offset, step);
	struct cursor *c = expecting(f, at);

	if (c && way == WAY_STRIDE_BACK && c->step != step)
		c = NULL;
	for (uint64_t i = 1; !c && i <= STRIDE_JITTER; i++) {
		c = expecting(f, at - i * step);
		if (!c)
			c = expecting(f, at + i * step);
		if (c && c->step != step)
			c = NULL;
	}
	return c;
}

/* Whether C's run, as far as its first requests tell, left something out. */
static bool has_gaps(const struct cursor *c)
{
	return (c->seen & (c->seen + 1)) != 0;
}

/* Bytes of the run of F that began at OFFSET, at least LEAST. */
static uint64_t length_of(const struct heur_file *f, uint64_t offset, uint64_t least)
{
	const struct cursor *c = cursor_set_match(&f->set, offset + least, STRIDE_STEP_MAX);

	if (c && c->way == WAY_FORWARD && c->start == offset && c->next > offset + least &&
	    !has_gaps(c))
		return c->next - offset;
	return least;
}

/*
 * Within a track to pass over what lies between takes as long as to read it, and a seek that was learnt is
 * the mean of long ones.
 */
uint64_t stride_through(const struct readahead_read *read)
{
	return read->seek / THROUGH_SHARE;
}

/*
 * Whether records of RECORD bytes, STEP apart, lie too close together for strides. Not from the end, where what lies between
 * is read through: who goes forwards and leaves out so little keeps a pace (rules_extended.c).
 */
static bool lie_together(const struct readahead_read *read, enum way way, uint64_t record,
			 uint64_t step)
{
	if (way == WAY_STRIDE_BACK && record < step && step - record <= stride_through(read))
		return false;
	return record > step / 2;
}

/* A cursor that follows F's records from READ on; NULL: what is read lies together. */
static struct cursor *begin(struct readahead *ra, const struct readahead_tuning *t,
			    struct heur_file *f, const struct readahead_read *read, enum way way,
			    uint64_t step)
{
	uint64_t record = read->len, at = position(way, read->offset, step);
	uint64_t before = way == WAY_STRIDE ? -step : step;
	struct cursor *c;

	for (uint64_t i = 1; i <= 3; i++)
		record = length_of(f, read->offset + i * before, record);
	if (record > STRIDE_RECORD_MAX || lie_together(read, way, record, step))
		return NULL;
	c = cursor_new(&ra->pool, f, read->offset, read->now);
	if (!c)
		return NULL;
	f->history->step = step;
	c->step = (uint32_t)step;
	c->record = (uint32_t)record;
	c->unit = f->history->n;
	c->phase = at % step;
	/* no page lies between them, or none that is worth a seek */
	if (step <= cursor_record_pages(c) + stride_through(read))
		c->record = (uint32_t)step;
	c->start = c->read_end = at;
	cursor_set_turn(&f->set, c, way, at + step);
	cursor_set_use(&f->set, c, t->seq_threshold > TO_PROVE ? t->seq_threshold - TO_PROVE : 1,
		       read->now);
	return c;
}

/* C has expected READ, or one a little before or behind it. */
static void go_on(struct readahead *ra, const struct readahead_tuning *t,
		  struct readahead_counters *counters, struct cursor *c,
		  const struct readahead_read *read)
{
	struct cursor_set *set = &c->file->set;
	uint64_t at = position(c->way, read->offset, c->step);

	c->unit = c->file->history->n;
	if (at >= c->next) {
		cursor_set_use(set, c, t->heuristic->count(t, c->count, HEURISTIC_EXACT),
			       read->now);
		follow_move(ra, c, at + c->step);
	} else {
		follow_use(c, c->count, read, false);
	}
	evidence_used(ra, counters, c, c->next); /* nothing more of the record is waited for */
}

struct cursor *stride_follow(struct readahead *ra, const struct readahead_tuning *t,
			     struct readahead_counters *counters, struct heur_file *f,
			     const struct readahead_read *read)
{
	struct stride_history *h = stride_history_of(f);
	struct cursor *c = NULL;
	bool continues;

	if (!h)
		return NULL;
	continues = read->offset == h->end;
	h->end = read->offset + read->len;
	if (continues)
		return NULL;
	stride_note(h, read->offset);
	for (enum way way = WAY_STRIDE; f->set.n_strided && !c && way <= WAY_STRIDE_BACK; way++)
		c = find(f, way, read->offset);
	if (c) {
		h->vain = 0;
		go_on(ra, t, counters, c, read);
		return c;
	}
	for (enum way way = WAY_STRIDE; way <= WAY_STRIDE_BACK; way++) {
		uint64_t step = stride_find(h, way == WAY_STRIDE_BACK);

		if (step) {
			h->vain = 0;
			return begin(ra, t, f, read, way, step);
		}
	}
	if (++h->vain >= STRIDE_VAIN_MAX && !f->set.n_strided)
		stride_forget(f);
	return NULL;
}
