/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the agent sleeps on: a time, a child that has ended (SIGCHLD), or a signal from outside. All
 * come through one descriptor (signalfd), so nothing is missed between two sleeps. One thread.
 */
#ifndef CLIENT_WAKEUP_H
#define CLIENT_WAKEUP_H

#include <stdbool.h>

struct wakeup {
	int fd;
	bool end;    /* SIGTERM or SIGINT has come */
	bool reload; /* SIGHUP has come; the owner clears it */
	bool child;  /* SIGCHLD has come since the last wakeup_wait() */
};

/* SIGHUP waits until wakeup_init(), or until it is let in: it ends nobody who is only beginning. */
void wakeup_hold_reload(bool hold);
/* So do SIGTERM and SIGINT: who puts knobs back does that to the end. */
void wakeup_hold_end(void);
/* From now on these signals come here. 0 or an errno. */
int wakeup_init(struct wakeup *w);
/* Until something comes, or the time UNTIL of wakeup_now(). What came while we rested has come. */
void wakeup_wait(struct wakeup *w, double until);
/* The same, but a child's end does not end it. */
void wakeup_rest(struct wakeup *w, double until);
/* Seconds of a clock that only goes forward. */
double wakeup_now(void);

#endif
