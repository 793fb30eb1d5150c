/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The depth that a cluster is best with. See depth_search.h. */
#include "sched/depth_search.h"

#include "common/clock.h"

void depth_search_init(struct depth_search *s, uint32_t max)
{
	*s = (struct depth_search){.max = max,
				   .used = 1,
				   .up = true,
				   .pause = SEARCH_PAUSE_MIN,
				   .settle = SEARCH_SETTLE};
}

/* Another window, of another depth if SETTLE. */
static void begin(struct depth_search *s, bool settle)
{
	s->begun = s->bytes = 0;
	s->settle = settle ? SEARCH_SETTLE * depth_search_depth(s) : 0;
}

/* What would be tried now; 0: there is nothing on that side. */
static uint32_t candidate(const struct depth_search *s)
{
	if (s->up)
		return s->used * 2 <= s->max ? s->used * 2 : 0;
	return s->used / 2;
}

/* What is in use brings RATE now; where that is another matter than before, it is time to look again. */
static void note_rate(struct depth_search *s, double rate)
{
	bool like = rate >= s->usual * SEARCH_BEHIND && rate * SEARCH_BEHIND <= s->usual;

	s->before = s->rate;
	s->rate = rate;
	s->others = like || s->usual == 0 ? 0 : s->others + 1;
	if (s->others != 0 && s->others < SEARCH_OTHERS)
		return;
	if (s->others != 0)
		s->pause = SEARCH_PAUSE_MIN;
	s->others = 0;
	s->usual = rate;
}

/* A trial is due, perhaps. */
static void begin_trial(struct depth_search *s)
{
	if (s->dear && s->pause == SEARCH_PAUSE_MIN)
		s->pause = SEARCH_PAUSE_DEAR;
	if (++s->since < s->pause)
		return;
	s->since = s->waited = 0;
	if (candidate(s) == 0)
		s->up = !s->up;
	if (s->up)
		s->coming = candidate(s);
	else
		s->tried = candidate(s);
}

/* What was to come is tried from now on. */
static void start_trial(struct depth_search *s)
{
	s->tried = s->coming;
	s->coming = 0;
}

static void end_trial(struct depth_search *s, double rate)
{
	double best = s->rate > s->before ? s->rate : s->before;
	bool won = rate > best * (s->up ? SEARCH_GAIN : SEARCH_KEEP);

	if (won) {
		s->used = s->tried;
		s->rate = s->before = s->usual = rate;
		s->others = 0;
		s->pause = 1;
	} else {
		s->up = !s->up;
		s->pause =
			s->pause < SEARCH_PAUSE_MIN ? SEARCH_PAUSE_MIN : s->pause * SEARCH_BACK_OFF;
		if (s->pause > SEARCH_PAUSE_MAX)
			s->pause = SEARCH_PAUSE_MAX;
	}
	s->tried = 0;
}

/* Whether the window can be judged, after NS: a whole one, or a trial that is far behind. */
static bool is_over(const struct depth_search *s, double ns)
{
	if (s->bytes >= SEARCH_WINDOW)
		return true;
	return s->tried != 0 && s->bytes >= SEARCH_WINDOW / SEARCH_EARLY &&
	       (double)s->bytes < ns * s->rate * SEARCH_HOPELESS;
}

/* What came counts, or settles. */
static void count(struct depth_search *s, uint64_t bytes, uint64_t now)
{
	if (s->last != 0 && elapsed(s->last, now) > SEARCH_GAP)
		begin(s, false);
	if (now > s->last)
		s->last = now;
	if (s->settle > 0)
		s->settle -= bytes < s->settle ? bytes : s->settle;
	else if (s->begun == 0)
		s->begun = now;
	else
		s->bytes += bytes;
}

bool depth_search_brought(struct depth_search *s, uint64_t bytes, uint64_t now)
{
	uint32_t before = depth_search_depth(s);
	double ns, rate;

	count(s, bytes, now);
	ns = (double)elapsed(s->begun, now);
	if (s->begun == 0 || ns <= 0 || !is_over(s, ns))
		return false;
	rate = (double)s->bytes / ns;
	if (s->tried != 0) {
		end_trial(s, rate);
	} else {
		note_rate(s, rate);
		if (s->coming == 0)
			begin_trial(s);
		else if (++s->waited == SEARCH_PATIENCE)
			start_trial(s);
	}
	begin(s, depth_search_depth(s) != before);
	return depth_search_depth(s) != before;
}

bool depth_search_began(struct depth_search *s, uint64_t len)
{
	if (s->coming == 0 || len > SEARCH_CHUNK + SEARCH_CHUNK / 2)
		return false;
	start_trial(s);
	begin(s, true);
	return true;
}

bool depth_search_other(struct depth_search *s)
{
	uint32_t before = depth_search_depth(s);

	s->tried = s->coming = 0;
	s->rate = s->before = s->usual = 0;
	s->others = s->since = s->waited = 0;
	s->pause = SEARCH_PAUSE_MIN;
	begin(s, true);
	return depth_search_depth(s) != before;
}
