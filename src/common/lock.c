/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which ranks of locks the thread holds. See lock.h. */
#include "common/lock.h"

#ifndef NDEBUG
_Thread_local uint32_t lock_held;
#endif
