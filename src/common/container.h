/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The struct that holds a member, out of a pointer to that member. */
#ifndef COMMON_CONTAINER_H
#define COMMON_CONTAINER_H

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member)                                                        \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
