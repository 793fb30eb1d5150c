/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocks of a configuration whose items say all: Ganesha's parser sets them, and nothing is done before or after. */
#ifndef RA_CONFIG_BLOCK_H
#define RA_CONFIG_BLOCK_H

#include "config_parsing.h"

/* The block BLOCK with these ITEMS, an array that CONFIG_EOL ends; BITS: flags of its description, or 0. */
#define RA_CONFIG_BLOCK(dbus, block, items, bits)                                                  \
	{                                                                                          \
		.dbus_interface_name = (dbus), .blk_desc.name = (block),                           \
		.blk_desc.type = CONFIG_BLOCK, .blk_desc.flags = (bits),                           \
		.blk_desc.u.blk.init = noop_conf_init, .blk_desc.u.blk.params = (items),           \
		.blk_desc.u.blk.commit = noop_conf_commit,                                         \
	}

#endif
