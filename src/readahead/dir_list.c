/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The entries of a directory: arrays that grow, then are sorted twice and packed. See dir_list.h.
 *
 *   packed  | inodes, in order | by inode | its places | where names begin | by name | its places | names |
 *
 * One block. Numbers of a column take as many bytes as the largest of them needs, for there are many small
 * directories; inodes are counted from the lowest one.
 */
#include "readahead/dir_list.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* By place: INODE, BY_INODE, BY_NAME; by index: the others. */
enum column { INODE, BY_INODE, INODE_PLACE, NAME, BY_NAME, NAME_PLACE, COLUMNS };

struct entry {
	uint64_t inode;
	uint32_t name; /* where it begins among the names */
};

/* What is there until all are. */
struct building {
	struct entry *entries;
	size_t room;
	char *names;
	size_t names_len, names_room;
};

struct dir_list {
	struct building *building; /* NULL: packed */
	uint8_t *packed;
	uint64_t lowest; /* inode */
	uint32_t n;
	uint32_t bytes;		     /* of what is packed */
	uint8_t before[COLUMNS + 1]; /* bytes of an entry in the columns before this one */
};

/* A number is read with so many bytes more than it may have. */
#define PAD (sizeof(uint64_t) - 1)
/* A name as long as any, with its end. */
#define NAME_LONGEST 256

/* ---- building ---------------------------------------------------------------------------- */

struct dir_list *dir_list_new(void)
{
	struct dir_list *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->building = calloc(1, sizeof(*l->building));
	if (l->building != NULL)
		return l;
	free(l);
	return NULL;
}

static void building_free(struct building *b)
{
	if (b == NULL)
		return;
	free(b->entries);
	free(b->names);
	free(b);
}

void dir_list_free(struct dir_list *l)
{
	if (l == NULL)
		return;
	building_free(l->building);
	free(l->packed);
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

bool dir_list_full(const struct dir_list *l)
{
	return l->n == DIR_LIST_MAX || l->building->names_len + NAME_LONGEST > DIR_LIST_NAMES;
}

bool dir_list_add(struct dir_list *l, const char *name, uint64_t inode)
{
	struct building *b = l->building;
	size_t len = strlen(name) + 1;

	assert(b != NULL);
	if (l->n == DIR_LIST_MAX || b->names_len + len > DIR_LIST_NAMES ||
	    !make_room((void **)&b->entries, &b->room, l->n + 1u, sizeof(*b->entries)) ||
	    !make_room((void **)&b->names, &b->names_room, b->names_len + len, 1))
		return false;
	b->entries[l->n++] = (struct entry){.inode = inode, .name = (uint32_t)b->names_len};
	memcpy(b->names + b->names_len, name, len);
	b->names_len += len;
	return true;
}

static int compare_names(const void *a, const void *b, void *building)
{
	const struct building *of = building;

	return strcmp(of->names + of->entries[*(const uint32_t *)a].name,
		      of->names + of->entries[*(const uint32_t *)b].name);
}

static int compare_inodes(const void *a, const void *b, void *building)
{
	const struct building *of = building;
	uint64_t one = of->entries[*(const uint32_t *)a].inode;
	uint64_t other = of->entries[*(const uint32_t *)b].inode;

	return (one > other) - (one < other);
}

/* The N indices in that order. */
static void sort(struct building *b, uint32_t *order, uint32_t n,
		 int (*compare)(const void *, const void *, void *))
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n != 0)
		qsort_r(order, n, sizeof(*order), compare, b);
}

/* ---- packing ----------------------------------------------------------------------------- */

static uint8_t width_of(uint64_t largest)
{
	uint8_t width = 1;

	while (width < sizeof(largest) && largest >> (8 * width) != 0)
		width++;
	return width;
}

static uint8_t *place_of(const struct dir_list *l, enum column c, uint32_t i)
{
	size_t width = l->before[c + 1] - l->before[c];

	return l->packed + (size_t)l->n * l->before[c] + i * width;
}

static uint64_t get(const struct dir_list *l, enum column c, uint32_t i)
{
	unsigned int bits = 8u * (l->before[c + 1] - l->before[c]);
	uint64_t value;

	memcpy(&value, place_of(l, c, i), sizeof(value));
	return le64toh(value) & (UINT64_MAX >> (64 - bits));
}

