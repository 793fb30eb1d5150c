/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the compiler calls under -fsanitize=thread (a function for each kind of access, in place of
 * the sanitizer's own runtime), and what the linker puts before functions of libc that write to
 * memory of their callers' (--wrap: see CMakeLists.txt).
 */
#include <pthread.h>
#include <string.h>

#include "lines.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define HERE __builtin_return_address(0)

void __tsan_init(void)
{
	lines_start();
}

void __tsan_func_entry(void *caller)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *at, unsigned long len)
{
	lines_touch(at, len, false, HERE);
}

void __tsan_write_range(void *at, unsigned long len)
{
	lines_touch(at, len, true, HERE);
}

#define PLAIN(bytes)                                                                               \
	void __tsan_read##bytes(void *at)                                                          \
	{                                                                                          \
		lines_touch(at, bytes, false, HERE);                                               \
	}                                                                                          \
	void __tsan_write##bytes(void *at)                                                         \
	{                                                                                          \
		lines_touch(at, bytes, true, HERE);                                                \
	}                                                                                          \
	void __tsan_unaligned_read##bytes(void *at)                                                \
	{                                                                                          \
		lines_touch(at, bytes, false, HERE);                                               \
	}                                                                                          \
	void __tsan_unaligned_write##bytes(void *at)                                               \
	{                                                                                          \
		lines_touch(at, bytes, true, HERE);                                                \
	}                                                                                          \
	void __tsan_volatile_read##bytes(void *at)                                                 \
	{                                                                                          \
		lines_touch(at, bytes, false, HERE);                                               \
	}                                                                                          \
	void __tsan_volatile_write##bytes(void *at)                                                \
	{                                                                                          \
		lines_touch(at, bytes, true, HERE);                                                \
	}
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

/* One that changes memory: the line must be the thread's own, whether or not a value changed. */
#define CHANGE(bits, type, name)                                                                   \
	type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                \
	{                                                                                          \
		lines_touch(at, sizeof(type), true, HERE);                                         \
		return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                               \
	}

#define EXCHANGE(bits, type, name)                                                                 \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *expected,       \
							  type value, int order, int failed)       \
	{                                                                                          \
		lines_touch(at, sizeof(type), true, HERE);                                         \
		return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,   \
						   __ATOMIC_SEQ_CST);                              \
	}

#define ATOMIC(bits, type)                                                                         \
	type __tsan_atomic##bits##_load(const volatile type *at, int order)                        \
	{                                                                                          \
		lines_touch(at, sizeof(type), false, HERE);                                        \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                      \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                 \
	{                                                                                          \
		lines_touch(at, sizeof(type), true, HERE);                                         \
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                     \
	}                                                                                          \
	type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order)              \
	{                                                                                          \
		lines_touch(at, sizeof(type), true, HERE);                                         \
		return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                           \
	}                                                                                          \
	CHANGE(bits, type, fetch_add)                                                              \
	CHANGE(bits, type, fetch_sub)                                                              \
	CHANGE(bits, type, fetch_and)                                                              \
	CHANGE(bits, type, fetch_or)                                                               \
	CHANGE(bits, type, fetch_xor)                                                              \
	CHANGE(bits, type, fetch_nand)                                                             \
	EXCHANGE(bits, type, strong)                                                               \
	EXCHANGE(bits, type, weak)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* What src tells the sanitizer of order: no access. */
void __tsan_acquire(void *at)
{
}

void __tsan_release(void *at)
{
}

/* A lock is a write to its first line, at both ends. */
#define LOCK(name, type)                                                                           \
	int __real_##name(type *lock);                                                             \
	int __wrap_##name(type *lock)                                                              \
	{                                                                                          \
		lines_touch(lock, 4, true, HERE);                                                  \
		return __real_##name(lock);                                                        \
	}
LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_mutex_trylock, pthread_mutex_t)
LOCK(pthread_mutex_unlock, pthread_mutex_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
LOCK(pthread_rwlock_unlock, pthread_rwlock_t)
LOCK(pthread_cond_signal, pthread_cond_t)
LOCK(pthread_cond_broadcast, pthread_cond_t)

void *__real_memcpy(void *to, const void *from, size_t len);
void *__wrap_memcpy(void *to, const void *from, size_t len)
{
	lines_touch(from, len, false, HERE);
	lines_touch(to, len, true, HERE);
	return __real_memcpy(to, from, len);
}

void *__real_memset(void *at, int byte, size_t len);
void *__wrap_memset(void *at, int byte, size_t len)
{
	lines_touch(at, len, true, HERE);
	return __real_memset(at, byte, len);
}
