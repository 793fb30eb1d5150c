/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One mount: asked for its prices, believed or not, judged, and its knobs turned.
 *
 *   thread "ask":   statfs(2), which is one FSSTAT
 *        | reply
 *        v
 *   fsstat_detector --> decide ---> min_ratio of its bdi        defer: the mount may keep its share
 *                          |                                    of dirty memory until it expires
 *                          |------> read_ahead_kb               for files opened from now on
 *                          '------> thread "push": syncfs(2)    accelerate
 *
 * Nothing but these two threads touches the mount, so a server that hangs stops them and nothing
 * else. When prices end - not stated, not fresh, not mounted - the knobs are put back.
 */
#ifndef CLIENT_WATCH_H
#define CLIENT_WATCH_H

#include <stdio.h>

#include "decide.h"
#include "async_call.h"
#include "knob.h"
#include "machine.h"
#include "mounts.h"
#include "pricing/fsstat_price.h"
#include "settings.h"

/* Time between questions (s) to a server that may be one with prices, until it is believed. */
#define ASK_SOON 0.25
/* min_ratio of a mount that defers (percent): half of what may be dirty. All of them together must
 * stay below 100. */
#define DEFER_RATIO	50
#define DEFER_RATIO_SUM 90

enum news { NEWS_NONE, NEWS_BELIEVED, NEWS_NO_PRICES, NEWS_NO_ANSWER, NEWS_NOT_MOUNTED };

struct watch {
	const struct watch *all; /* settings->mount_count of them */
	const char *path;
	const struct settings *settings;
	struct machine *machine;
	void (*held)(void *); /* called before a knob is turned for the first time */
	void *held_arg;

	struct mount mount;
	struct async_call ask, push;
	struct {
		uint64_t total, avail;
		int error;
	} reply;	/* ask's while it is under way */
	int push_error; /* push's */

	struct fsstat_detector detector;
	struct decision decision;
	enum news news;		 /* last said */
	double ask_at, answered; /* s: when to ask; the last reply, or the mount */
	bool pushed, push_told;	 /* since the last reply; an error of it */
	bool owns;		 /* its knobs: mounts of one export share them */
	struct knob ratio, readahead;
	int64_t ratio_set, readahead_set; /* -1: as found */
};

/* 0 or an errno: no threads. PATH is one of the settings'. */
int watch_init(struct watch *w, const struct watch *all, const char *path, const struct settings *s,
	       struct machine *m, int wake);
/* What is wrong with the mount, NULL: nothing. */
const char *watch_mount_error(const struct watch *w, char *text, size_t size);
/* Looks what is mounted. NOW: seconds of a clock that only goes forward, here and below. */
void watch_look(struct watch *w, double now);
/* Takes a reply if there is one, judges, acts, and asks again when it is time. */
void watch_tick(struct watch *w, double now);
/* Only asks and believes: what --once needs. */
bool watch_feed(struct watch *w, double now);
void watch_ask(struct watch *w, double now);
/* The knobs as they were found. */
void watch_release(struct watch *w);
/* One line for people. */
void watch_show(const struct watch *w, FILE *out);

#endif
