/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The image's bytes. Sparse; safe for several threads. All calls return 0 or a positive errno. */
#ifndef MECHDISK_IMAGE_H
#define MECHDISK_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Opens or makes the image. path NULL: in memory. */
int image_open(const char *path, uint64_t size);
void image_close(void);
int image_read(void *buffer, uint64_t offset, size_t length);
int image_write(const void *buffer, uint64_t offset, size_t length);
int image_discard(uint64_t offset, uint64_t length);

#endif
