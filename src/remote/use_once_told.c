/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is heard of files' change attributes: what that vouches for of what is kept, and what goes. See use_once.h. */
#include "remote/use_once.h"

#include "remote/use_once_parts.h"

bool use_once_asks(struct use_once *c, uint64_t file, uint64_t now)
{
	struct shard *s = shard_of(c, file);
	struct file *f;
	bool asks = false;

	lock_take(&s->lock);
	f = use_once_file(s, file);
	if (f != NULL && (f->asked == 0 || now >= f->asked + USE_ONCE_ASKS)) {
		f->asked = now;
		asks = true;
	}
	lock_drop(&s->lock);
	return asks;
}

/* With the lock: another has changed F's file, and what is there of it goes. */
static void drop_changed(struct use_once *c, struct shard *s, struct file *f)
{
	const struct use_once_block *b;

	f->judged += f->came;
	f->came = 0;
	TAILQ_FOREACH(b, &f->blocks, of_file)
		f->lost += (uint64_t)use_once_block_unread(b) * USE_ONCE_UNIT;
	use_once_drop_blocks(c, s, f, 0, UINT64_MAX);
}

/* With the lock: the answer to what was asked last. */
static void hear(struct use_once *c, struct shard *s, struct file *f, uint64_t change, bool settled,
		 uint64_t asked)
{
	/* What came before the first answer nobody can vouch for, nor one answer after another unsettled one. */
	if (f->known && f->change != change)
		drop_changed(c, s, f);
	else if (!f->known || !f->settled)
		use_once_drop_blocks(c, s, f, 0, UINT64_MAX);
	f->known = true;
	f->settled = settled;
	f->change = change;
	f->checked = asked;
}

static bool is_newer(const struct file *f, uint64_t asked)
{
	return !f->known || asked >= f->checked;
}

void use_once_told(struct use_once *c, uint64_t file, uint64_t change, bool settled, uint64_t asked)
{
	struct shard *s;
	struct file *f = lock_file(c, file, &s);

	if (f != NULL && is_newer(f, asked))
		hear(c, s, f, change, settled, asked);
	lock_drop(&s->lock);
}

/* With the lock. A is not what was shown last, or vouches for what is there. */
static void hear_shown(struct use_once *c, struct shard *s, struct file *f,
		       const struct use_once_attrs *a)
{
	if (is_newer(f, a->asked)) {
		hear(c, s, f, a->change, a->settled, a->asked);
		f->asked = a->asked > f->asked ? a->asked : f->asked;
	} else if (f->change != a->change) { /* nobody knows which is the older one */
		drop_changed(c, s, f);
	} else if (!a->settled) {
		use_once_drop_blocks(c, s, f, 0, UINT64_MAX);
	}
}

void use_once_shown(struct use_once *c, uint64_t file, const struct use_once_attrs *a)
{
	struct shard *s;
	struct file *f = lock_file(c, file, &s);

	if (f != NULL && (a->settled || f->shown != a->stamp))
		hear_shown(c, s, f, a);
	if (f != NULL)
		f->shown = a->stamp;
	lock_drop(&s->lock);
}

enum use_once_verdict use_once_judge(struct use_once *c, uint64_t file)
{
	enum use_once_verdict verdict = USE_ONCE_NONE;
	struct shard *s;
	struct file *f = lock_file(c, file, &s);

	if (f != NULL && f->judged >= USE_ONCE_JUDGED) {
		verdict = f->lost > f->judged / USE_ONCE_LOST ? USE_ONCE_IN_VAIN : USE_ONCE_OF_USE;
		f->judged = f->lost = 0;
	}
	lock_drop(&s->lock);
	return verdict;
}
