/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Weights by name, of mounts and of control groups: "NUMBER NAME", the number first as a name may hold
 * blanks. Plain memory, may be copied. One thread.
 */
#ifndef CLIENT_WEIGHTS_H
#define CLIENT_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#define WEIGHTS_MAX 64
/* Longest name, with its 0. */
#define WEIGHT_NAME 192
#define WEIGHT_MIN  0.01
#define WEIGHT_MOST 100

struct weights {
	unsigned int count;
	struct weight {
		char name[WEIGHT_NAME]; /* absolute, without slashes at its end but for "/" */
		double weight;
	} at[WEIGHTS_MAX];
};

/* "NUMBER NAME", of a setting WHAT. One that is there already gets another weight. False: ERROR. */
bool weights_set(struct weights *w, const char *what, const char *value, char *error, size_t size);
/* Whether a mount's PATH has one, however it is written (path_text.h). */
bool weights_has(const struct weights *w, const char *path);
/* 1 of what is not among them. */
double weights_of(const struct weights *w, const char *name);

#endif
