/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A descriptor of our own for a file of FSAL_VFS or FSAL_XFS: out of the handle that clients hold, by
 * open_by_handle_at(2). The formats are stable, since clients keep handles across upgrades.
 *
 * The sub-FSAL keeps the root of its file system open, we only know the path; so what was opened is
 * compared with the file that the sub-FSAL means.
 */
#include "open_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/file_identity.h"
#include "subcall.h"

#include "FSAL/fsal_localfs.h"

struct kernel_handle {
	struct file_handle fh;
	unsigned char bytes[128];
};

/*
 * FSAL_VFS' handle on the wire: a byte that says the width of the handle type (0x40: 1 byte, 0x80: 2,
 * 0xc0: 4) and the type of the file system id, the id (none, 8 or 16 bytes), the handle type, and
 * the kernel's opaque handle.
 */
static bool decode_vfs(const unsigned char *wire, size_t len, struct kernel_handle *kh)
{
	unsigned int width, fsid;
	size_t at = 1;

	if (len < 2 || wire[0] & 0x20)
		return false;
	width = wire[0] >> 6;
	fsid = wire[0] & 0x1f;
	if (!width || fsid > FSID_DEVICE)
		return false;
	at += sizeof_fsid((enum fsid_type)fsid);
	width = 1u << (width - 1);
	if (at + width >= len || len - at - width > sizeof(kh->bytes))
		return false;
	if (width == 1) {
		kh->fh.handle_type = wire[at];
	} else if (width == 2) {
		int16_t type;

		memcpy(&type, wire + at, sizeof(type));
		kh->fh.handle_type = type;
	} else {
		memcpy(&kh->fh.handle_type, wire + at, sizeof(kh->fh.handle_type));
	}
	at += width;
	kh->fh.handle_bytes = (unsigned int)(len - at);
	memcpy(kh->fh.f_handle, wire + at, len - at);
	return true;
}

/*
 * FSAL_XFS' handle: libhandle's, with fsid, padding, generation and inode number. The kernel's export
 * format for XFS' 64-bit inode numbers is type 0x81: inode number, generation.
 */
static bool decode_xfs(const unsigned char *wire, size_t len, struct kernel_handle *kh)
{
	if (len != 24)
		return false;
	kh->fh.handle_type = 0x81;
	kh->fh.handle_bytes = 12;
	memcpy(kh->fh.f_handle, wire + 16, 8);
	memcpy(kh->fh.f_handle + 8, wire + 12, 4);
	return true;
}

static bool decode(struct fsal_obj_handle *sub, struct kernel_handle *kh)
{
	unsigned char wire[128];
	struct gsh_buffdesc desc = {.addr = wire, .len = sizeof(wire)};

	if (FSAL_IS_ERROR(sub->obj_ops->handle_to_wire(sub, FSAL_DIGEST_NFSV3, &desc)))
		return false;
	if (!strcmp(sub->fsal->name, "VFS"))
		return decode_vfs(wire, desc.len, kh);
	if (!strcmp(sub->fsal->name, "XFS"))
		return decode_xfs(wire, desc.len, kh);
	return false;
}

/* The file that the sub-FSAL means. */
static void identify(const struct fsal_obj_handle *sub, const struct kernel_handle *kh,
		     struct file_identity *id)
{
	*id = (struct file_identity){
		.dev = makedev(sub->fs->dev.major, sub->fs->dev.minor),
		.ino = sub->fileid,
	};
	file_identity_generation(id, kh->fh.handle_type, kh->fh.f_handle, kh->fh.handle_bytes);
}

/* On the file system mounted at MOUNT_FD, if that is ID's. As open_handle(). */
static int open_on(int mount_fd, struct kernel_handle *kh, const struct file_identity *id,
		   int access, int *err)
{
	int fd;

	*err = file_identity_check_mount(id, mount_fd);
	if (*err)
		return -1;
	fd = open_by_handle_at(mount_fd, &kh->fh, access | O_NOATIME | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		*err = errno;
		return -1;
	}
	*err = file_identity_check(id, fd);
	if (*err) {
		close(fd);
		return -1;
	}
	return fd;
}

int open_handle(struct backing_slot *slot, int access, int *err)
{
	struct fsal_obj_handle *sub = container_of(slot, struct ra_handle, slot)->sub_handle;
	struct file_identity id;
	struct kernel_handle kh;
	int mount_fd, fd;

	*err = 0;
	if (sub->fs == NULL || sub->fs->path == NULL ||
	    !SUBCALL(ra_export_of_op(), decode(sub, &kh))) {
		*err = EOPNOTSUPP;
		return -1;
	}
	identify(sub, &kh, &id);
	mount_fd = open(sub->fs->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount_fd < 0) {
		*err = errno;
		return -1;
	}
	fd = open_on(mount_fd, &kh, &id, access, err);
	close(mount_fd);
	return fd;
}
