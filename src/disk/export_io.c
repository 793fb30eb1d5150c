/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Exports' requests, counters and settings. See export_io.h. */
#include "disk/export_io.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "disk/block_device.h"

/* While answers are waited for they are looked at so often (ns). */
#define ABANDON_LOOK 1000000

static struct {
	struct lock lock;
	struct export_io *first;
	struct readahead_counters past;		/* of exports that are gone */
	uint64_t known[GIVEN_UP_ACCOUNTS / 64]; /* bit n: there is, or was, an export n */
	uint64_t waited;       /* ns, for exports that went, less what was given back */
	uint64_t waited_until; /* ns */
} exports = {.lock = LOCK_INITIALIZER(LOCK_EXPORTS)};

/* ---- life -------------------------------------------------------------------------------- */

struct export_io *export_io_new(uint16_t export_id, struct readahead *engine,
				const struct export_settings *s)
{
	struct export_io *io = aligned_alloc(64, (sizeof(*io) + 63) / 64 * 64);
	struct export_settings *settings = export_settings_copy(s);

	if (io == NULL || settings == NULL) {
		free(io);
		free(settings);
		return NULL;
	}
	memset(io, 0, sizeof(*io));
	atomic_init(&io->refs, 1);
	io->export_id = export_id;
	io->engine = engine;
	io->settings = settings;
	lock_init(&io->lock, LOCK_EXPORT);
	clock_cond_init(&io->drained);
	io->made = clock_now();
	lock_take(&exports.lock);
	io->next = exports.first;
	exports.first = io;
	exports.known[export_id / 64] |= UINT64_C(1) << export_id % 64;
	lock_drop(&exports.lock);
	return io;
}

struct export_io *export_io_ref(struct export_io *io)
{
	unsigned int before = atomic_fetch_add_explicit(&io->refs, 1, memory_order_relaxed);

	assert(before > 0);
	(void)before;
	return io;
}

static void leave_list(struct export_io *io)
{
	lock_take(&exports.lock);
	for (struct export_io **at = &exports.first; *at != NULL; at = &(*at)->next)
		if (*at == io) {
			*at = io->next;
			break;
		}
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		readahead_count(&exports.past, i, readahead_counted(&io->counters, i));
	lock_drop(&exports.lock);
}

void export_io_put(struct export_io *io)
{
	if (atomic_fetch_sub_explicit(&io->refs, 1, memory_order_acq_rel) != 1)
		return;
	assert(atomic_load(&io->pending) == 0 && atomic_load(&io->handles) == 0);
	leave_list(io);
	device_unuse(atomic_load(&io->devices));
	lock_fini(&io->lock);
	pthread_cond_destroy(&io->drained);
	free(io->settings);
	free(io);
}

/* ---- requests ---------------------------------------------------------------------------- */

/*
 * Who enters counts itself, then looks whether the export is closing; who closes it says so, then looks
 * at the count: one of them sees the other. The lock is only for the last one to wake whoever waits.
 */
static void count_out(struct export_io *io, _Atomic uint32_t *count)
{
	uint32_t before = atomic_fetch_sub(count, 1);

	assert(before > 0);
	if (before != 1 || !atomic_load(&io->closing))
		return;
	lock_take(&io->lock);
	pthread_cond_broadcast(&io->drained);
	lock_drop(&io->lock);
}

/* False: the export is closing, nothing is counted. */
static bool count_in(struct export_io *io, _Atomic uint32_t *count)
{
	atomic_fetch_add(count, 1);
	if (!atomic_load(&io->closing))
		return true;
	count_out(io, count);
	return false;
}

bool export_io_enter(struct export_io *io)
{
	return count_in(io, &io->pending);
}

void export_io_enter_again(struct export_io *io)
{
	uint32_t before = atomic_fetch_add(&io->pending, 1);

	(void)before;
	assert(before > 0);
}

void export_io_leave(struct export_io *io)
{
	count_out(io, &io->pending);
}

void export_io_close(struct export_io *io)
{
	atomic_store(&io->closing, true);
}

/* Until COUNT is 0, with the lock. Returns what it is. */
static uint32_t wait_drained(struct export_io *io, const _Atomic uint32_t *count, uint64_t until)
{
	int err = 0;

	while (atomic_load(count) && !err)
		err = clock_cond_wait_until(&io->drained, &io->lock.mutex, until);
	return atomic_load(count);
}

/* What is left at NOW of what was waited for. With the list's lock. */
static uint64_t waited_still(uint64_t now)
{
	uint64_t since = elapsed(exports.waited_until, now);

	return exports.waited > since ? exports.waited - since : 0;
}

void export_io_waited(uint64_t begun)
{
	uint64_t now = clock_now();

	lock_take(&exports.lock);
	exports.waited = waited_still(begun) + (now - begun);
	exports.waited_until = now;
	lock_drop(&exports.lock);
}

