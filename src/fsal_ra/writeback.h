/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write-back through the dispatcher: what clients wrote UNSTABLE goes to the disk early while it is
 * idle, late while reads need it, and in long pieces either way. See writeback.c.
 */
#ifndef RA_WRITEBACK_H
#define RA_WRITEBACK_H

#include <stdbool.h>
#include <stdint.h>

struct backing;
struct export_io;
struct backing_slot;
struct writeback_settings;

/* Life, from lifecycle.c. start returns 0 or an errno. stop: no client calls any more. */
int writeback_start(void);
void writeback_stop(void);

/*
 * With op_ctx: a client's UNSTABLE write of [offset, offset + len) has succeeded. True when the
 * writer may be paced: its write-back is ours, and enough waits for it.
 */
bool writeback_wrote(struct backing_slot *slot, struct export_io *io,
		     const struct writeback_settings *s, uint64_t offset, uint64_t len);
/*
 * With op_ctx: a COMMIT of [offset, offset + len), len 0 to the end of the file, waits until that
 * is written out, as far as it was known to be dirty. The caller must still ask the sub-FSAL, which
 * makes it, and the file's metadata, stable; then writeback_committed() with what this returned.
 */
struct backing *writeback_commit(struct backing_slot *slot, struct export_io *io, uint64_t offset,
				 uint64_t len);
/*
 * With op_ctx, after writeback_commit() of a part of a file of which much else is dirty: makes
 * [offset, offset + len), and what is needed to find it again, stable, and leaves the rest its
 * turns. False: the file is not such a case, or it did not work; then the sub-FSAL must be asked as
 * ever.
 * *ERR: what a failed write-out was, an errno that must reach the client too; else 0.
 */
bool writeback_commit_part(struct backing_slot *slot, struct backing *b, uint64_t offset,
			   uint64_t len, int *err);
/*
 * The error, an errno, that write-backs of the file met since the last COMMIT; 0: none. It must
 * reach the client: the kernel reports it once, and we were the ones to see it. B: NULL is none.
 */
int writeback_committed(struct backing *b);
/*
 * A name of the file was removed: if it was the last, what is dirty is forgotten, and the
 * descriptor that kept its space is closed. Gives back the hold B; NULL: not known which file it
 * is.
 */
void writeback_unlinked(struct backing *b);
/* Files without a name are forgotten, whichever they are: a rename may have replaced one. */
void writeback_removed(void);
/* The export goes: what is dirty is the kernel's to write out. */
void writeback_leave(const struct export_io *io);

/* For operators. */
struct writeback_view {
	uint32_t files;	    /* with dirty data known */
	uint64_t pushed;    /* bytes that write-backs covered */
	uint64_t commits;   /* COMMITs that waited */
	uint64_t errors;    /* write-backs that failed */
	uint64_t untracked; /* writes to files beyond Writeback_Files */
};
void writeback_view(struct writeback_view *v);

#endif /* RA_WRITEBACK_H */
