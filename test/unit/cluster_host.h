/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A made-up cluster for the tests of remote backings: one file, whose bytes are its change attribute. Its
 * client keeps what is read, or with `keep` does not.
 */
#ifndef UNIT_CLUSTER_HOST_H
#define UNIT_CLUSTER_HOST_H

#include "disk/backing_remote.h"

#include "backing_host.h"
#include "disk/fetch.h"

static struct {
	struct backing_slot slot;
	struct use_once *keep;
	uint64_t size, change;
	unsigned int opened, closed, reads, sizes, changes;
	bool refuses, fails;
	bool silent;	/* it does not say its change */
	bool unsettled; /* ... says the same of another one */
	void (*while_read)(void), (*while_change)(void);
} cluster;

static ssize_t cluster_read(void *handle, void *buffer, size_t len, uint64_t offset)
{
	assert_ptr_equal(handle, &cluster);
	cluster.reads++;
	if (cluster.while_read != NULL)
		cluster.while_read();
	if (cluster.fails)
		return -1;
	if (offset >= cluster.size)
		return 0;
	if (len > cluster.size - offset)
		len = cluster.size - offset;
	memset(buffer, (int)cluster.change, len);
	return (ssize_t)len;
}

static bool cluster_size(void *handle, uint64_t *size)
{
	cluster.sizes++;
	*size = cluster.size;
	return !cluster.fails;
}

static bool cluster_change(void *handle, uint64_t *change, bool *settled)
{
	cluster.changes++;
	if (cluster.while_change != NULL)
		cluster.while_change();
	*change = cluster.unsettled ? 0 : cluster.change;
	*settled = !cluster.unsettled;
	return !cluster.silent;
}

static void cluster_close(void *handle)
{
	assert_ptr_equal(handle, &cluster);
	cluster.closed++;
	export_io_handle_closed(io);
}

static const struct remote_calls cluster_calls = {.read = cluster_read,
						  .size = cluster_size,
						  .change = cluster_change,
						  .close = cluster_close};

static int no_descriptor(struct backing_slot *slot, int access, int *err)
{
	*err = EOPNOTSUPP;
	return -1;
}

static struct backing *open_cluster(struct backing_slot *slot, struct export_io *of, uint64_t now,
				    int *err)
{
	struct remote_file f = {.calls = &cluster_calls,
				.handle = &cluster,
				.file = 17,
				.size = cluster.size,
				.cache = cluster.keep != NULL ? 0 : 16 * MIB,
				.keep = cluster.keep};

	struct device *device;
	struct backing *b;

	*err = EOPNOTSUPP;
	if (cluster.refuses || !export_io_handle_opens(of))
		return NULL;
	cluster.opened++;
	device = export_io_cluster(of, 5, err);
	*err = 0; /* as the handle has just been opened */
	b = backing_remote_new(&f, of, device, err);
	if (b == NULL)
		export_io_handle_closed(of);
	return b;
}

/* Before a test: a file of SIZE bytes. */
static int cluster_start(void **state, uint64_t size)
{
	int err = start(state);

	memset(&cluster, 0, sizeof(cluster));
	cluster.size = size;
	cluster.change = 7;
	backing_slot_init(&cluster.slot, no_descriptor, "file", 4);
	backing_slot_set_remote(&cluster.slot, open_cluster);
	return err;
}

/* ... and after it, what is kept being looked at last: the file is closed. */
static void cluster_close_file(void)
{
	backing_slot_fini(&cluster.slot);
	assert_int_equal(cluster.opened, cluster.closed);
}

static struct backing *get_remote(void)
{
	struct backing *b = backing_get(&cluster.slot, io, clock_now());

	assert_non_null(b);
	return b;
}

static ssize_t fetch(struct backing *b, uint64_t offset, uint64_t len)
{
	return fetch_cache(&b->device->dispatcher, b, offset, len);
}

#endif
