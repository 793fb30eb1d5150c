/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Pieces of files in the disk's order. See tree_pieces.h. */
#include "disk/tree_pieces.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "disk/arrival.h"
#include "disk/extents.h"
#include "disk/fetch.h"
#include "disk/residency.h"

/* What has no place yet, or says none, comes last, in the order of inodes. */
#define NO_PLACE (UINT64_C(1) << 62)
/* Bytes of one call of WILLNEED: the kernel's default of read_ahead_kb; it starts no more than that. */
#define CALL (UINT64_C(128) << 10)

/* ---- where they are ---------------------------------------------------------------------- */

static bool is_resident(int fd, uint64_t size, uint64_t len)
{
	struct residency r;
	bool resident;

	residency_init(&r);
	resident = residency_of(&r, fd, size, 0, len);
	residency_fini(&r);
	return resident;
}

static bool add(struct tree_pieces *p, const struct tree_piece *piece)
{
	if (p->n == p->room) {
		uint32_t room = p->room != 0 ? 2 * p->room : 64;
		struct tree_piece *larger = realloc(p->pieces, room * sizeof(*larger));

		if (larger == NULL)
			return false;
		p->pieces = larger;
		p->room = room;
	}
	p->pieces[p->n++] = *piece;
	return true;
}

/* The pieces of [0, len) of FD. Holes are none. */
static uint32_t place(struct tree_pieces *p, struct tree_file *file, uint32_t number, int fd,
		      uint64_t len)
{
	struct extent extents[EXTENT_MAP_MAX];
	uint64_t covered;
	int n = extent_fetch_fiemap(&fd, 0, extents, EXTENT_MAP_MAX, &covered);
	uint32_t bytes = 0;

	if (n < 0) { /* no FIEMAP here: as one */
		extents[0] = (struct extent){.length = len, .block = NO_PLACE + file->inode};
		n = 1;
	}
	for (int i = 0; i < n && extents[i].offset < len; i++) {
		struct extent *e = &extents[i];
		uint64_t end = e->offset + e->length < len ? e->offset + e->length : len;
		struct tree_piece piece = {.block = e->block,
					   .file = number,
					   .offset = (uint32_t)e->offset,
					   .len = (uint32_t)(end - e->offset)};

		if (e->unwritten || !add(p, &piece))
			continue;
		file->left++;
		bytes += piece.len;
	}
	return bytes;
}

uint32_t tree_pieces_add(struct tree_pieces *p, struct tree_file *file, uint32_t number)
{
	uint64_t size, len;
	uint32_t bytes = 0;
	int fd = tree_file_open(file->dir, file->name, file->inode, &size);

	if (fd < 0)
		return 0;
	len = size <= TREE_WHOLE_MAX ? size : TREE_HEAD;
	if (p->whole_only && len < size)
		len = 0;
	if (len != 0 && !is_resident(fd, size, len))
		bytes = place(p, file, number, fd, len);
	close(fd);
	return bytes;
}

static int by_block(const void *a, const void *b)
{
	const struct tree_piece *one = a, *other = b;

	if (one->block != other->block)
		return one->block < other->block ? -1 : 1;
	return (one->file > other->file) - (one->file < other->file);
}

void tree_pieces_sort(struct tree_pieces *p)
{
	if (p->n != 0)
		qsort(p->pieces, p->n, sizeof(*p->pieces), by_block);
}

/* ---- fetching ---------------------------------------------------------------------------- */

static void start(struct tree_pieces *p, const struct tree_file *file, uint32_t i)
{
	const struct tree_piece *piece = &p->pieces[i];
	uint64_t size, end = (uint64_t)piece->offset + piece->len;
	int fd = tree_file_open(file->dir, file->name, file->inode, &size);

	p->fds[i % TREE_FLIGHT] = fd;
	for (uint64_t at = piece->offset; fd >= 0 && at < end; at += CALL)
		posix_fadvise(fd, (off_t)at, (off_t)(end - at < CALL ? end - at : CALL),
			      POSIX_FADV_WILLNEED);
}

/* A byte of each unit, at its end: what a reader would meet, an error too, is left to him. */
static void await(int fd, const struct tree_piece *piece, atomic_bool *spoilt)
{
	uint64_t end = piece->offset, upto = end + piece->len;
	struct arrival a;

	arrival_begin(&a, fd, end, upto, spoilt);
	do {
		end += FETCH_UNIT - end % FETCH_UNIT;
		if (end > upto)
			end = upto;
	} while (arrival_await(&a, end - 1) && end < upto);
	arrival_end(&a);
}

static bool may_start(const struct tree_pieces *p)
{
	if (p->paused || p->begun == p->n || p->begun - p->next == TREE_FLIGHT)
		return false;
	return p->begun == p->next || p->flight + p->pieces[p->begun].len <= TREE_FLIGHT_BYTES;
}

const struct tree_piece *tree_pieces_next(struct tree_pieces *p, const struct tree_file *files)
{
	const struct tree_piece *piece;
	int fd;

	while (may_start(p)) {
		start(p, &files[p->pieces[p->begun].file], p->begun);
		p->flight += p->pieces[p->begun++].len;
	}
	if (p->next == p->begun)
		return NULL;
	piece = &p->pieces[p->next];
	fd = p->fds[p->next++ % TREE_FLIGHT];
	p->flight -= piece->len;
	if (fd >= 0) {
		await(fd, piece, p->spoilt);
		close(fd);
	}
	return piece;
}

void tree_pieces_pause(struct tree_pieces *p, bool pause)
{
	p->paused = pause;
}

void tree_pieces_fini(struct tree_pieces *p)
{
	while (p->next < p->begun) {
		int fd = p->fds[p->next++ % TREE_FLIGHT];

		if (fd >= 0)
			close(fd);
	}
	free(p->pieces);
}
