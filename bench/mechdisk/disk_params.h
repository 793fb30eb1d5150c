/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The parameters of the modelled disk: one table that the command line, --help and the checks use.
 */
#ifndef MECHDISK_DISK_PARAMS_H
#define MECHDISK_DISK_PARAMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DISK_SEGMENTS_MAX 32
#define DISK_ZONES_MAX	  256
#define DISK_DEPTH_MAX	  256
#define DISK_SPINDLES_MAX 16

struct disk_params {
	double size_mb;	       /* MiB */
	double rpm;	       /* revolutions a minute */
	double seek_min_ms;    /* to the next track */
	double seek_max_ms;    /* across all tracks */
	double switch_ms;      /* head switch at the end of a track; tracks are skewed by it */
	double rate_outer;     /* MB/s (10^6) under the head, first zone */
	double rate_inner;     /* MB/s (10^6) under the head, last zone */
	double zones;	       /* zones of equal capacity */
	double lookahead_kb;   /* KiB kept and read on after a read, for each segment */
	double segments;       /* look-ahead segments, replaced least recently used first */
	double interface_rate; /* MB/s (10^6) between drive and host */
	double overhead_us;    /* the drive's own time for each command */
	double latency_ms;     /* of the way to the host, behind all that the drive does */
	double depth;  /* commands the drive chooses from; 1 is a drive without a tagged queue */
	double age_ms; /* a command that waited so long is served next */
	/* 1: consecutive writes stream as through a write cache; 0: they do not */
	double write_join;
	double write_extra_ms; /* each write takes so much longer, joined ones too */
	double seek_knee;      /* part of the stroke where the seek curve goes on as a line */
	double solid;	  /* 1: flash, nothing moves: each command takes overhead and transfer */
	double spindles;  /* drives behind one address, each with its own arm and queue */
	double stripe_kb; /* KiB that lie together on a spindle */
};

struct disk_option {
	const char *name; /* as on the command line, without the dashes */
	const char *unit;
	const char *meaning;
	double min, max, def;
	size_t offset; /* of the double in struct disk_params */
};

/* Ends with an entry whose name is NULL. */
extern const struct disk_option disk_options[];

void disk_params_default(struct disk_params *params);

/* Sets the option `name` from text. 0; -1 with a message in err that names the option and its
 * range. */
int disk_params_set(struct disk_params *params, const char *name, const char *text, char *err,
		    size_t err_size);

/* Checks what holds between parameters. 0; -1 with a message in err. */
int disk_params_check(const struct disk_params *params, char *err, size_t err_size);

void disk_params_help(FILE *out);

#endif
