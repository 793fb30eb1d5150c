/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The thread that turns the price loop (price_loop.h) by the clock.
 *
 * Whoever wants a price reads the device's board: no lock, no waiting, no call into here. The
 * functions below are for operators; any thread may call them.
 */
#ifndef PRICING_PRICE_THREAD_H
#define PRICING_PRICE_THREAD_H

#include "pricing/price_loop.h"

struct price_thread;

/*
 * Starts it. HOSTS, SOURCE and GHOST (NULL: none) stay the caller's until price_thread_stop();
 * NAME_THREAD, if not NULL, is called on the thread with its name. NULL with *ERR: ENOMEM, or why
 * no thread could be started; then all prices are 0.
 */
struct price_thread *price_thread_start(const struct price_settings *s,
					const struct price_hosts *hosts,
					struct price_source *source, struct ghost_cache *ghost,
					void (*name_thread)(const char *name), int *err);
/* New intervals and k: in force at once. */
void price_thread_set(struct price_thread *t, const struct price_settings *s);
/* Requests waiting and running on the Nth device, averaged; 0 where it is not known yet. */
double price_thread_length(struct price_thread *t, unsigned int n);
/*
 * Copies up to MAX entries of the Nth device's ledger, those that used most lately first; returns how
 * many there are.
 */
unsigned int price_thread_clients(struct price_thread *t, unsigned int n,
				  struct ledger_entry *entries, unsigned int max);
/* The k of each resource in force. */
void price_thread_k(struct price_thread *t, double k[PRICE_RESOURCES]);
/* Ends and frees it; NULL is none. */
void price_thread_stop(struct price_thread *t);

#endif
