/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The way between drive and host, as of a volume behind a network: each read's and write's answer is on it for as
 * long, and the drive serves others meanwhile. No more than --depth are with the drive and on their way together:
 * of depth 1 the drive stands still.
 *
 *     drive   |-- a --|-- b --|-- c --|
 *     wire            |......a......| |......c......|
 *                             |......b......|
 */
#ifndef MECHDISK_WIRE_H
#define MECHDISK_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Part of what is sent. */
struct wire_item {
	STAILQ_ENTRY(wire_item) link;
	int64_t at_ns; /* CLOCK_MONOTONIC: when it is there */
};

/* ARRIVE is called from the wire's thread, in the order of sending. 0 or a positive errno. */
int wire_start(int64_t latency_ns, void (*arrive)(struct wire_item *item));
/* There is one. */
bool wire_is_up(void);
/* Of any thread. Left at LEFT_NS. */
void wire_send(struct wire_item *item, int64_t left_ns);
/* Waits for what is on it. */
void wire_stop(void);

#endif
