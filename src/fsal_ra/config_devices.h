/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The blocks DEVICE { } within RA { }. For config.c's table of items. */
#ifndef RA_CONFIG_DEVICES_H
#define RA_CONFIG_DEVICES_H

#include "compat.h"
#include "device_params.h"

/* What they come to while they are parsed. */
struct device_blocks {
	unsigned int n;
	struct device_block block[DEVICE_BLOCKS_MAX];
};

extern struct config_item ra_device_items[];

/* LINK: the struct device_blocks that they are added to. See config_parsing.h. */
void *ra_device_init(void *link, void *self);
int ra_device_commit(void *node, void *link, void *self, struct config_error_type *err_type);

#endif /* RA_CONFIG_DEVICES_H */
