/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The mechanics of one disk arm. Pure: the clock is handed in, nothing sleeps, nothing is read.
 * Times are nanoseconds of any one monotonic clock, offsets and lengths bytes.
 * Not thread-safe: one caller at a time.
 */
#ifndef MECHDISK_DISK_MODEL_H
#define MECHDISK_DISK_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "disk_params.h"

enum disk_op { DISK_READ, DISK_WRITE };

struct disk_model;

/* What one command cost. */
struct disk_service {
	int64_t start_ns;    /* when the arm took the command up */
	int64_t end_ns;	     /* when its last byte was with the host */
	int64_t seek_ns;     /* arm moving; 0 when served from a segment or joined */
	int64_t rotation_ns; /* waiting for the first sector */
	uint64_t distance; /* bytes between the head and the command's first byte, when it moved */
	bool hit;	   /* a read whose first byte was in, or about to enter, a segment */
	bool joined;	   /* a write that continued the one before */
};

/* NULL when memory is short. The parameters must have passed disk_params_check. */
struct disk_model *disk_model_new(const struct disk_params *params);
void disk_model_free(struct disk_model *model);

uint64_t disk_model_size(const struct disk_model *model);

/* When the arm is done with what it was given. */
int64_t disk_model_free_at(const struct disk_model *model);

/* Serves one command, taken up at now_ns or when the arm is free, whichever is later. */
void disk_model_serve(struct disk_model *model, enum disk_op op, uint64_t offset, uint64_t length,
		      int64_t now_ns, struct disk_service *service);

/* How long the command would wait for its first byte if it were taken up now: for ordering. */
int64_t disk_model_estimate(const struct disk_model *model, enum disk_op op, uint64_t offset,
			    uint64_t length, int64_t now_ns);

/* The formulae by themselves, for tests and for self-tests. */
int64_t disk_model_seek_ns(const struct disk_model *model, uint64_t from, uint64_t to);
int64_t disk_model_media_ns(const struct disk_model *model, uint64_t from, uint64_t to);
uint64_t disk_model_bytes_per_track(const struct disk_model *model, uint64_t offset);

#endif
