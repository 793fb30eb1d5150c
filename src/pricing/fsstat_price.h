/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Prices in the low bits of FSSTAT's file counts, for servers and clients. (CA-NFS, section 3.4:
 * FSSTAT carries the prices. Its reply has no room for more, so they hide where nobody counts.)
 *
 *            63                                    12 11             4 3       2 1    0
 *           +----------------------------------------+----------------+---------+------+
 *   tfiles  | all inodes, rounded up to 4096         |  write price   | check   | turn |
 *           +----------------------------------------+----------------+---------+------+
 *            63                                    12 11             4 3              0
 *           +----------------------------------------+----------------+----------------+
 *   afiles  | available, rounded down, less one 4096 | read-ahead p.  |     check      |
 *           +----------------------------------------+----------------+----------------+
 *   ffiles  | afiles + what free and available inodes really differ by                  |
 *
 * A Linux kernel client gives tfiles and afiles to statvfs(2) as they are, and drops ffiles: two
 * counters are enough to decode. What people see is on the safe side: inodes are never shown more
 * free, nor fewer used, than they are (bounds below).
 *
 * The turn is 1, 2 or 3, drawn anew for each reply. It tells a server with prices from one without:
 * there, a total that does not change has one turn for ever, and ext4's and XFS's totals are even,
 * which leaves turn 2 alone at most. Totals of other kinds may pass now and then by chance; struct
 * fsstat_detector is what a client asks before it acts.
 *
 * doc/fsstat-prices.md specifies the format, doc/fsstat-prices.vectors tests who writes or reads it.
 * A client wants fsstat_reader.h too; both are installed, with a library (lib/). Plain C, no other
 * header of ours, no state, no allocation; any thread.
 */
#ifndef PRICING_FSSTAT_PRICE_H
#define PRICING_FSSTAT_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FSSTAT_QUANTUM UINT64_C(4096)
/* Fewer inodes than these stay exact, and no price goes out. */
#define FSSTAT_AVAIL_MIN (2 * FSSTAT_QUANTUM)
#define FSSTAT_TOTAL_MIN (16 * FSSTAT_QUANTUM)
/* A file system without a limit is shown so many free, or as many as it has where these are more. */
#define FSSTAT_NO_LIMIT (UINT64_C(1) << 31)
/* How far what is shown may be from the truth, in inodes. */
#define FSSTAT_AVAIL_LESS_MAX (2 * FSSTAT_QUANTUM - 1) /* free and available: that much too few */
#define FSSTAT_TOTAL_MORE_MAX (2 * FSSTAT_QUANTUM - 2) /* all: that much too many */

/* FSSTAT's tfiles, ffiles and afiles. */
struct fsstat_files {
	uint64_t total, free, avail;
};

struct fsstat_prices {
	double write, readahead; /* 0..1 */
	/* To encode: any number, another one for each reply, such as a count of replies. Decoded:
	 * the turn, 1..3. */
	uint32_t turn;
};

/*
 * 8 bits for a price, 20 steps an octave: 0 is 0, 255 is 1, and code c is 2^((c - 255) / 20), down
 * to 0.00015 at 1. A price comes back within 1.75 % of itself, or 0.00015 near 0; never out of
 * order. What is no price is taken for the nearest that is, NaN for 0.
 */
uint8_t fsstat_price_code(double price);
double fsstat_price_value(uint8_t code);

/*
 * Counts that say "as many as are in use, and no limit", as CephFS' do, so that they can carry prices: free
 * and available all ones, all those in use. They become so many free that nobody will miss one; what is in use
 * stays the difference. Others are left as they are, and false. Before fsstat_price_encode().
 */
bool fsstat_price_bound(struct fsstat_files *f);

/*
 * Puts the prices into the counters. False: left as they are, no price goes out: too few inodes to
 * hide a price in (also none, where the file system counts none), more than can be rounded, or not
 * avail <= free <= total. What comes out has avail <= free <= total.
 */
bool fsstat_price_encode(struct fsstat_files *f, const struct fsstat_prices *p);

/*
 * False: these counters carry no prices; *P is as before. True is no proof: one reply in 85 of
 * arbitrary counters passes.
 */
bool fsstat_price_decode(const struct fsstat_files *f, struct fsstat_prices *p);
/* The same out of statvfs(2): f_files and f_favail. */
bool fsstat_price_decode_statvfs(uint64_t total, uint64_t avail, struct fsstat_prices *p);

/*
 * Whether a client believes that a server states prices. It is fed every reply; all zero is the
 * beginning. A round is a run of valid replies that has all three turns: at least three
 * replies, 5.5 on average. One round convinces.
 *
 * One reply without prices ends belief and the round: a server that states prices states them in
 * each. So do FSSTAT_SAME_TURN replies in a row with the same turn (by chance: 3^-15). After each
 * such disproof one round more is needed, up to FSSTAT_ROUNDS_MAX.
 *
 * A server without prices is never believed where its total is constant or always even: ext4, XFS,
 * quotas, tmpfs. Where all bits of both counters change from reply to reply the chance is 3.6e-7
 * for the first round, and less than 4e-7 over the life of a mount.
 */
#define FSSTAT_SAME_TURN  16
#define FSSTAT_ROUNDS_MAX 3

struct fsstat_detector {
	struct fsstat_prices prices; /* of the last valid reply */
	bool believed;
	uint8_t disproofs; /* so far, up to FSSTAT_ROUNDS_MAX - 1 */
	uint8_t rounds;	   /* done since the last disproof */
	uint8_t turns;	   /* bit 1 << turn: seen in this round */
	uint8_t same;	   /* replies in a row with prices.turn */
};

/* A reply came, as statvfs(2) gives it. Returns d->believed. */
bool fsstat_detector_feed(struct fsstat_detector *d, uint64_t total, uint64_t avail);

#ifdef __cplusplus
}
#endif

#endif
