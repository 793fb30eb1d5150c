/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which inode of one side is which of the other: a one-to-one map, learnt as objects are seen.
 *
 * Equal creates may get different inodes, and a new object may take over the number of one that is gone.
 * Most creates tell their inode at once; some do not (an object was made and its attributes were then
 * refused). So where the map says no, the two file systems themselves are asked, locally: two inodes
 * that are found at the same names, and at no others, are each other's.
 */
#include "parity.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID_LIMIT  65536 /* inode numbers kept in the map; larger ones must be equal */
#define NAMES_MAX 64	/* names of one inode that are compared: more than LINKs make here */

struct names {
	char *name[NAMES_MAX];
	int n;
};

/* id_map[s][x]: the inode number on the other side of inode x on side s; 0: not seen. */
static uint32_t id_map[SIDES][ID_LIMIT];
static const char *tree[SIDES];

/* What nftw looks for, as it hands nothing through. */
static uint64_t wanted;
static size_t root_len;
static struct names *found;

void ids_look_in(int side, const char *dir)
{
	tree[side] = dir;
}

static int note_name(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	if (kind == FTW_NS || st->st_ino != wanted)
		return 0;
	if (found->n == NAMES_MAX)
		return 1;
	found->name[found->n] = strdup(path + root_len);
	if (!found->name[found->n])
		abort();
	found->n++;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* False: more of them than there is room for, or the tree cannot be read. */
static bool find_names(int side, uint64_t inode, struct names *names)
{
	wanted = inode;
	root_len = strlen(tree[side]);
	found = names;
	if (nftw(tree[side], note_name, 8, FTW_PHYS | FTW_MOUNT) != 0)
		return false;
	qsort(names->name, (size_t)names->n, sizeof(names->name[0]), compare_names);
	return true;
}

static bool at_the_same_names(uint64_t a, uint64_t b)
{
	struct names names[SIDES] = {0};
	bool same;

	if (!tree[0] || !tree[1])
		return false;
	same = find_names(0, a, &names[0]) && find_names(1, b, &names[1]) && names[0].n > 0 &&
	       names[0].n == names[1].n;
	for (int i = 0; same && i < names[0].n; i++)
		same = strcmp(names[0].name[i], names[1].name[i]) == 0;
	for (int s = 0; s < SIDES; s++)
		for (int i = 0; i < names[s].n; i++)
			free(names[s].name[i]);
	return same;
}

static void learn_ids(uint64_t a, uint64_t b)
{
	id_map[1][id_map[0][a]] = 0;
	id_map[0][id_map[1][b]] = 0;
	id_map[0][a] = (uint32_t)b;
	id_map[1][b] = (uint32_t)a;
}

bool ids_same(uint64_t a, uint64_t b, bool created)
{
	if (a >= ID_LIMIT || b >= ID_LIMIT)
		return a == b;
	if (id_map[0][a] == b && id_map[1][b] == a)
		return true;
	if (!created && (id_map[0][a] || id_map[1][b]) && !at_the_same_names(a, b))
		return false;
	learn_ids(a, b);
	return true;
}

void ids_report(uint64_t a, uint64_t b)
{
	if (a < ID_LIMIT && b < ID_LIMIT)
		printf("    inode %llu was the other side's %u, and %llu was %u\n",
		       (unsigned long long)a, id_map[0][a], (unsigned long long)b, id_map[1][b]);
}
