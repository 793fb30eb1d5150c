/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Dirty memory, from /proc/vmstat. See dirty_memory.h. */
#include "writeback/dirty_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "writeback/pacing.h"

#define VMSTAT "/proc/vmstat"
/* The rate is measured over at least this (ns), and averaged over about so many such spans. */
#define RATE_SPAN  UINT64_C(200000000)
#define RATE_SPANS 4
/* ... while at least this part of the budget waits. */
#define RATE_BACKLOG 0.3
/* Bytes a second until one was measured, and the least believed. */
#define RATE_FIRST 100e6
/*
 * A look is too old after this (ns): four ticks of the flusher, which has looked else; and where writers are held back by
 * it, for a fast disk has emptied a small budget in a tick.
 */
#define LOOK_OLD     UINT64_C(200000000)
#define LOOK_PRESSED UINT64_C(5000000)
#define RATE_LEAST   1e6

static struct {
	int fd;
	uint64_t page;				 /* bytes */
	_Atomic uint64_t configured;		 /* bytes */
	_Atomic uint64_t sampled, since, budget; /* bytes */
	_Atomic uint64_t rate;			 /* bytes/s */
	_Atomic uint64_t looked;		 /* ns */
	atomic_flag looking;
	uint64_t written, at; /* at the start of the present span */
	bool backlog;
} dirty = {.fd = -1, .looking = ATOMIC_FLAG_INIT};

void dirty_memory_set_budget(uint64_t budget)
{
	atomic_store_explicit(&dirty.configured, budget, memory_order_relaxed);
}

void dirty_memory_start(uint64_t budget)
{
	dirty.page = (uint64_t)sysconf(_SC_PAGESIZE);
	dirty_memory_set_budget(budget);
	atomic_store(&dirty.rate, (uint64_t)RATE_FIRST);
	atomic_store(&dirty.sampled, 0);
	atomic_store(&dirty.since, 0);
	atomic_store(&dirty.budget, budget);
	dirty.at = 0;
	dirty.fd = open(VMSTAT, O_RDONLY | O_CLOEXEC);
	if (dirty.fd < 0)
		log_line(LOG_LEVEL_WARN,
			 "%s: %s: how much is dirty is not known; writers are not paced", VMSTAT,
			 strerror(errno));
}

void dirty_memory_stop(void)
{
	if (dirty.fd >= 0)
		close(dirty.fd);
	dirty.fd = -1;
}

/* The number in the line of KEY, which ends with a blank; 0 if there is none. */
static uint64_t counter(const char *text, const char *key)
{
	const char *at = text_line(text, key);
	uint64_t number;

	return at != NULL && text_numbers(at, &number, 1) ? number : 0;
}

/* How fast the disk takes it, judged while enough waits. */
static void measure(uint64_t written, double level, uint64_t now)
{
	uint64_t elapsed = now - dirty.at;
	double rate = (double)atomic_load(&dirty.rate);

	if (dirty.at && elapsed < RATE_SPAN)
		return;
	if (dirty.at && dirty.backlog && elapsed < 10 * RATE_SPAN) {
		double seen = (double)(written - dirty.written) * 1e9 / (double)elapsed;

		rate += (seen - rate) / RATE_SPANS;
		atomic_store(&dirty.rate, (uint64_t)(rate < RATE_LEAST ? RATE_LEAST : rate));
	}
	dirty.written = written;
	dirty.at = now;
	dirty.backlog = level > RATE_BACKLOG;
}

void dirty_memory_feed(const char *text, uint64_t now)
{
	uint64_t budget = atomic_load_explicit(&dirty.configured, memory_order_relaxed);

	atomic_store_explicit(&dirty.looked, now, memory_order_relaxed);
	if (!budget)
		budget = counter(text, "nr_dirty_background_threshold ") * dirty.page / 4 * 3;
	atomic_store(&dirty.budget, budget);
	atomic_store(&dirty.sampled,
		     (counter(text, "nr_dirty ") + counter(text, "nr_writeback ")) * dirty.page);
	atomic_store(&dirty.since, 0);
	measure(counter(text, "nr_written ") * dirty.page, dirty_memory_level(), now);
}

void dirty_memory_sample(uint64_t now)
{
	static char text[16384];
	ssize_t n;

	if (dirty.fd < 0 || atomic_flag_test_and_set_explicit(&dirty.looking, memory_order_acquire))
		return;
	n = text_read(dirty.fd, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		dirty_memory_feed(text, now);
	}
	atomic_flag_clear_explicit(&dirty.looking, memory_order_release);
}

void dirty_memory_refresh(uint64_t now, bool held)
{
	uint64_t looked = atomic_load_explicit(&dirty.looked, memory_order_relaxed);
	uint64_t most = held || dirty_memory_level() > PACING_SETPOINT ? LOOK_PRESSED : LOOK_OLD;

	if (elapsed(looked, now) > most)
		dirty_memory_sample(now);
}

void dirty_memory_wrote(uint64_t bytes)
{
	atomic_fetch_add_explicit(&dirty.since, bytes, memory_order_relaxed);
}

uint64_t dirty_memory_budget(void)
{
	return atomic_load_explicit(&dirty.budget, memory_order_relaxed);
}

double dirty_memory_level(void)
{
	uint64_t budget = dirty_memory_budget();

	if (!budget || dirty.fd < 0)
		return 0;
	return (double)(atomic_load_explicit(&dirty.sampled, memory_order_relaxed) +
			atomic_load_explicit(&dirty.since, memory_order_relaxed)) /
	       (double)budget;
}

double dirty_memory_rate(void)
{
	return (double)atomic_load_explicit(&dirty.rate, memory_order_relaxed);
}
