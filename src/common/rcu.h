/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Sections in which what was published under RCU stays as it is.
 *
 *   reader:  rcu_begin -> rcu_read(pointer), use it -> rcu_end     no lock, nothing shared is written
 *   writer:  rcu_publish(pointer, other) -> rcu_wait -> the old one is nobody's
 *
 * It is liburcu's "bulletproof" flavour, which any thread may use unregistered. A reader's lock and unlock
 * come to a few instructions when they are inlined, which liburcu allows under our licence; as calls
 * each costs forty. The sanitizers get calls: inlined, a reader's record of Debian 12's liburcu is found at an
 * address of less than its type's alignment, which does no harm. The thread sanitizer, for which the
 * distribution's liburcu is not built, would not see that a grace period lies between the last reader
 * and the end of what it read: it is told here.
 */
#ifndef COMMON_RCU_H
#define COMMON_RCU_H

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(_LGPL_SOURCE)
#define _LGPL_SOURCE
#endif
#include <urcu-bp.h>
#include <urcu/rculfhash.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
__attribute__((weak)) char rcu_grace;
#define RCU_TELL_ACQUIRE() __tsan_acquire(&rcu_grace)
#define RCU_TELL_RELEASE() __tsan_release(&rcu_grace)
#else
#define RCU_TELL_ACQUIRE() ((void)0)
#define RCU_TELL_RELEASE() ((void)0)
#endif

/* Any thread; may be nested. In between nothing may wait for a writer. */
static inline void rcu_begin(void)
{
	urcu_bp_read_lock();
}

static inline void rcu_end(void)
{
	RCU_TELL_RELEASE();
	urcu_bp_read_unlock();
}

/* In a section: what POINTER points at. */
#define rcu_read(pointer)                                                                          \
	({                                                                                         \
		__typeof__(pointer) rcu_value_ = rcu_dereference(pointer);                         \
		RCU_TELL_ACQUIRE();                                                                \
		rcu_value_;                                                                        \
	})

/* One thread at a time for each POINTER. */
#define rcu_publish(pointer, value)                                                                \
	do {                                                                                       \
		RCU_TELL_RELEASE();                                                                \
		rcu_assign_pointer(pointer, value);                                                \
	} while (0)

/* Until every section that may have begun before has ended. Not in a section. */
static inline void rcu_wait(void)
{
	RCU_TELL_RELEASE();
	urcu_bp_synchronize_rcu();
	RCU_TELL_ACQUIRE();
}

#endif
