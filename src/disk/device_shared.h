/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Devices that have a disk in common: each has a queue, and they do not know of each other. */
#ifndef DISK_DEVICE_SHARED_H
#define DISK_DEVICE_SHARED_H

#include "disk/device.h"

/* A line of the log if D, which is new, has a disk in common with another one that is in use. It waits for sysfs. */
void device_say_shared(struct device *d);

#endif
