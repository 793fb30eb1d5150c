/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inodes in the order in which a disk is fastest. See tree_inodes.h. */
#include "disk/tree_inodes.h"

#include <stddef.h>

static uint64_t inode_at(const struct dir_list *list, uint32_t place)
{
	return dir_list_inode(list, dir_list_at(list, DIR_BY_INODE, place));
}

static const char *name_at(const struct dir_list *list, uint32_t place)
{
	return dir_list_name(list, dir_list_at(list, DIR_BY_INODE, place));
}

/* Spans begin in the middle of windows where the first inode lies at the beginning of one, as mkfs has it. */
static uint64_t span_of(uint64_t inode)
{
	return (inode + TREE_INODES_WINDOW / 2) / TREE_INODES_WINDOW + 1;
}

/* The first entry behind T's span, or the last one of all. */
static const char *behind(const struct tree_inodes *t, const struct dir_list *list)
{
	uint32_t place = t->place, last = dir_list_count(list) - 1;

	while (place < last && span_of(inode_at(list, place)) == t->span)
		place++;
	return name_at(list, place);
}

const char *tree_inodes_next(struct tree_inodes *t, const struct dir_list *list, bool windows)
{
	for (; t->place < dir_list_count(list); t->place++) {
		uint64_t inode = inode_at(list, t->place), span = span_of(inode);

		if (windows && t->span != span) {
			t->span = span;
			return behind(t, list);
		}
		if (inode / TREE_INODES_BLOCK + 1 == t->block)
			continue;
		t->block = inode / TREE_INODES_BLOCK + 1;
		return name_at(list, t->place++);
	}
	return NULL;
}
