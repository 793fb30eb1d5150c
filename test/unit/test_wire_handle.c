/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Handles of FSAL_VFS and FSAL_XFS, real, cut, and of random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unit_cmocka.h"

#include "disk/wire_handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ext4: handle type 1, inode and generation. */
static const unsigned char inode[8] = {0x0c, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef};

/* A handle of VFS with this first byte, FSID bytes of id and WIDTH bytes of the handle type. */
static size_t make(unsigned char *wire, unsigned char first, size_t fsid, size_t width)
{
	memset(wire, 0xee, 1 + fsid);
	wire[0] = first;
	memset(wire + 1 + fsid, 0, width);
	wire[1 + fsid] = 0x81; /* little endian, as the kernel on the machines that we know */
	memcpy(wire + 1 + fsid + width, inode, sizeof(inode));
	return 1 + fsid + width + sizeof(inode);
}

static void vfs_by_width_and_fsid(void **state)
{
	static const unsigned char fsids[] = {0, 8, 8, 16, 8, 8};
	unsigned char wire[64];

	for (unsigned char type = 0; type < sizeof(fsids); type++)
		for (unsigned int width = 1; width <= 3; width++) {
			unsigned char first = (unsigned char)(width << 6 | type);
			size_t len = make(wire, first, fsids[type], (size_t)1 << (width - 1));
			struct kernel_handle kh;

			assert_true(wire_handle_decode("VFS", wire, len, &kh));
			assert_int_equal(kh.fh.handle_type, 0x81);
			assert_int_equal(kh.fh.handle_bytes, sizeof(inode));
			assert_memory_equal(kh.fh.f_handle, inode, sizeof(inode));
			/* Cut anywhere before the kernel's handle it is none. */
			for (size_t cut = 0; cut <= len - sizeof(inode); cut++)
				assert_false(wire_handle_decode("VFS", wire, cut, &kh));
		}
}

static void vfs_refuses(void **state)
{
	unsigned char wire[256];
	struct kernel_handle kh;
	size_t len = make(wire, 0x40, 0, 1);

	assert_true(wire_handle_decode("VFS", wire, len, &kh));
	wire[0] = 0x00; /* no width */
	assert_false(wire_handle_decode("VFS", wire, len, &kh));
	wire[0] = 0x60; /* no file's */
	assert_false(wire_handle_decode("VFS", wire, len, &kh));
	wire[0] = 0x46; /* an fsid type that is not known */
	assert_false(wire_handle_decode("VFS", wire, len, &kh));
	wire[0] = 0x40;
	assert_true(wire_handle_decode("VFS", wire, 2 + KERNEL_HANDLE_MAX, &kh));
	assert_false(wire_handle_decode("VFS", wire, 3 + KERNEL_HANDLE_MAX, &kh));
	assert_false(wire_handle_decode("NULL", wire, len, &kh));
}

static void vfs_types_of_two_bytes_are_signed(void **state)
{
	unsigned char wire[64];
	struct kernel_handle kh;
	size_t len = make(wire, 0x80, 0, 2);

	wire[1] = wire[2] = 0xff;
	assert_true(wire_handle_decode("VFS", wire, len, &kh));
	assert_int_equal(kh.fh.handle_type, -1);
}

static void xfs(void **state)
{
	static const unsigned char want[] = {16, 17, 18, 19, 20, 21, 22, 23, 12, 13, 14, 15};
	struct kernel_handle kh;
	unsigned char wire[25];

	for (unsigned char i = 0; i < sizeof(wire); i++)
		wire[i] = i;
	assert_true(wire_handle_decode("XFS", wire, 24, &kh));
	assert_int_equal(kh.fh.handle_type, 0x81);
	assert_int_equal(kh.fh.handle_bytes, sizeof(want));
	assert_memory_equal(kh.fh.f_handle, want, sizeof(want));
	assert_false(wire_handle_decode("XFS", wire, 23, &kh));
	assert_false(wire_handle_decode("XFS", wire, 25, &kh));
}

static void random_bytes(void **state)
{
	uint64_t random = UINT64_C(88172645463325252);
	uint8_t wire[160];

	for (int round = 0; round < 100000; round++) {
		for (size_t i = 0; i < sizeof(wire); i += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy(wire + i, &random, 8);
		}
		if (round % 2)
			wire[0] &= 0xc7; /* half of them with an fsid type that is known */
		LLVMFuzzerTestOneInput(wire, random % 4 ? random % sizeof(wire) : 24);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vfs_by_width_and_fsid),
		cmocka_unit_test(vfs_refuses),
		cmocka_unit_test(vfs_types_of_two_bytes_are_signed),
		cmocka_unit_test(xfs),
		cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
