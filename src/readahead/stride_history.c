/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where runs began. See stride_history.h. */
#include "readahead/stride_history.h"

#include "readahead/file_memory.h"
#include "readahead/heur_table.h"

struct stride_history *stride_history_of(struct heur_file *f)
{
	struct heur_table *t = f->table;

	if (!f->history && ++f->begun % STRIDE_TRIED_AGAIN == 2)
		f->history = file_memory_new(&t->histories, t->size / STRIDE_FILES_SHARE + 1,
					     sizeof(*f->history));
	return f->history;
}

void stride_forget(struct heur_file *f)
{
	file_memory_free(&f->table->histories, f->history);
	f->history = NULL;
}

void stride_note(struct stride_history *h, uint64_t offset)
{
	h->begun[h->n++ % STRIDE_HISTORY] = offset;
}

static bool has_begun(const struct stride_history *h, uint64_t offset)
{
	uint32_t n = h->n < STRIDE_HISTORY ? h->n : STRIDE_HISTORY;

	for (uint32_t i = 0; i < n; i++)
		if (h->begun[i] == offset)
			return true;
	return false;
}

uint64_t stride_find(const struct stride_history *h, bool back)
{
	uint64_t at = h->begun[(h->n - 1) % STRIDE_HISTORY], best = 0;
	uint32_t n = h->n < STRIDE_HISTORY ? h->n : STRIDE_HISTORY;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t step = back ? h->begun[i] - at : at - h->begun[i]; /* else: too large */
		uint64_t further = back ? step : -step;

		if (!step || step > STRIDE_STEP_MAX || (!back && step > at / 3) ||
		    (best && step >= best))
			continue;
		if (has_begun(h, at + 2 * further) && has_begun(h, at + 3 * further))
			best = step;
	}
	return best;
}
