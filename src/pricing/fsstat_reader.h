/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a client knows of the prices of one mount: whether it believes them, whether they are fresh,
 * and when to ask again. (doc/fsstat-prices.md, "Belief" and "Age and pace".)
 *
 *   struct fsstat_reader r = {0};            the mount is there; another mount begins anew
 *
 *   for (;;) {
 *           uint64_t asked = ...;            CLOCK_MONOTONIC, ns
 *           if (statvfs(path, &s) == 0)      a call that fails is no reply
 *                   fsstat_reader_reply(&r, asked, s.f_files, s.f_favail);
 *           if (fsstat_reader_prices(&r, now, &p))
 *                   ...                      p.write, p.readahead; else as without prices
 *           wait for fsstat_reader_wait(&r, interval, random) since ASKED
 *   }
 *
 * statvfs(2) hangs with its server, so in a program that must not it has a thread or process of its
 * own; fsstat_reader_prices() says when what was heard is too old. Plain C, no allocation, no clock;
 * one thread a reader.
 */
#ifndef PRICING_FSSTAT_READER_H
#define PRICING_FSSTAT_READER_H

#include "fsstat_price.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A price counts for less than this (ns) from the moment when it was asked for. */
#define FSSTAT_AGE_MAX UINT64_C(10000000000)
/* Time between two questions (ns): the least; while it is being found out whether there are prices; a
 * good one for a mount that is in use. */
#define FSSTAT_WAIT_MIN	    UINT64_C(250000000)
#define FSSTAT_WAIT_FINDING (UINT64_C(1000000000) / 3)
#define FSSTAT_WAIT_USUAL   UINT64_C(2000000000)
/* A question comes up to that part of the time earlier, at random. */
#define FSSTAT_WAIT_EARLY 4

/* All zero: nothing was heard yet. */
struct fsstat_reader {
	struct fsstat_detector detector;
	uint64_t asked; /* ns: when the question of the last reply was sent */
};

/* A reply came, as statvfs(2) gives it, to the question sent at ASKED (ns). Returns whether its
 * prices are believed. */
bool fsstat_reader_reply(struct fsstat_reader *r, uint64_t asked, uint64_t total, uint64_t avail);
/* The prices that count at NOW (ns). False: there are none, and *P is as before. */
bool fsstat_reader_prices(const struct fsstat_reader *r, uint64_t now, struct fsstat_prices *p);
/*
 * How long (ns) from one question to the next, where INTERVAL (ns) is wanted: never below
 * FSSTAT_WAIT_MIN. RANDOM is drawn anew each time, any number, so that clients do not ask, and act,
 * at the same moments.
 */
uint64_t fsstat_reader_wait(const struct fsstat_reader *r, uint64_t interval, uint16_t random);

#ifdef __cplusplus
}
#endif

#endif
