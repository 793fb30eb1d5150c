/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Files of what was learnt (learnt.h): one for each device, by its identity, in one directory.
 *
 *   DIR/device-0123456789abcdef        replaced as a whole, by rename(2) of DIR/device-0123456789abcdef.new
 *
 * Nothing is synced: what a power cut left torn has a wrong check, and is learnt anew. These calls may wait for
 * the file system of DIR: not for a request's thread, nor under a lock that one takes.
 */
#ifndef DISK_LEARNT_FILE_H
#define DISK_LEARNT_FILE_H

#include <stdbool.h>

#include "disk/learnt.h"

/* So many devices are kept; then the one not written for longest goes. */
#define LEARNT_FILES_MAX 256

/*
 * What was kept of ID, at NOW (s since 1970), into L. NULL where there is, else why not, for people: "" where
 * simply nothing was.
 */
const char *learnt_read(const char *dir, const struct device_identity *id, uint64_t now,
			struct learnt *l);
/* Makes DIR too, if need be. 0 or an errno: then what was kept before is still there. */
int learnt_write(const char *dir, const struct learnt *l);

#endif
