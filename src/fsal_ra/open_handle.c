/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A descriptor of our own for a file of FSAL_VFS or FSAL_XFS: out of the handle that clients hold
 * (disk/wire_handle.h), by open_by_handle_at(2).
 *
 * The sub-FSAL keeps the root of its file system open, we only know the path; so what was opened is
 * compared with the file that the sub-FSAL means.
 */
#include "open_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "disk/file_identity.h"
#include "disk/wire_handle.h"
#include "fs_dev.h"
#include "subcall.h"

_Static_assert(FSID_NO_TYPE == 0 && FSID_TWO_UINT64 == 3 && FSID_DEVICE == 5,
	       "disk/wire_handle.c knows these types by their numbers");

static bool decode(struct fsal_obj_handle *sub, struct kernel_handle *kh)
{
	unsigned char wire[128];
	struct gsh_buffdesc desc = {.addr = wire, .len = sizeof(wire)};

	if (FSAL_IS_ERROR(sub->obj_ops->handle_to_wire(sub, FSAL_DIGEST_NFSV3, &desc)))
		return false;
	return wire_handle_decode(sub->fsal->name, wire, desc.len, kh);
}

bool open_handle_decode(struct fsal_obj_handle *sub, struct kernel_handle *kh)
{
	return SUBCALL(ra_export_of_op(), decode(sub, kh));
}

/* The file that the sub-FSAL means. */
static void identify(const struct fsal_obj_handle *sub, const struct kernel_handle *kh,
		     struct file_identity *id)
{
	*id = (struct file_identity){
		.dev = fs_dev(sub->fs),
		.ino = sub->fileid,
	};
	file_identity_generation(id, kh->fh.handle_type, kh->bytes, kh->fh.handle_bytes);
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
	if (sub->fs == NULL || sub->fs->path == NULL || !open_handle_decode(sub, &kh)) {
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
