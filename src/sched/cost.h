/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a seek costs on this device, as observed, and how large a turn must be to pay for it.
 *
 * A turn of C bytes costs C/bandwidth + seek. So that no more than Seek_Share of the time goes into
 * seeking, C = bandwidth * seek * (1 - share) / share at least; with few streams turns are longer,
 * up to a round of a third of the longest wait. N streams served in turn each wait N turns: for a
 * longest wait L a turn may take no more than L/N. Where small demand reads are about, a turn is
 * interrupted after a slice, Demand_Wait less a seek; since the disk has to seek then anyway,
 * chunks need be no longer than that. Where nothing seeks a turn is a few milliseconds: longer ones
 * would only make others wait, and shorter ones cost the processor more.
 *
 * A run far slower than the others, or a jump far faster than the bandwidth allows, is an accident
 * and not believed; nor is a jump far slower than any seek: it hung. So many of them in a row as an
 * average rests on are no accident: then what is believed, of the bandwidth or of seeks, is what is
 * wrong, and is begun anew. Pure; no locking of its own.
 */
#ifndef SCHED_COST_H
#define SCHED_COST_H

#include <stdbool.h>
#include <stdint.h>

/* What chunk_default is in a server. A disk that was known before a restart is from its start. */
#define COST_CHUNK_DEFAULT (UINT64_C(12) << 20)

struct cost_limits {
	uint64_t chunk_min, chunk_max; /* bytes, 0 < min <= max */
	uint64_t chunk_default;	       /* until enough was observed */
	uint64_t max_wait;	       /* ns, of any demand read */
	uint64_t demand_wait;	       /* ns, of a small demand read behind a turn */
	uint32_t seek_share;	       /* percent of the disk's time, 1..90 */
};

/* Reads smaller than this (bytes) say little about bandwidth, longer ones little about a seek. */
#define COST_RUN (UINT64_C(128) << 10)

struct cost_model {
	double ns_per_byte; /* 0: not known yet */
	double seek_ns;
	uint32_t runs, jumps; /* how many observations of each, up to COST_SURE */
	uint32_t slow, fast;  /* not believed in a row: runs far slower, jumps faster than a run */
	uint32_t hung;	      /* ... jumps far slower */
	/* for each seek among several places that the disk was asked for together: what these took (ns), and had */
	double among_ns, among_bytes;
	uint32_t amongs; /* observations of it, as above */
	uint32_t steps;	 /* not judged yet; all together: */
	uint64_t step_bytes, step_ns;
};

/* One read of BYTES took SERVICE ns; it continued the one before on the device, or did not. */
void cost_observe(struct cost_model *m, uint64_t bytes, uint64_t service, bool contiguous);
/*
 * The same of a step of a chunk on a device that serves reads beside each other, which took SERVICE, its share of the time of
 * all steps there: RUN: no other was there, and it continued its chunk. Others come between the steps of a disk that says it
 * does not rotate, so each may have begun with a seek; of one that took no longer than a run's bytes nothing did.
 */
void cost_observe_step(struct cost_model *m, uint64_t bytes, uint64_t service, bool run);
/* ... of BYTES in several places, which the disk was asked for together: with SEEKS, in its own order. */
void cost_observe_among(struct cost_model *m, uint64_t bytes, uint32_t seeks, uint64_t service);
/* Whether the bandwidth, the cost of a seek rest on enough observations to be believed. */
bool cost_run_known(const struct cost_model *m);
bool cost_seek_known(const struct cost_model *m);
/*
 * What was known of the device once; 0: was not. It counts where too little was observed, as if it had been
 * observed: what is observed from now on replaces it as fast as ever.
 */
void cost_restore(struct cost_model *m, double ns_per_byte, double seek_ns);
/*
 * Bytes that a chunk should have now, with STREAMS competing and small demand reads about or not.
 */
uint64_t cost_chunk(const struct cost_model *m, const struct cost_limits *l, uint32_t streams,
		    bool demands);
/*
 * The same of a device that serves reads beside each other, as flash does: whoever is not waiting here finds what was
 * handed out before him, so a chunk is short, unless seeks do cost.
 */
uint64_t cost_chunk_direct(const struct cost_model *m, const struct cost_limits *l);
/* Chunks of about so many BYTES, as whole steps within the limits. */
uint64_t cost_chunk_within(const struct cost_limits *l, double bytes);
/* Bytes that are read in one place in NS; 0: that is not known yet. */
uint64_t cost_run_bytes(const struct cost_model *m, uint64_t ns);
/* Bytes that are read in the time of a seek; those of a disk of 7200 rpm until more is known. */
uint64_t cost_seek_bytes(const struct cost_model *m);
/* ... of one among several that go together: no more. */
uint64_t cost_among_bytes(const struct cost_model *m);
/*
 * The same, and 0 where nothing is known. Until enough seeks were timed, which where chunks are long takes many
 * chunks, by what small reads took that found nothing (ns; 0: there were none), of which half is taken to have been
 * waiting for each other.
 */
uint64_t cost_seek_bytes_seen(const struct cost_model *m, double small_ns);
/* How long (ns) a turn, with the seek it begins with, may go on while N small demand reads wait. */
uint64_t cost_slice(const struct cost_model *m, const struct cost_limits *l, uint32_t n);
/* Bytes that are read in one while one small read waits, those of a seek included. */
uint64_t cost_slice_bytes(const struct cost_model *m, const struct cost_limits *l);

#endif
