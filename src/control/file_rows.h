/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The part of client_rows.h that no flow tells: rows by file, and what READs found. Not thread-safe. */
#ifndef CONTROL_FILE_ROWS_H
#define CONTROL_FILE_ROWS_H

#include "control/client_row.h"

/* Once ROWS has its seconds: the rows by file; and what all exports did, and each client's READs. */
void file_rows_between(struct client_rows *rows, const struct use_sample *before,
		       const struct use_sample *after);
void read_rows_between(struct client_rows *rows, const struct use_sample *before,
		       const struct use_sample *after);

#endif
