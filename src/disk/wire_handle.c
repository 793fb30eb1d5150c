/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * VFS:  | width, fsid type | fsid: 0, 8 or 16 bytes | handle type: 1, 2 or 4 | the kernel's handle |
 *         0x40: 1 byte, 0x80: 2, 0xc0: 4 bytes of handle type; 0x20: no file's; 0x1f: the fsid's type
 *
 * XFS:  | fsid: 8 | length and padding: 4 | generation: 4 | inode number: 8 |
 *         which is the kernel's handle type 0x81 (inode number, generation)
 */
#include "disk/wire_handle.h"

#include <stdint.h>
#include <string.h>

#define VFS_NO_FILE   0x20
#define VFS_FSID_MASK 0x1f

#define XFS_WIRE_LEN   24
#define XFS_GENERATION 12 /* where they stand */
#define XFS_INODE      16
#define XFS_TYPE       0x81

/* Bytes of a file system id, by its type (Ganesha's enum fsid_type: none, uint64, major, ...). */
static const unsigned char fsid_bytes[] = {0, 8, 8, 16, 8, 8};

/* The handle type of WIDTH bytes; two are signed, as the kernel writes them. */
static int handle_type(const unsigned char *at, unsigned int width)
{
	int16_t two;
	int four;

	switch (width) {
	case 1:
		return at[0];
	case 2:
		memcpy(&two, at, sizeof(two));
		return two;
	default:
		memcpy(&four, at, sizeof(four));
		return four;
	}
}

static bool decode_vfs(const unsigned char *wire, size_t len, struct kernel_handle *kh)
{
	unsigned int width, fsid;
	size_t at;

	if (len < 2 || wire[0] & VFS_NO_FILE)
		return false;
	width = wire[0] >> 6;
	fsid = wire[0] & VFS_FSID_MASK;
	if (!width || fsid >= sizeof(fsid_bytes))
		return false;
	width = 1u << (width - 1);
	at = 1u + fsid_bytes[fsid];
	if (at + width >= len || len - at - width > KERNEL_HANDLE_MAX)
		return false;
	kh->fh.handle_type = handle_type(wire + at, width);
	at += width;
	kh->fh.handle_bytes = (unsigned int)(len - at);
	memcpy(kh->bytes, wire + at, len - at);
	return true;
}

static bool decode_xfs(const unsigned char *wire, size_t len, struct kernel_handle *kh)
{
	if (len != XFS_WIRE_LEN)
		return false;
	kh->fh.handle_type = XFS_TYPE;
	kh->fh.handle_bytes = 12;
	memcpy(kh->bytes, wire + XFS_INODE, 8);
	memcpy(kh->bytes + 8, wire + XFS_GENERATION, 4);
	return true;
}

_Static_assert(offsetof(struct kernel_handle, bytes) == offsetof(struct file_handle, f_handle),
	       "the kernel finds the bytes behind the head");

bool wire_handle_decode(const char *fsal, const unsigned char *wire, size_t len,
			struct kernel_handle *kh)
{
	if (!strcmp(fsal, "VFS"))
		return decode_vfs(wire, len, kh);
	if (!strcmp(fsal, "XFS"))
		return decode_xfs(wire, len, kh);
	return false;
}
