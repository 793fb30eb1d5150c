/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Settings of devices' queues: what their exports say, over that a block DEVICE { } of the configuration,
 * over that what an operator turned since.
 *
 *   export's block --> [ base ] --> DEVICE of this disk --> [ file ] --> ractl set --> [ now ]
 *
 * device.h hands in the base whenever a device is made or configured, and uses what comes out. A block
 * names a device by a path: of a block device, of the disk that it is a part of, or of a directory on it; or by the
 * disk's serial.
 *
 * No Ganesha header. Any thread.
 */
#ifndef RA_DEVICE_PARAMS_H
#define RA_DEVICE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "disk/device.h"

/* clang-format off */
enum device_param {
#define RA_OF_DEVICE(Name, field) DEVICE_##Name,
#include "params.def"
	DEVICE_PARAMS
};
/* clang-format on */

/* Some of the settings, in the units of the parameters; the scheduler is a pointer. */
struct device_choice {
	uint32_t set; /* bit n: the nth is */
	uint64_t value[DEVICE_PARAMS];
	const struct sched_policy *policy;
};

/* Either a number or, where that is 0, the serial stands for the device. */
struct device_block {
	dev_t dev;
	char serial[DEVICE_IDENTITY_MAX];
	struct device_choice choice;
};

#define DEVICE_BLOCKS_MAX 64

/* DEVICE_PARAMS: none has this name. */
enum device_param device_param_find(const char *name);
/* Of S, in the parameter's unit; of the scheduler see S itself. */
uint64_t device_param_get(const struct device_settings *s, enum device_param which);
void device_choice_set(struct device_choice *c, enum device_param which, uint64_t value,
		       const struct sched_policy *policy);

/* The device number that PATH stands for; false, and WHY of SIZE bytes: it is none. */
bool device_path(const char *path, dev_t *dev, char *why, size_t size);

/* The blocks of the configuration from now on, copied. What operators turned is forgotten. */
void device_params_configure(const struct device_block *blocks, unsigned int n);
/* What operators turned is forgotten. */
void device_params_forget(void);
/* device_set_adjust()'s: *S, the base, becomes what holds. */
void device_params_adjust(dev_t dev, struct device_settings *s);
/* What DEV has: what its exports say, with the file's block, now. False: it was never configured. */
bool device_params_look(dev_t dev, struct device_settings *base, struct device_settings *file,
			struct device_settings *now);
/*
 * An operator's choice, to be put into force by device_configure() with the base. False, and WHY of SIZE
 * bytes: it contradicts another, or the device is not known.
 */
bool device_params_turn(dev_t dev, enum device_param which, uint64_t value,
			const struct sched_policy *policy, char *why, size_t size);

/* For tests: where disks are described by their numbers; NULL is /sys/dev/block. */
void device_params_sysfs(const char *path);

#endif /* RA_DEVICE_PARAMS_H */
