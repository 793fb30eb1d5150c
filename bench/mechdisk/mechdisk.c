/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * mechdisk: a mechanical disk as a FUSE file system with three files:
 *
 *   disk   the medium; put a loop device with direct I/O on it
 *   ctl    commands, one a line (control.c); a bad one makes write(2) fail
 *   stats  the drive's counters as JSON
 *
 * This thread receives requests and queues them; the drive's thread (drive.c) answers when the
 * model says so. With depth 1, and one spindle, the kernel is asked for synchronous direct I/O: then
 * the loop device sends one request at a time, and what waits can still be ordered above.
 */
#define FUSE_USE_VERSION 35

#include <fuse_lowlevel.h>

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "disk_selftest.h"
#include "drive.h"
#include "image.h"
#include "record.h"

enum { INODE_ROOT = FUSE_ROOT_ID, INODE_DISK, INODE_CTL, INODE_STATS, INODE_END };

static const char *const names[INODE_END] = {
	[INODE_DISK] = "disk",
	[INODE_CTL] = "ctl",
	[INODE_STATS] = "stats",
};

static struct disk_params params;
static uint64_t disk_size;

static int fill_attr(fuse_ino_t ino, struct stat *st)
{
	if (ino < INODE_ROOT || ino >= INODE_END)
		return ENOENT;
	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_mode = S_IFREG | 0600;
	st->st_nlink = 1;
	st->st_blksize = 4096;
	if (ino == INODE_ROOT) {
		st->st_mode = S_IFDIR | 0700;
		st->st_nlink = 2;
	} else if (ino == INODE_DISK) {
		st->st_size = (off_t)disk_size;
		st->st_blocks = (blkcnt_t)(disk_size / 512);
	} else if (ino == INODE_STATS) {
		st->st_mode = S_IFREG | 0400;
	}
	return 0;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	if (params.depth <= 1 && params.spindles <= 1)
		conn->want &= ~(unsigned)FUSE_CAP_ASYNC_DIO;
	conn->max_readahead = 0;
	/* The kernel sends no more than so many at once, 12 by itself: fewer than a drive's queue holds. */
	if (conn->max_background < params.depth * params.spindles)
		conn->max_background = (unsigned)(params.depth * params.spindles);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {.attr_timeout = 3600, .entry_timeout = 3600};

	for (fuse_ino_t ino = INODE_DISK; parent == INODE_ROOT && ino < INODE_END; ino++) {
		if (strcmp(name, names[ino]))
			continue;
		entry.ino = ino;
		fill_attr(ino, &entry.attr);
		fuse_reply_entry(req, &entry);
		return;
	}
	fuse_reply_err(req, ENOENT);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	int err = fill_attr(ino, &st);

	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_attr(req, &st, 3600);
}

/* Truncation by `echo > ctl` and the like is accepted and means nothing. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	if (ino == INODE_CTL)
		op_getattr(req, ino, fi);
	else
		fuse_reply_err(req, EPERM);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	char buffer[1024];
	size_t used = 0;

	for (fuse_ino_t at = INODE_DISK + (fuse_ino_t)off; at < INODE_END; at++) {
		struct stat st;
		size_t need;

		fill_attr(at, &st);
		need = fuse_add_direntry(req, NULL, 0, names[at], NULL, 0);
		if (used + need > sizeof(buffer) || used + need > size)
			break;
		fuse_add_direntry(req, buffer + used, need, names[at], &st, at - INODE_DISK + 1);
		used += need;
	}
	fuse_reply_buf(req, buffer, used);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (ino == INODE_ROOT || ino >= INODE_END) {
		fuse_reply_err(req, EISDIR);
		return;
	}
	fi->direct_io = 1;
	fi->keep_cache = 0;
	fuse_reply_open(req, fi);
}

static void drive_answer(void *user, int err, const void *data, size_t length)
{
	fuse_req_t req = user;

	if (err)
		fuse_reply_err(req, err);
	else if (data)
		fuse_reply_buf(req, data, length);
	else
		fuse_reply_write(req, length);
}

static void read_stats(fuse_req_t req, size_t size, off_t off)
{
	char text[1024];
	size_t length = (size_t)drive_stats(text, sizeof(text));

	if ((size_t)off >= length)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, text + off, length - off < size ? length - off : size);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	if (ino == INODE_STATS) {
		read_stats(req, size, off);
		return;
	}
	if (ino != INODE_DISK || off < 0 || (uint64_t)off >= disk_size) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	if (size > disk_size - (uint64_t)off)
		size = disk_size - (uint64_t)off;
	if (size > DRIVE_REQUEST_MAX)
		size = DRIVE_REQUEST_MAX;
	drive_read(req, (uint64_t)off, size);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	int err;

	if (ino == INODE_CTL) {
		err = control_run(data, size);
		if (err)
			fuse_reply_err(req, err);
		else
			fuse_reply_write(req, size);
	} else if (ino != INODE_DISK) {
		fuse_reply_err(req, EACCES);
	} else if (off < 0 || (uint64_t)off >= disk_size || size > disk_size - (uint64_t)off) {
		fuse_reply_err(req, ENOSPC);
	} else {
		drive_write(req, data, (uint64_t)off, size);
	}
}

/* Nothing is held back: an acknowledged write is in the image. */
static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	record_flush();
	fuse_reply_err(req, 0);
}

