/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A record of what the disk promised: its writes, discards and flushes in the order in which they
 * were answered. From it a test makes the disk as it would be after a power cut at any moment.
 * All calls are safe for several threads; without a record open they cost nothing.
 */
#ifndef MECHDISK_RECORD_H
#define MECHDISK_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* Begins a new record in the file PATH, ends the one before; NULL: only that. 0 or an errno. */
int record_to(const char *path);

/* Each is called before the command is answered. */
void record_write(uint64_t offset, uint64_t length);
void record_discard(uint64_t offset, uint64_t length);
void record_flush(void);

#endif