static void put(struct dir_list *l, enum column c, uint32_t i, uint64_t value)
{
	uint64_t bytes = htole64(value);

	memcpy(place_of(l, c, i), &bytes, l->before[c + 1] - l->before[c]);
}

static char *names_of(const struct dir_list *l)
{
	return (char *)l->packed + (size_t)l->n * l->before[COLUMNS];
}

/* How wide columns are, where inodes reach from the first to the last of ORDER. */
static void set_widths(struct dir_list *l, const uint32_t *order)
{
	const struct building *b = l->building;
	uint64_t last = l->n != 0 ? l->n - 1 : 0, widest[COLUMNS];

	l->lowest = l->n != 0 ? b->entries[order[0]].inode : 0;
	for (enum column c = 0; c < COLUMNS; c++)
		widest[c] = last;
	widest[INODE] = l->n != 0 ? b->entries[order[last]].inode - l->lowest : 0;
	widest[NAME] = b->names_len;
	for (enum column c = 0; c < COLUMNS; c++)
		l->before[c + 1] = l->before[c] + width_of(widest[c]);
	l->bytes = (uint32_t)(l->n * l->before[COLUMNS] + b->names_len + PAD);
}

/* ORDER: places by inode, then by name. */
static bool pack(struct dir_list *l, const uint32_t *order)
{
	const struct building *b = l->building;

	set_widths(l, order);
	l->packed = calloc(1, l->bytes);
	if (l->packed == NULL)
		return false;
	for (uint32_t i = 0; i < l->n; i++) {
		put(l, INODE, i, b->entries[order[i]].inode - l->lowest);
		put(l, BY_INODE, i, order[i]);
		put(l, INODE_PLACE, order[i], i);
		put(l, NAME, i, b->entries[i].name);
		put(l, BY_NAME, i, order[l->n + i]);
		put(l, NAME_PLACE, order[l->n + i], i);
	}
	if (b->names_len != 0)
		memcpy(names_of(l), b->names, b->names_len);
	building_free(l->building);
	l->building = NULL;
	return true;
}

bool dir_list_end(struct dir_list *l)
{
	uint32_t *order = malloc((2 * (size_t)l->n + 1) * sizeof(*order));
	bool done;

	if (order == NULL)
		return false;
	sort(l->building, order, l->n, compare_inodes);
	sort(l->building, order + l->n, l->n, compare_names);
	done = pack(l, order);
	free(order);
	return done;
}

/* ---- asking ------------------------------------------------------------------------------ */

uint32_t dir_list_count(const struct dir_list *l)
{
	return l->n;
}

size_t dir_list_bytes(const struct dir_list *l)
{
	return dir_block(sizeof(*l)) + dir_block(l->bytes);
}

uint32_t dir_list_find(const struct dir_list *l, uint64_t inode)
{
	uint32_t low = 0, high = l->n;

	if (inode < l->lowest)
		return DIR_NOWHERE;
	inode -= l->lowest;
	while (low < high) { /* the first one that is not below INODE */
		uint32_t mid = low + (high - low) / 2;

		if (get(l, INODE, mid) < inode)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == l->n || get(l, INODE, low) != inode)
		return DIR_NOWHERE;
	return (uint32_t)get(l, BY_INODE, low);
}

const char *dir_list_name(const struct dir_list *l, uint32_t index)
{
	return names_of(l) + get(l, NAME, index);
}

uint64_t dir_list_inode(const struct dir_list *l, uint32_t index)
{
	return l->lowest + get(l, INODE, (uint32_t)get(l, INODE_PLACE, index));
}

uint32_t dir_list_place(const struct dir_list *l, enum dir_axis axis, uint32_t index)
{
	if (axis == DIR_LISTED)
		return index;
	return (uint32_t)get(l, axis == DIR_BY_NAME ? NAME_PLACE : INODE_PLACE, index);
}

uint32_t dir_list_at(const struct dir_list *l, enum dir_axis axis, uint32_t place)
{
	if (axis == DIR_LISTED)
		return place;
	return (uint32_t)get(l, axis == DIR_BY_NAME ? BY_NAME : BY_INODE, place);
}
