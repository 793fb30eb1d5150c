/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Remote backings whose FSAL keeps nothing: what is fetched ahead is given once, while it is vouched for. */
#include "disk/backing_remote.h"

#include "backing_host.h"
#include "disk/fetch.h"
#include "disk/prefetch.h"
#include "remote/use_once.h"

#define FILE_SIZE (4 * MIB)

/* The made-up cluster, with one file whose bytes are its change attribute. */
static struct {
	struct backing_slot slot;
	struct use_once *keep;
	uint64_t change;
	unsigned int reads, changes;
	bool silent; /* it does not say its change */
} cluster;

static ssize_t cluster_read(void *handle, void *buffer, size_t len, uint64_t offset)
{
	cluster.reads++;
	if (offset >= FILE_SIZE)
		return 0;
	if (len > FILE_SIZE - offset)
		len = FILE_SIZE - offset;
	memset(buffer, (int)cluster.change, len);
	return (ssize_t)len;
}

static bool cluster_size(void *handle, uint64_t *size)
{
	*size = FILE_SIZE;
	return true;
}

static bool cluster_change(void *handle, uint64_t *change)
{
	cluster.changes++;
	*change = cluster.change;
	return !cluster.silent;
}

static void cluster_close(void *handle)
{
	export_io_handle_closed(io);
}

static const struct remote_calls calls = {.read = cluster_read,
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
	struct remote_file f = {.calls = &calls,
				.handle = &cluster,
				.file = 17,
				.size = FILE_SIZE,
				.keep = cluster.keep};

	if (!export_io_handle_opens(of))
		return NULL;
	return backing_remote_new(&f, of, export_io_cluster(of, 5, err));
}

static int begin(void **state)
{
	int err = start(state);

	memset(&cluster, 0, sizeof(cluster));
	cluster.change = 7;
	(void)get; /* of local ones */
	cluster.keep = use_once_new(2 * MIB, 30 * SEC);
	backing_slot_init(&cluster.slot, no_descriptor, "file", 4);
	backing_slot_set_remote(&cluster.slot, open_cluster);
	return err;
}

static int end(void **state)
{
	backing_slot_fini(&cluster.slot);
	assert_int_equal(use_once_held(cluster.keep), 0); /* a file that is closed keeps nothing */
	use_once_free(cluster.keep);
	return stop(state);
}

static struct backing *get_kept(void)
{
	struct backing *b = backing_get(&cluster.slot, io, clock_now());

	assert_non_null(b);
	return b;
}

static ssize_t fetch(struct backing *b, uint64_t offset, uint64_t len)
{
	return fetch_cache(&b->device->dispatcher, b, offset, len);
}

/* Whether a READ is answered; with the version WANTED. */
static bool reads(struct backing *b, uint64_t offset, size_t len, int wanted)
{
	static char reply[MIB];
	struct iovec iov = {reply, len};
	size_t got = cached_reply(b, &iov, 1, offset);

	for (size_t i = 0; i < got; i++)
		assert_int_equal(reply[i], wanted);
	assert_true(got == 0 || got == len);
	return got != 0;
}

static void test_given_once(void **state)
{
	struct backing *b = get_kept();

	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_true(backing_resident(b, 0, MIB));
	assert_true(reads(b, 0, 64 * KIB, 7));
	assert_false(backing_resident(b, 0, 64 * KIB));
	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_true(reads(b, 64 * KIB, 64 * KIB, 7));
	assert_int_equal(cluster.reads, 1);
	assert_int_equal(cluster.changes, 1); /* in this second */
	backing_put(b);
}

static void test_the_end_is_the_fsals_to_tell(void **state)
{
	struct backing *b = get_kept();

	assert_int_equal(fetch(b, FILE_SIZE - MIB, MIB), MIB);
	assert_false(reads(b, FILE_SIZE - 64 * KIB, 64 * KIB, 7));
	assert_false(reads(b, FILE_SIZE - 32 * KIB, 64 * KIB, 7));
	assert_false(reads(b, FILE_SIZE + MIB, 64 * KIB, 7));
	assert_true(reads(b, FILE_SIZE - 128 * KIB, 64 * KIB, 7));
	backing_put(b);
}

static void test_our_own_write(void **state)
{
	struct backing *b = get_kept();

	fetch(b, 0, MIB);
	cluster.change = 8;
	backing_invalidate(&cluster.slot, 0, 64 * KIB);
	assert_false(reads(b, 0, 64 * KIB, 8));
	fetch(b, 0, 64 * KIB);
	assert_true(reads(b, 0, 64 * KIB, 8));
	backing_put(b);
}

static void test_nobody_vouches(void **state)
{
	struct backing *b;

	cluster.silent = true;
	b = get_kept();
	assert_int_equal(fetch(b, 0, MIB), MIB);
	assert_false(backing_resident(b, 0, MIB));
	assert_false(reads(b, 0, 64 * KIB, 7));
	backing_put(b);
}

static void test_what_is_kept_is_bounded(void **state)
{
	struct backing *b = get_kept();

	assert_int_equal(fetch(b, 0, FILE_SIZE), FILE_SIZE);
	assert_in_range(use_once_held(cluster.keep), MIB, 2 * MIB);
	assert_false(reads(b, 0, 64 * KIB, 7));
	assert_true(reads(b, FILE_SIZE - MIB, 64 * KIB, 7));
	backing_put(b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_given_once),
		TEST(test_the_end_is_the_fsals_to_tell),
		TEST(test_our_own_write),
		TEST(test_nobody_vouches),
		TEST(test_what_is_kept_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
