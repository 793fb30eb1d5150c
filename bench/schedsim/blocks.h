/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory of what is under way, all of it freed where a run ends in the middle. */
#ifndef SCHEDSIM_BLOCKS_H
#define SCHEDSIM_BLOCKS_H

#include <stddef.h>
#include <sys/queue.h>

LIST_HEAD(blocks, block); /* zero: none */

/* SIZE bytes of zeros; memory that cannot be had ends the program. */
void *block_new(struct blocks *all, size_t size);
void block_free(void *memory);
void blocks_fini(struct blocks *all);

#endif
