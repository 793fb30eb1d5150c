/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files as operators see them: what the engine knows, with the path of the descriptor that is open. */
#ifndef RA_FILE_FACTS_H
#define RA_FILE_FACTS_H

#include "control/facts.h"

/* Before the others. */
void ra_file_facts_start(struct readahead *engine);
/* As in struct control_host. */
unsigned int ra_files_facts(struct file_facts *f, unsigned int max);
uint64_t ra_file_name(uint64_t dev, uint64_t inode);
int ra_cursors_facts(uint64_t file, struct file_facts *f, struct readahead_cursor_look *c,
		     unsigned int max);

#endif /* RA_FILE_FACTS_H */
