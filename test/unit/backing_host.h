/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the tests of backings share: an export with a device, before and after each of them, and a use. */
#ifndef UNIT_BACKING_HOST_H
#define UNIT_BACKING_HOST_H

#include "disk_host.h"

static struct export_io *io;

static int start(void **state)
{
	struct export_settings s = host_settings(1);

	host_make_dir();
	log_set_writer(host_log_write);
	host_log_lines = 0;
	device_start(&host_dispatcher_ops, NULL);
	backing_set_limits(8, 30 * SEC);
	io = export_io_new(7, NULL, &s);
	return io == NULL;
}

static int stop(void **state)
{
	backing_sweep(SEC, true);
	assert_int_equal(backing_count(), 0);
	export_io_put(io);
	device_stop_all();
	log_set_writer(NULL);
	host_remove_dir();
	return 0;
}

static struct backing *get(struct host_file *f, uint64_t now)
{
	struct backing *b = backing_get(&f->slot, io, now);

	assert_non_null(b);
	return b;
}

#endif
