/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The sequentiality heuristics. See heuristic.h for the rules and their sources. */
#include "readahead/heuristic.h"

#include <string.h>
#include <strings.h>

#include "readahead/types.h"

static uint32_t plus_one(const struct readahead_tuning *t, uint32_t count)
{
	return count < t->seq_max ? count + 1 : t->seq_max;
}

static uint32_t default_count(const struct readahead_tuning *t, uint32_t count,
			      enum heuristic_match match)
{
	switch (match) {
	case HEURISTIC_EXACT:
		return plus_one(t, count);
	case HEURISTIC_REPEAT:
		return count;
	default:
		return 1;
	}
}

static uint32_t always_count(const struct readahead_tuning *t, uint32_t count,
			     enum heuristic_match match)
{
	(void)count;
	(void)match;
	return t->seq_max;
}

static uint32_t slowdown_count(const struct readahead_tuning *t, uint32_t count,
			       enum heuristic_match match)
{
	switch (match) {
	case HEURISTIC_EXACT:
		return plus_one(t, count);
	case HEURISTIC_REPEAT:
	case HEURISTIC_NEAR:
		return count;
	default:
		return count / 2;
	}
}

static const struct heuristic_ops heuristics[] = {
	/* no read-ahead: exactly stock */
	{.name = "off", .off = true},
	/* sequentiality count, reset on any jump */
	{.name = "default", .count = default_count},
	/* read ahead on every read */
	{.name = "always", .count = always_count},
	/* count unchanged by jitter, halved by a jump */
	{.name = "slowdown", .jitter = true, .count = slowdown_count},
	/* several cursors a file, each by the rules of default */
	{.name = "strict", .cursors = true, .jitter = true, .count = default_count},
	/* several cursors a file, each by the rules of slowdown */
	{.name = "cursor", .cursors = true, .jitter = true, .count = slowdown_count},
};

const struct heuristic_ops *heuristic_nth(unsigned int n)
{
	return n < sizeof(heuristics) / sizeof(heuristics[0]) ? &heuristics[n] : NULL;
}

const struct heuristic_ops *heuristic_find(const char *name)
{
	const struct heuristic_ops *h;

	for (unsigned int i = 0; (h = heuristic_nth(i)); i++)
		if (!strcasecmp(h->name, name))
			return h;
	return NULL;
}

uint64_t heuristic_near(const struct readahead_tuning *t, uint32_t len)
{
	uint64_t by_requests = (uint64_t)t->match_requests * len;

	return by_requests > t->match_window ? by_requests : t->match_window;
}

enum heuristic_match heuristic_classify(const struct readahead_tuning *t, const struct cursor *c,
					uint64_t offset, uint32_t len)
{
	uint64_t distance = offset > c->next ? offset - c->next : c->next - offset;

	if (!distance)
		return HEURISTIC_EXACT;
	if (offset < c->next && offset + len >= c->next)
		return HEURISTIC_REPEAT;
	if (distance <= heuristic_near(t, len))
		return HEURISTIC_NEAR;
	/* a reordered request far ahead, into what was asked for already, is no jump either */
	if (offset > c->next && offset < c->ra_end)
		return HEURISTIC_NEAR;
	return HEURISTIC_JUMP;
}