static int discard(uint64_t offset, uint64_t length)
{
	int err = image_discard(offset, length);

	if (!err)
		record_discard(offset, length);
	return err;
}

/* The loop device's discard and write-zeroes: both leave zeros behind, so both become holes. */
static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t length,
			 struct fuse_file_info *fi)
{
	const int punch = 0x02, zero = 0x10; /* FALLOC_FL_PUNCH_HOLE, FALLOC_FL_ZERO_RANGE */

	if (ino != INODE_DISK || !(mode & (punch | zero)))
		fuse_reply_err(req, EOPNOTSUPP);
	else if (off < 0 || length <= 0 || (uint64_t)off + (uint64_t)length > disk_size)
		fuse_reply_err(req, EINVAL);
	else
		fuse_reply_err(req, discard((uint64_t)off, (uint64_t)length));
}

static const struct fuse_lowlevel_ops operations = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readdir = op_readdir,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.fsync = op_fsync,
	.fallocate = op_fallocate,
};

static void usage(FILE *out)
{
	fputs("Usage: mechdisk [options] MOUNTPOINT\n"
	      "A mechanical disk as a file for a loop device; runs in the foreground until\n"
	      "SIGTERM, SIGINT or umount.\n\n"
	      "  --image FILE    keep the bytes in FILE (default: in memory, sparse)\n"
	      "  --self-test     compare the model with its formulae and leave\n"
	      "  --help          this text\n",
	      out);
	disk_params_help(out);
}

/* The numeric options of the table, then our own. Ends with an empty entry. */
static void make_options(struct option *table, int max)
{
	int n = 0;

	for (const struct disk_option *o = disk_options; o->name && n < max - 4; o++)
		table[n++] = (struct option){o->name, required_argument, NULL, 0};
	table[n++] = (struct option){"image", required_argument, NULL, 'i'};
	table[n++] = (struct option){"self-test", no_argument, NULL, 's'};
	table[n++] = (struct option){"help", no_argument, NULL, 'h'};
	table[n] = (struct option){0};
}

/* Returns -1 to go on, else the exit status. */
static int parse(int argc, char **argv, const char **image, bool *self_test)
{
	struct option table[32];
	char err[256];
	int c, index;

	make_options(table, 32);
	disk_params_default(&params);
	while ((c = getopt_long(argc, argv, "h", table, &index)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return 0;
		} else if (c == 'i') {
			*image = optarg;
		} else if (c == 's') {
			*self_test = true;
		} else if (c) {
			fprintf(stderr, "mechdisk: try --help\n");
			return 2;
		} else if (disk_params_set(&params, table[index].name, optarg, err, sizeof(err))) {
			fprintf(stderr, "mechdisk: %s\n", err);
			return 2;
		}
	}
	if (disk_params_check(&params, err, sizeof(err))) {
		fprintf(stderr, "mechdisk: %s\n", err);
		return 2;
	}
	if (!*self_test && optind != argc - 1) {
		fprintf(stderr, "mechdisk: one MOUNTPOINT is needed; try --help\n");
		return 2;
	}
	return -1;
}

static int serve(const char *mountpoint)
{
	char *fuse_argv[] = {"mechdisk", "-osubtype=mechdisk,fsname=mechdisk", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(2, fuse_argv);
	struct fuse_session *session;
	int status = 1;

	session = fuse_session_new(&args, &operations, sizeof(operations), NULL);
	if (!session)
		return 1;
	if (!fuse_set_signal_handlers(session)) {
		if (!fuse_session_mount(session, mountpoint)) {
			status = fuse_session_loop(session) < 0;
			drive_stop();
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_destroy(session);
	fuse_opt_free_args(&args);
	return status;
}

/*
 * A disk does not wait for the host's processors: our threads, which mostly sleep, go before the
 * load that is measured. Where that is not permitted, a busy machine makes the disk a little slow.
 */
static void go_first(void)
{
	struct sched_param priority = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_RR, &priority);
}

int main(int argc, char **argv)
{
	const char *image = NULL;
	bool self_test = false;
	int status = parse(argc, argv, &image, &self_test), err;

	if (status >= 0)
		return status;
	if (self_test)
		return disk_selftest(&params, stdout) ? 1 : 0;
	disk_size = (uint64_t)params.size_mb << 20;
	err = image_open(image, disk_size);
	if (err) {
		fprintf(stderr, "mechdisk: image %s: %s\n", image ? image : "in memory",
			strerror(err));
		return 1;
	}
	go_first();
	err = drive_start(&params, drive_answer);
	if (err) {
		fprintf(stderr, "mechdisk: cannot start the drive: %s\n", strerror(err));
		return 1;
	}
	status = serve(argv[optind]);
	image_close();
	return status;
}
