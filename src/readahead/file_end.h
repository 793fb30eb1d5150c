/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who begins with a file at its end. Its index may be there (of an archive, a film, a table), or the newest lines of a log;
 * or it is read backward. Most who do so want more of the end than their first READ, in further ones that cost the disk a
 * turn each; some, who look at the last bytes of each file, do not. Which of both a reader is, the files say that he began
 * so, whether the end was brought as a whole (first_read.h) or not:
 *
 *       files of his      more wanted     the next one's end comes
 *          1 .. 8             ?              as a whole
 *          more           1 of 16, or more   as a whole
 *          more             fewer            as far as he asks for it
 *
 * Of who begins so for the first time it counts what all did. Other readers of the file, and the same READ again, which was
 * told to, say nothing of him. Whoever comes to a file that was left alone for ten seconds begins with it: it may have left
 * memory. But who goes on there with a stream does not; and of who comes to the same end each time, as to a log's, and never
 * goes on, that is one file.
 */
#ifndef READAHEAD_FILE_END_H
#define READAHEAD_FILE_END_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "readahead/readers.h"

struct heur_file;
struct readahead_read;

/* What readers did, by number (readers.h); of all at 0. Zeroed: nothing is known. */
struct file_ends {
	struct {
		_Atomic uint16_t begun,
			more; /* files begun at their end; ... of which more was wanted */
	} of[READERS_MAX + 1];
};

/* READER's number is another one's from now on. Any thread. */
void file_ends_forget(struct file_ends *e, uint32_t reader);
/*
 * READ, which F has counted, is looked at. True: it is the first of its file (or of a file left alone), at the end, which is
 * worth bringing as a whole. With F's lock.
 */
bool file_ends_read(struct file_ends *e, struct heur_file *f, const struct readahead_read *read);

#endif
