/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The handles that FSAL_VFS and FSAL_XFS give to clients, and what the kernel makes of them. The
 * formats are stable, since clients keep handles across upgrades. Any bytes may come.
 */
#ifndef DISK_WIRE_HANDLE_H
#define DISK_WIRE_HANDLE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

#define KERNEL_HANDLE_MAX 128 /* bytes: the kernel's MAX_HANDLE_SZ */

/* For open_by_handle_at(2): fh.f_handle are the bytes behind it. */
struct kernel_handle {
	struct file_handle fh;
	unsigned char bytes[KERNEL_HANDLE_MAX];
};

/* The kernel's handle in WIRE of LEN bytes of the FSAL of that NAME; false: there is none. */
bool wire_handle_decode(const char *fsal, const unsigned char *wire, size_t len,
			struct kernel_handle *kh);

#endif
