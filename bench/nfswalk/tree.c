/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Entries of directories, and their orders. See tree.h. */
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void entries_free(struct entries *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->at[i].name);
	free(list->at);
	*list = (struct entries){0};
}

void entries_add(struct entries *list, const struct entry *e)
{
	struct entry copy = *e;

	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->at = realloc(list->at, list->room * sizeof(*list->at));
	}
	copy.name = strdup(e->name);
	if (!list->at || !copy.name) {
		fprintf(stderr, "nfswalk: no memory\n");
		exit(2);
	}
	list->at[list->n++] = copy;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int by_inode(const void *a, const void *b)
{
	uint64_t one = ((const struct entry *)a)->inode, other = ((const struct entry *)b)->inode;

	return (one > other) - (one < other);
}

/* Fisher and Yates, by an xorshift generator. */
static void shuffle(struct entries *list, uint64_t seed)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = list->n; i > 1; i--) {
		struct entry kept;
		size_t j;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		j = x % i;
		kept = list->at[j];
		list->at[j] = list->at[i - 1];
		list->at[i - 1] = kept;
	}
}

void entries_sort(struct entries *list, enum order order, uint64_t seed)
{
	if (order == ORDER_NAME)
		qsort(list->at, list->n, sizeof(*list->at), by_name);
	else if (order == ORDER_INODE)
		qsort(list->at, list->n, sizeof(*list->at), by_inode);
	else if (order == ORDER_RANDOM)
		shuffle(list, seed);
}
