/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Tells the service manager how we are, as sd_notify(3) does: datagrams of lines NAME=VALUE to the
 * socket that $NOTIFY_SOCKET names. Where there is none nothing is told. One thread.
 */
#ifndef CLIENT_NOTIFY_H
#define CLIENT_NOTIFY_H

struct notify {
	int fd;		 /* -1: nobody wants to know */
	double watchdog; /* s: it wants to hear of us so often; 0: it does not */
};

/* Reads the environment. What is wrong there counts as not there. */
void notify_init(struct notify *n);
/* Never waits, and a datagram that is lost is lost. */
void notify_ready(const struct notify *n, unsigned int mounts);
void notify_reloading(const struct notify *n);
void notify_stopping(const struct notify *n);
void notify_alive(const struct notify *n);

#endif