/* How long (ns) IO may be waited for: one that came after the others went has nothing to do with them. */
static uint64_t drain_time(const struct export_io *io, uint64_t timeout, uint64_t now)
{
	uint64_t least = timeout < DRAIN_LEAST ? timeout : DRAIN_LEAST, waited;

	lock_take(&exports.lock);
	waited = io->made > exports.waited_until ? 0 : waited_still(now);
	lock_drop(&exports.lock);
	return timeout > waited + least ? timeout - waited : least;
}

uint64_t export_io_deadline(struct export_io *io)
{
	return atomic_load(&io->deadline);
}

uint32_t export_io_drain(struct export_io *io, uint64_t timeout)
{
	uint64_t now = clock_now(), until = now + drain_time(io, timeout, now), first = 0;
	uint32_t left;

	export_io_close(io);
	if (!atomic_compare_exchange_strong(&io->deadline, &first, until))
		until = first;
	lock_take(&io->lock);
	if (until > now && wait_drained(io, &io->pending, now + (until - now) / 2))
		atomic_store(&io->hurries, true);
	left = wait_drained(io, &io->pending, until);
	if (left != 0)
		atomic_store(&io->hurries, true);
	lock_drop(&io->lock);
	export_io_waited(now);
	return left;
}

bool export_io_answers(struct export_io *io)
{
	atomic_fetch_add(&io->answers, 1);
	if (!atomic_load(&io->abandoned))
		return true;
	export_io_answered(io);
	return false;
}

void export_io_answered(struct export_io *io)
{
	uint32_t before = atomic_fetch_sub(&io->answers, 1);

	assert(before > 0);
	(void)before;
}

/* How many of the requests of closed exports answer just now; FRESH: of one that was not abandoned before. */
static uint32_t abandon(bool *fresh)
{
	uint32_t answers = 0;

	lock_take(&exports.lock);
	for (struct export_io *io = exports.first; io != NULL; io = io->next) {
		if (!atomic_load(&io->closing))
			continue;
		if (!atomic_exchange(&io->abandoned, true))
			*fresh = true;
		answers += atomic_load(&io->answers);
	}
	lock_drop(&exports.lock);
	return answers;
}

uint32_t exports_abandon(uint64_t timeout)
{
	const struct timespec look = {.tv_nsec = ABANDON_LOOK};
	uint64_t until = clock_now() + timeout;
	bool fresh = false;
	uint32_t answers;

	while ((answers = abandon(&fresh)) != 0 && fresh && clock_now() < until)
		nanosleep(&look, NULL);
	return answers;
}

bool export_io_handle_opens(struct export_io *io)
{
	return count_in(io, &io->handles);
}

void export_io_handle_closed(struct export_io *io)
{
	count_out(io, &io->handles);
}

uint32_t export_io_handles_closed(struct export_io *io, uint64_t timeout)
{
	uint64_t until = clock_now() + timeout;
	uint32_t left;

	lock_take(&io->lock);
	left = wait_drained(io, &io->handles, until);
	lock_drop(&io->lock);
	return left;
}

/* ---- settings ---------------------------------------------------------------------------- */

int export_io_tune(struct export_io *io, const struct export_settings *s)
{
	struct export_settings *fresh = export_settings_copy(s), *old;

	if (fresh == NULL)
		return ENOMEM;
	lock_take(&exports.lock);
	old = export_settings_publish(&io->settings, fresh);
	lock_drop(&exports.lock);
	export_settings_reclaim(old);
	return 0;
}

int export_io_configure(struct export_io *io, const struct export_settings *s)
{
	int err = export_io_tune(io, s);

	if (err == 0)
		device_configure(atomic_load(&io->devices), &s->device);
	return err;
}

uint64_t export_io_tuning(struct export_io *io, struct readahead_tuning *t)
{
	const struct export_settings *s;
	uint64_t step;

	s = export_settings_begin(&io->settings);
	*t = s->tuning;
	step = s->prefetch_step;
	export_settings_end();
	return step;
}

void export_io_writeback(struct export_io *io, struct writeback_settings *w)
{
	*w = export_settings_begin(&io->settings)->writeback;
	export_settings_end();
}

void export_io_settings(struct export_io *io, struct export_settings *s)
{
	*s = *export_settings_begin(&io->settings);
	export_settings_end();
}

enum fsstat_rule export_io_fsstat_rule(struct export_io *io)
{
	enum fsstat_rule rule = export_settings_begin(&io->settings)->fsstat_rule;

	export_settings_end();
	return rule;
}

uint64_t export_io_full_wait(struct export_io *io)
{
	uint64_t wait = export_settings_begin(&io->settings)->full_wait;

	export_settings_end();
	return atomic_load(&io->closing) ? 0 : wait;
}

/* ---- devices ----------------------------------------------------------------------------- */

struct device *export_io_device(struct export_io *io, int fd, uint64_t now, int *err)
{
	struct export_settings s;
	struct device *d;
	struct stat st;

