/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The entries of a directory: arrays that grow, then are sorted twice. See dir_list.h. */
#include "readahead/dir_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t inode;
	uint32_t name;	     /* where it begins among the names */
	uint32_t name_place; /* on the axis by name */
};

struct dir_list {
	struct entry *entries;
	uint32_t n, room;
	char *names;
	size_t names_len, names_room;
	uint32_t *by_name, *by_inode; /* place -> index */
};

struct dir_list *dir_list_new(void)
{
	return calloc(1, sizeof(struct dir_list));
}

void dir_list_free(struct dir_list *l)
{
	if (l == NULL)
		return;
	free(l->entries);
	free(l->names);
	free(l->by_name);
	free(l->by_inode);
	free(l);
}

/* *AT has room for NEED things of SIZE bytes, *ROOM of them. */
static bool make_room(void **at, size_t *room, size_t need, size_t size)
{
	size_t more = *room != 0 ? *room : 64;
	void *larger;

	if (need <= *room)
		return true;
	while (more < need)
		more *= 2;
	larger = realloc(*at, more * size);
	if (larger == NULL)
		return false;
	*at = larger;
	*room = more;
	return true;
}

bool dir_list_add(struct dir_list *l, const char *name, uint64_t inode)
{
	size_t len = strlen(name) + 1, room = l->room;
	bool fits;

	assert(l->by_name == NULL);
	if (l->n == DIR_LIST_MAX || l->names_len + len > UINT32_MAX)
		return false;
	fits = make_room((void **)&l->entries, &room, l->n + 1u, sizeof(*l->entries));
	l->room = (uint32_t)room;
	if (!fits || !make_room((void **)&l->names, &l->names_room, l->names_len + len, 1))
		return false;
	l->entries[l->n++] = (struct entry){.inode = inode, .name = (uint32_t)l->names_len};
	memcpy(l->names + l->names_len, name, len);
	l->names_len += len;
	return true;
}

static int compare_names(const void *a, const void *b, void *list)
{
	const struct dir_list *l = list;

	return strcmp(dir_list_name(l, *(const uint32_t *)a),
		      dir_list_name(l, *(const uint32_t *)b));
}

static int compare_inodes(const void *a, const void *b, void *list)
{
	const struct dir_list *l = list;
	uint64_t one = l->entries[*(const uint32_t *)a].inode;
	uint64_t other = l->entries[*(const uint32_t *)b].inode;

	return (one > other) - (one < other);
}

/* All indices in that order; NULL: no memory. */
static uint32_t *sorted(struct dir_list *l, int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc((l->n + 1u) * sizeof(*order));

	if (order == NULL)
		return NULL;
	for (uint32_t i = 0; i < l->n; i++)
		order[i] = i;
	qsort_r(order, l->n, sizeof(*order), compare, l);
	return order;
}

/* *AT, with room for ROOM things of SIZE bytes, needs it for NEED. Returns what it has. */
static size_t trim(void **at, size_t room, size_t need, size_t size)
{
	void *smaller = need != 0 && need < room ? realloc(*at, need * size) : NULL;

	if (smaller == NULL)
		return room;
	*at = smaller;
	return need;
}

bool dir_list_end(struct dir_list *l)
{
	l->room = (uint32_t)trim((void **)&l->entries, l->room, l->n, sizeof(*l->entries));
	l->names_room = trim((void **)&l->names, l->names_room, l->names_len, 1);
	l->by_name = sorted(l, compare_names);
	l->by_inode = sorted(l, compare_inodes);
	if (l->by_name == NULL || l->by_inode == NULL)
		return false;
	for (uint32_t place = 0; place < l->n; place++)
		l->entries[l->by_name[place]].name_place = place;
	return true;
}

uint32_t dir_list_count(const struct dir_list *l)
{
	return l->n;
}

size_t dir_list_bytes(const struct dir_list *l)
{
	return sizeof(*l) + l->room * sizeof(*l->entries) + l->names_room +
	       2 * (l->n + 1u) * sizeof(*l->by_name);
}

/* The place by inode: of the first entry that is not below INODE. */
static uint32_t inode_place(const struct dir_list *l, uint64_t inode)
{
	uint32_t low = 0, high = l->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->entries[l->by_inode[mid]].inode < inode)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t dir_list_find(const struct dir_list *l, uint64_t inode)
{
	uint32_t place = inode_place(l, inode);

	if (place == l->n || l->entries[l->by_inode[place]].inode != inode)
		return DIR_NOWHERE;
	return l->by_inode[place];
}

const char *dir_list_name(const struct dir_list *l, uint32_t index)
{
	return l->names + l->entries[index].name;
}

uint64_t dir_list_inode(const struct dir_list *l, uint32_t index)
{
	return l->entries[index].inode;
}

uint32_t dir_list_place(const struct dir_list *l, enum dir_axis axis, uint32_t index)
{
	if (axis == DIR_BY_NAME)
		return l->entries[index].name_place;
	if (axis == DIR_BY_INODE)
		return inode_place(l, l->entries[index].inode);
	return index;
}

uint32_t dir_list_at(const struct dir_list *l, enum dir_axis axis, uint32_t place)
{
	if (axis == DIR_BY_NAME)
		return l->by_name[place];
	return axis == DIR_BY_INODE ? l->by_inode[place] : place;
}
