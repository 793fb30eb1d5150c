/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Counting free and dear seeks. See seek_evidence.h. */
#include "disk/seek_evidence.h"

/*
 * The transfer's part of a read, ns a byte. A free seek is judged by the medium as observed; one
 * slower than the second is a medium disturbed by others, by which any seek looks free. A dear one
 * is judged by a constant: what is observed while reads overtake each other is too slow.
 */
#define FREE_NS_PER_BYTE_MAX 16
#define DEAR_NS_PER_BYTE     10
/* So many in one read a drive goes to in its own order: more of them are dear if these would be. */
#define SEEKS_ORDERED 8

/*
 * One with so many SEEKS. A free one is judged by all of them together: what a read asks for is sorted on its way,
 * and several spindles seek at once, so that they may be far fewer, or side by side, and each look free.
 */
static void count(struct seek_evidence *e, const struct seek_sample *s, uint32_t seeks)
{
	double each = (double)s->service / (s->readers ? s->readers : 1), len = (double)s->len;
	double per_byte =
		s->ns_per_byte < FREE_NS_PER_BYTE_MAX ? s->ns_per_byte : FREE_NS_PER_BYTE_MAX;
	double all = (double)s->service - len * per_byte;
	uint32_t shared = seeks < SEEKS_ORDERED ? seeks : SEEKS_ORDERED;

	e->seen++;
	e->sum += all > 0 ? all / seeks : 0;
	if (all < DEVICE_SEEK_NONE)
		e->free++;
	if (each - len * DEAR_NS_PER_BYTE >= DEVICE_SEEK_REAL * shared)
		e->dear++;
}

static enum device_learns verdict_of(struct seek_evidence *e)
{
	if (e->dear >= SEEKS_DEAR)
		return DEVICE_LEARNS_DEAR;
	if (e->free < SEEKS_FREE) {
		e->agreed = 0;
		return DEVICE_LEARNS_NOTHING;
	}
	return ++e->agreed >> e->returns ? DEVICE_LEARNS_FREE : DEVICE_LEARNS_NOTHING;
}

static enum device_learns judge(struct seek_evidence *e)
{
	enum device_learns verdict;

	if (e->seen < SEEKS_JUDGED && e->dear < SEEKS_DEAR)
		return DEVICE_LEARNS_NOTHING;
	verdict = verdict_of(e);
	e->mean = e->sum / e->seen;
	e->seen = e->free = e->dear = 0;
	e->sum = 0;
	if (verdict != DEVICE_LEARNS_NOTHING)
		e->agreed = 0;
	return verdict;
}

enum device_learns seek_evidence_add(struct seek_evidence *e, const struct seek_sample *s)
{
	uint32_t seeks = s->seeks + seek_is_far(e->end, s->block);

	e->end = s->end;
	if (seeks == 0)
		return DEVICE_LEARNS_NOTHING;
	count(e, s, seeks);
	return judge(e);
}

void seek_evidence_returned(struct seek_evidence *e)
{
	if (e->returns < SEEKS_RETURNS_MAX)
		e->returns++;
}
