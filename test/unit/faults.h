/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Faults and pauses at calls of the C library, for programs linked with ra_wrap(): the Nth call from
 * now on fails, or waits until the test lets it go on. Of the thread that set them.
 */
#ifndef UNIT_FAULTS_H
#define UNIT_FAULTS_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

/* 1: the next call of any thread fails; 0: none does. */
static _Atomic int fail_calloc, fail_malloc, fail_aligned_alloc, fail_pthread_create;
/* These many calls fail, with this errno. */
static _Atomic int fail_pread, fail_pread_errno;
/* Called before each pread, fstat and statx, on its thread. */
static void (*on_pread)(int fd, size_t len, off_t offset);
/* ... and before each posix_fadvise, of which the kernel gets no more than advice_max bytes. */
static void (*on_advice)(int fd, size_t len, off_t offset);
static _Atomic size_t advice_max = SIZE_MAX;
static void (*on_fstat)(int fd);

static inline bool fault_due(_Atomic int *left)
{
	return atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fault_due(&fail_calloc) ? NULL : __real_calloc(n, size);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fault_due(&fail_malloc) ? NULL : __real_malloc(size);
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fault_due(&fail_aligned_alloc) ? NULL : __real_aligned_alloc(alignment, size);
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	return fault_due(&fail_pthread_create) ? EAGAIN : __real_pthread_create(t, a, f, arg);
}

ssize_t __real_pread64(int fd, void *buffer, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *buffer, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *buffer, size_t len, off_t offset)
{
	if (on_pread)
		on_pread(fd, len, offset);
	if (atomic_load(&fail_pread) > 0) {
		atomic_fetch_sub(&fail_pread, 1);
		errno = atomic_load(&fail_pread_errno);
		return -1;
	}
	return __real_pread64(fd, buffer, len, offset);
}

int __real_posix_fadvise64(int fd, off_t offset, off_t len, int advice);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice)
{
	size_t max = atomic_load(&advice_max);

	if (on_advice)
		on_advice(fd, (size_t)len, offset);
	return __real_posix_fadvise64(fd, offset, (size_t)len < max ? len : (off_t)max, advice);
}

struct stat;
int __real_fstat64(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st)
{
	if (on_fstat)
		on_fstat(fd);
	return __real_fstat64(fd, st);
}

struct statx;
int __real_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st);
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st);
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st)
{
	if (on_fstat)
		on_fstat(dir);
	return __real_statx(dir, path, flags, mask, st);
}

/*
 * A pause: a thread stops in pause_here(), and one that calls pause_at(N) before its Nth next mutex is
 * taken. Others learn that by pause_wait(), and let it go on by pause_end().
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool reached, over;
} pause_point = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static _Thread_local int pause_left;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
static inline void pause_here(void)
{
	__real_pthread_mutex_lock(&pause_point.lock);
	pause_point.reached = true;
	pthread_cond_broadcast(&pause_point.changed);
	while (!pause_point.over)
		pthread_cond_wait(&pause_point.changed, &pause_point.lock);
	pthread_mutex_unlock(&pause_point.lock);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	if (pause_left > 0 && --pause_left == 0)
		pause_here();
	return __real_pthread_mutex_lock(lock);
}

/* Before the thread starts that will pause. */
static inline void pause_reset(void)
{
	pause_point.reached = pause_point.over = false;
}

static inline void pause_at(int nth)
{
	pause_left = nth;
}

static inline void pause_wait(void)
{
	__real_pthread_mutex_lock(&pause_point.lock);
	while (!pause_point.reached)
		pthread_cond_wait(&pause_point.changed, &pause_point.lock);
	pthread_mutex_unlock(&pause_point.lock);
}

static inline void pause_end(void)
{
	__real_pthread_mutex_lock(&pause_point.lock);
	pause_point.over = true;
	pthread_cond_broadcast(&pause_point.changed);
	pthread_mutex_unlock(&pause_point.lock);
}

#endif
