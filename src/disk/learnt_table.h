/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is learnt of the devices in use is kept over a restart.
 *
 *   a device comes into use --> its identity --> what was kept of that --> the device begins with it
 *   every minute            --> something to keep, or else than what is kept? --> its file, every ten minutes at most
 *                           --> another identity? it is another disk: all is void
 *   the end                 --> the same, at once
 *
 * What cannot be read, or not be written, costs one line of the log, and nothing else.
 */
#ifndef DISK_LEARNT_TABLE_H
#define DISK_LEARNT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/device_identity.h"

#define LEARNT_LOOK  UINT64_C(60000000000)  /* ns between two looks at a device */
#define LEARNT_WRITE UINT64_C(600000000000) /* ns between two writes of its file, but for the end */

/* Before the first look: where the files are, copied; NULL: none are. BY_UUID as of device_identity(). */
void learnt_start(const char *dir, const char *by_uuid);
/*
 * Once a second, and when a device may have come: it is NOW (ns), and WALL s since 1970. LAST: the server ends, and
 * the devices are still there. May wait for files, as long as their file system hangs: no request's thread, no lock
 * held, and one thread at a time (learnt_thread.h).
 */
void learnt_look(uint64_t now, uint64_t wall, bool last);
/* A look that waits for a file touches nothing any more once that is over, and none begins: the devices go. */
void learnt_end(void);
/* How the Nth device is called; false: that is not known. *RESTORED: it began with what was kept of it. */
bool learnt_identity(unsigned int n, char name[DEVICE_IDENTITY_MAX], bool *restored);

#endif
