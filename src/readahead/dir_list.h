/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The entries of one directory, and their places in the orders in which a client may read them.
 *
 *   axis       listed     as the directory's own list has them: what READDIR answers
 *              by name    as a shell's * or a sorted list has them
 *              by inode   as a client has them that looks at the numbers first
 *
 * An entry is known by its index, which is its place as listed. Built by add() and end() on one thread,
 * and never changed then. Beside its name an entry takes about 10 bytes in a directory of 20, and 16 in one of
 * 20,000.
 */
#ifndef READAHEAD_DIR_LIST_H
#define READAHEAD_DIR_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dir_axis { DIR_LISTED, DIR_BY_NAME, DIR_BY_INODE, DIR_AXES };

/* Entries of one directory that are kept at most: further ones are never fetched ahead. */
#define DIR_LIST_MAX (UINT32_C(1) << 17)
/* ... and bytes of their names, each with its end: 32 for each of so many entries, more where there are fewer. */
#define DIR_LIST_NAMES (UINT32_C(4) << 20)
/* No entry, no place. */
#define DIR_NOWHERE UINT32_MAX

struct dir_list;

/* NULL: no memory. */
struct dir_list *dir_list_new(void);
void dir_list_free(struct dir_list *l);
/* Before dir_list_end(): whether there may be no room for one more entry, of a name as long as any. */
bool dir_list_full(const struct dir_list *l);
/* One more entry, copied. False: no memory, or DIR_LIST_MAX or DIR_LIST_NAMES are there. */
bool dir_list_add(struct dir_list *l, const char *name, uint64_t inode);
/* All are there. False: no memory. */
bool dir_list_end(struct dir_list *l);

/* Bytes that a block of SIZE takes in all: with its head, in steps of 16, as glibc has them. */
static inline size_t dir_block(size_t size)
{
	return (size + sizeof(size_t) + 15) / 16 * 16;
}

uint32_t dir_list_count(const struct dir_list *l);
/* Bytes of memory that it takes. */
size_t dir_list_bytes(const struct dir_list *l);
/* The entry of that inode (of several links one), or DIR_NOWHERE. */
uint32_t dir_list_find(const struct dir_list *l, uint64_t inode);
const char *dir_list_name(const struct dir_list *l, uint32_t index);
uint64_t dir_list_inode(const struct dir_list *l, uint32_t index);
/* The place of an entry on an axis, and the entry at a place. */
uint32_t dir_list_place(const struct dir_list *l, enum dir_axis axis, uint32_t index);
uint32_t dir_list_at(const struct dir_list *l, enum dir_axis axis, uint32_t place);

#endif