	if (fstat(fd, &st)) {
		*err = errno;
		return NULL;
	}
	export_io_settings(io, &s);
	d = device_use(block_device_of(fd, st.st_dev, now), &s.device, &io->devices, err);
	if (d != NULL)
		atomic_store_explicit(&io->last, d, memory_order_relaxed);
	return d;
}

struct device *export_io_cluster(struct export_io *io, unsigned int minor, int *err)
{
	struct export_settings s;

	export_io_settings(io, &s);
	return device_use_cluster(minor, &s.device, &io->devices, err);
}

void export_io_wrote(struct export_io *io, uint64_t len, bool stable, uint64_t took)
{
	uint64_t left = atomic_load_explicit(&io->devices, memory_order_relaxed);

	for (; left != 0; left &= left - 1) {
		struct device *d = device_nth((unsigned int)__builtin_ctzll(left));

		if (d != NULL && device_joins_only(d))
			meter_delay_add(&d->evidence.delay, delay_kind_of_write(len, stable), took);
	}
}

/* ERR as a bit of `said`; 0: not worth a line (the file went meanwhile). */
static uint32_t cause_bit(int err)
{
	switch (err) {
	case ESTALE:
	case ENOENT:
		return 0;
	case EXDEV:
		return 1;
	case ENOSPC:
		return 2;
	case EMFILE:
	case ENFILE:
		return 4;
	case ENOMEM:
		return 8;
	case EOPNOTSUPP:
	case EPERM:
		return 16;
	case EUCLEAN:
		return 64;
	default:
		return 32;
	}
}

static const char *cause_text(int err)
{
	switch (err) {
	case EXDEV:
		return "another file system is mounted over its own";
	case EUCLEAN:
		return "a handle leads to another file";
	case ENOSPC:
		return "the table of devices is full";
	case EOPNOTSUPP:
		return "the FSAL below is not one of local files";
	default:
		return strerror(err);
	}
}

void export_io_say_degraded(struct export_io *io, int err)
{
	uint32_t bit = cause_bit(err);
	bool never = err == EOPNOTSUPP || err == EPERM;

	if (!bit || atomic_fetch_or(&io->said, bit) & bit)
		return;
	log_line(LOG_LEVEL_WARN, "export %u: no file descriptor (%s): %s without read-ahead%s",
		 io->export_id, cause_text(err),
		 never ? "all passes through," : "files pass through",
		 never ? "" : " until there is one; said once");
}

/* ---- for operators ----------------------------------------------------------------------- */

static void describe(struct export_io *io, struct export_stats *s)
{
	*s = (struct export_stats){.export_id = io->export_id,
				   .closing = atomic_load(&io->closing),
				   .pending = atomic_load(&io->pending),
				   .heuristic = io->settings->tuning.heuristic,
				   .devices = atomic_load(&io->devices),
				   .priced = io->settings->tuning.priced,
				   .fsstat = atomic_load(&io->fsstat_said)};
	for (int i = 0; i < READAHEAD_COUNTERS; i++)
		s->counted[i] = readahead_counted(&io->counters, i);
}

unsigned int exports_stats(struct export_stats *stats, unsigned int max)
{
	unsigned int n = 0;

	lock_take(&exports.lock);
	for (struct export_io *io = exports.first; io != NULL; io = io->next, n++)
		if (n < max)
			describe(io, &stats[n]);
	lock_drop(&exports.lock);
	return n;
}

uint64_t exports_devices(uint16_t export_id)
{
	uint64_t devices = 0;

	lock_take(&exports.lock);
	for (struct export_io *io = exports.first; io != NULL; io = io->next)
		if (io->export_id == export_id)
			devices |= atomic_load(&io->devices);
	lock_drop(&exports.lock);
	return devices;
}

void exports_sum(struct readahead_counters *sum)
{
	memset(sum, 0, sizeof(*sum));
	lock_take(&exports.lock);
	for (int i = 0; i < READAHEAD_COUNTERS; i++) {
		readahead_count(sum, i, readahead_counted(&exports.past, i));
		for (struct export_io *io = exports.first; io != NULL; io = io->next)
			readahead_count(sum, i, readahead_counted(&io->counters, i));
	}
	lock_drop(&exports.lock);
}

/* First those that are there, so that nothing is left but of those that are not. */
void exports_collect(struct readahead *engine)
{
	lock_take(&exports.lock);
	for (struct export_io *io = exports.first; io != NULL; io = io->next)
		readahead_collect(engine, io->export_id, &io->counters);
	for (unsigned int i = 0; i < GIVEN_UP_ACCOUNTS / 64; i++)
		for (uint64_t left = exports.known[i]; left != 0; left &= left - 1)
			readahead_collect(engine,
					  (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(left)),
					  &exports.past);
	lock_drop(&exports.lock);
}

struct readahead_counters *exports_past(void)
{
	return &exports.past;
}
