/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What was found out of a device, as a text that outlives the server: what a seek costs, what the medium
 * brings, whether it has seeks at all, whether scattered reads are faster together.
 *
 *   nfs-ganesha-ra learnt 1            the version of what follows
 *   identity naa.5000c500a1b2c3d4      device_identity.h's
 *   saved 1795000000                   seconds since 1970
 *   ...
 *   check 9f86d081884c7d65             of all above
 *
 * A text of another version, with a wrong check, or with a value that no device has, is none. Pure.
 */
#ifndef DISK_LEARNT_H
#define DISK_LEARNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/device_identity.h"
#include "sched/dispatcher.h"

#define LEARNT_VERSION 1
#define LEARNT_TEXT    1024 /* bytes of such a text, at most */
/* Older than this (s) it is not believed any more: disks age, and RAIDs change their members. */
#define LEARNT_AGE_MAX (UINT64_C(365) * 24 * 3600)
/* ... nor what is from further ahead than this (s): a clock that was wrong then or is now. */
#define LEARNT_AHEAD_MAX (UINT64_C(24) * 3600)

struct learnt {
	struct device_identity id;
	uint64_t saved; /* seconds since 1970 */
	struct dispatcher_learnt queue;
	bool seeks_free;  /* says it rotates, and seeks cost nothing */
	uint32_t returns; /* times that this was believed and turned out wrong: seek_evidence.h */
};

/* Writes L into TEXT of SIZE bytes, values beyond any device's as the highest; returns its length, or 0: it does not fit. */
size_t learnt_print(const struct learnt *l, char *text, size_t size);
/*
 * Fills L from the N bytes of TEXT, behind which there is a NUL. NULL, or why it cannot be used, for people; L is
 * undefined then.
 */
const char *learnt_parse(struct learnt *l, const char *text, size_t n);
/* Whether L, which was kept of it, is of the device ID, and not too old at NOW (s since 1970). NULL, or why not. */
const char *learnt_judge(const struct learnt *l, const struct device_identity *id, uint64_t now);
/* Whether there is anything to be kept in L. */
bool learnt_is_something(const struct learnt *l);
/* Whether B is worth being written in the place of A: it says something else, or by more than a quarter. */
bool learnt_differs(const struct learnt *a, const struct learnt *b);
/* Whether B cannot be of the device that A was kept of: what both know differs by more than a factor of three. */
bool learnt_contradicts(const struct learnt *a, const struct learnt *b);
/* A name for the file of ID, of LEARNT_NAME bytes: "device-" and 16 hexadecimal digits. */
#define LEARNT_NAME 24
void learnt_name(const struct device_identity *id, char name[LEARNT_NAME]);

#endif
