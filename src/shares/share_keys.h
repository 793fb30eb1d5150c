/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The settings of a share by name, in the units in which people give them: one table for the
 * configuration's messages, ractl and what it shows. Pure.
 */
#ifndef SHARES_SHARE_KEYS_H
#define SHARES_SHARE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/flow.h"

/* Of the disk's time, and of what it carries, in percent: what floors may promise in all. */
#define FLOORS_MAX 90

#define SHARE_BANDWIDTH_UNIT UINT64_C(1000000) /* bytes/s: a MB/s */

enum share_key {
	SHARE_WEIGHT,
	SHARE_FLOOR_BANDWIDTH,
	SHARE_FLOOR_IOPS,
	SHARE_FLOOR_TIME,
	SHARE_CEILING_BANDWIDTH,
	SHARE_CEILING_IOPS,
	SHARE_CEILING_TIME,
	SHARE_KEYS
};

struct share_key_kind {
	const char *name, *unit; /* as the parameter's */
	uint64_t max;		 /* from 0: none, or as by default */
};

extern const struct share_key_kind share_keys[SHARE_KEYS];

/* The key of this name, in capitals or not; SHARE_KEYS: there is none. */
enum share_key share_key_find(const char *name);
/* That NAME is none of them, for people. */
void share_keys_text(const char *name, char *text, size_t size);
/* In the key's unit. */
uint64_t share_get(const struct share *s, enum share_key key);
/* VALUE is at most the key's max. */
void share_set(struct share *s, enum share_key key, uint64_t value);
/* Whether anything is set. */
bool share_is_set(const struct share *s);
bool share_equals(const struct share *a, const struct share *b);
/* S with another value. False, and WHY of SIZE bytes: it is out of range, or contradicts others of S. */
bool share_change(struct share *s, enum share_key key, uint64_t value, char *why, size_t size);

#endif
