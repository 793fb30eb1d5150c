/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which disk a device number stands for today: numbers and names change with each start, serials do not.
 *
 *   8:17 --> the disk it is a part of: 8:16 --> wwid, dm/uuid, md/uuid, device/wwid ...   below /sys/dev/block
 *        --> else the file system's UUID: a link of udev's below /dev/disk/by-uuid that leads to the device
 *
 * A part of a disk has the disk's with its number: what is further inside is slower. A loop device has no
 * serial; a virtual machine's disk often none.
 */
#ifndef DISK_DEVICE_IDENTITY_H
#define DISK_DEVICE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEVICE_IDENTITY_MAX 192 /* bytes, with its NUL: printable, without blanks */

struct device_identity {
	char name[DEVICE_IDENTITY_MAX];
	uint64_t bytes; /* how large the device is */
	bool rotating;	/* says the kernel */
};

/*
 * SYSFS: the directory with the links MAJOR:MINOR; BY_UUID: that with the links UUID, NULL is
 * /dev/disk/by-uuid. False: nothing tells it from another. Reads files of both; any thread.
 */
bool device_identity(const char *sysfs, const char *by_uuid, dev_t dev, struct device_identity *id);
/*
 * Whether TEXT is what the kernel, or the drive, calls the disk of DEV: one of the identities above, or its
 * serial number. Capitals do not matter.
 */
bool device_has_serial(const char *sysfs, dev_t dev, const char *text);

#endif
