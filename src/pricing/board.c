/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two slots and a count. See board.h.
 *
 * Why a reader that mixed two snapshots notices: a word of snapshot n + 2 in its slot was stored
 * (release) after latest = n + 1. Having loaded that word (acquire), it finds latest > n. All words
 * are atomic, so this holds by the rules of C and not by those of a processor.
 */
#include "pricing/board.h"

static void post_price(_Atomic uint64_t *word, double price)
{
	uint64_t bits;

	memcpy(&bits, &price, sizeof(bits));
	atomic_store_explicit(word, bits, memory_order_relaxed);
}

void board_publish(struct price_board *board, const struct price_snapshot *snapshot)
{
	uint64_t n = atomic_load_explicit(&board->latest, memory_order_relaxed) + 1;
	uint64_t words[BOARD_WORDS] = {0};

	memcpy(words, snapshot, sizeof(*snapshot));
	for (unsigned int i = 0; i < BOARD_WORDS; i++)
		atomic_store_explicit(&board->slots[n % 2][i], words[i], memory_order_release);
	atomic_store_explicit(&board->latest, n, memory_order_release);
	post_price(&board->write, snapshot->write);
	post_price(&board->readahead, snapshot->readahead);
}

void board_read(const struct price_board *board, struct price_snapshot *snapshot)
{
	uint64_t n, words[BOARD_WORDS];

	do {
		n = atomic_load_explicit(&board->latest, memory_order_acquire);
		for (unsigned int i = 0; i < BOARD_WORDS; i++)
			words[i] =
				atomic_load_explicit(&board->slots[n % 2][i], memory_order_acquire);
	} while (atomic_load_explicit(&board->latest, memory_order_relaxed) != n);
	memcpy(snapshot, words, sizeof(*snapshot));
}
