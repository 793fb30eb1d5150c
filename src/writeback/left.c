/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is left to fsync. See left.h. */
#include "writeback/left.h"

void left_add(struct left *left, struct dirty_file *f, uint64_t offset, uint64_t len)
{
	assert(left->file == NULL || left->file == f);
	if (left->file == NULL)
		dirty_file_pin(f);
	left->file = f;
	dirty_move(&f->dirty, &left->own, offset, len);
}

void left_fsync_begins(struct left *left, const struct file_key *key)
{
	struct dirty_file *f;

	lock_take(&wb.lock);
	f = dirty_files_find(key);
	if (f != NULL && f->dirty.n)
		left_add(left, f, 0, UINT64_MAX);
	if (left->file != NULL) {
		left->syncing = dirty_bytes(&left->own);
		left->file->syncing += left->syncing;
	}
	lock_drop(&wb.lock);
}

void left_fsync_ends(struct left *left, bool done)
{
	struct dirty_file *f = left->file;

	if (f == NULL)
		return;
	lock_take(&wb.lock);
	f->syncing -= left->syncing;
	left->syncing = 0;
	if (!done && !f->gone)
		dirty_move(&left->own, &f->dirty, 0, UINT64_MAX);
	left->own.n = 0;
	lock_drop(&wb.lock);
}

void left_release(struct left *left)
{
	struct dirty_file *f = left->file;
	bool out;

	if (f == NULL)
		return;
	lock_take(&wb.lock);
	out = dirty_file_unpin(f);
	lock_drop(&wb.lock);
	if (out)
		dirty_file_free(f);
}
