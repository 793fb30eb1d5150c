/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See device_params.h. */
#include "device_params.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "disk/block_device.h"
#include "disk/block_queue.h"
#include "disk/device.h"

/* Where a setting is, and how many of its units the parameter's unit is. */
struct field {
	const char *name;
	enum { OTHER, BITS32, BITS64, SHARE } kind;
	size_t at;
	uint64_t scale;
};

#define AT(member) offsetof(struct device_settings, member)

static const struct field fields[DEVICE_PARAMS] = {
	[DEVICE_Scheduler] = {"Scheduler", OTHER, 0, 1},
	[DEVICE_Queue_Depth] = {"Queue_Depth", BITS32, AT(depth), 1},
	[DEVICE_Queue_Limit] = {"Queue_Limit", BITS32, AT(limits.queue_max), 1},
	[DEVICE_Queue_Bytes] = {"Queue_Bytes", BITS64, AT(limits.queue_bytes), 1},
	[DEVICE_Stall_Time] = {"Stall_Time", BITS64, AT(limits.stall_time), CLOCK_MS},
	[DEVICE_Max_Io] = {"Max_Io", BITS64, AT(limits.max_io), 1},
	[DEVICE_Max_Wait] = {"Max_Wait", BITS64, AT(limits.cost.max_wait), CLOCK_MS},
	[DEVICE_Demand_Wait] = {"Demand_Wait", BITS64, AT(limits.cost.demand_wait), CLOCK_MS},
	[DEVICE_Seek_Share] = {"Seek_Share", BITS32, AT(limits.cost.seek_share), 1},
	[DEVICE_Chunk_Min] = {"Chunk_Min", BITS64, AT(limits.cost.chunk_min), 1},
	[DEVICE_Chunk_Max] = {"Chunk_Max", BITS64, AT(limits.cost.chunk_max), 1},
	[DEVICE_Prefetch_Max_Age] = {"Prefetch_Max_Age", BITS64, AT(limits.prefetch_max_age),
				     CLOCK_MS},
	[DEVICE_Writeback_Share] = {"Writeback_Share", SHARE, AT(limits.writeback_share), 1},
	[DEVICE_Writeback_Turn] = {"Writeback_Turn", BITS64, AT(limits.writeback_turn), CLOCK_MS},
	[DEVICE_Writeback_Idle] = {"Writeback_Idle", BITS64, AT(limits.writeback_idle), CLOCK_MS},
};

/* A device that was configured. */
struct known {
	dev_t dev; /* 0: a free place */
	uint64_t used;
	struct device_settings base;
	struct device_choice turned;
};

static struct {
	pthread_mutex_t lock;
	const char *sysfs;
	struct device_block block[DEVICE_BLOCKS_MAX];
	unsigned int n_blocks;
	struct known known[DEVICES_MAX];
	uint64_t uses;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .sysfs = "/sys/dev/block"};

/* ---- one setting ------------------------------------------------------------------------- */

enum device_param device_param_find(const char *name)
{
	enum device_param which = 0;

	while (which < DEVICE_PARAMS && strcasecmp(fields[which].name, name) != 0)
		which++;
	return which;
}

uint64_t device_param_get(const struct device_settings *s, enum device_param which)
{
	const struct field *f = &fields[which];
	const char *at = (const char *)s + f->at;

	switch (f->kind) {
	case BITS32:
		return *(const uint32_t *)at;
	case BITS64:
		return *(const uint64_t *)at / f->scale;
	case SHARE:
		return (uint64_t)(*(const double *)at * 100 + 0.5);
	case OTHER:
		break;
	}
	return 0;
}

static void put(struct device_settings *s, enum device_param which, uint64_t value)
{
	const struct field *f = &fields[which];
	char *at = (char *)s + f->at;

	switch (f->kind) {
	case BITS32:
		*(uint32_t *)at = (uint32_t)value;
		break;
	case BITS64:
		*(uint64_t *)at = value * f->scale;
		break;
	case SHARE:
		*(double *)at = (double)value / 100;
		break;
	case OTHER:
		break;
	}
}

void device_choice_set(struct device_choice *c, enum device_param which, uint64_t value,
		       const struct sched_policy *policy)
{
	c->set |= UINT32_C(1) << which;
	c->value[which] = value;
	if (which == DEVICE_Scheduler)
		c->policy = policy;
}

static bool is_set(const struct device_choice *c, enum device_param which)
{
	return c->set >> which & 1;
}

static void apply(const struct device_choice *c, struct device_settings *s)
{
	struct cost_limits *l = &s->limits.cost;

	for (enum device_param i = 0; i < DEVICE_PARAMS; i++)
		if (is_set(c, i))
			put(s, i, c->value[i]);
	if (is_set(c, DEVICE_Scheduler))
		s->policy = c->policy;
	/* what a block says and what its exports say may not go together: the block's holds */
	if (l->chunk_min > l->chunk_max && is_set(c, DEVICE_Chunk_Max))
		l->chunk_min = l->chunk_max;
	else if (l->chunk_min > l->chunk_max)
		l->chunk_max = l->chunk_min;
}

/* ---- which device ------------------------------------------------------------------------ */

/* The disk that DEV is a part of; 0: it is none. */
static dev_t whole_disk(dev_t dev)
{
	uint64_t disk_major, disk_minor;

	if (!block_numbers(state.sysfs, dev, "../dev", &disk_major, &disk_minor))
		return 0;
	return makedev((unsigned int)disk_major, (unsigned int)disk_minor);
}

bool device_path(const char *path, dev_t *dev, char *why, size_t size)
{
	struct stat st;
	int fd;

	if (path[0] != '/') {
		snprintf(why, size, "Path = %.128s is not an absolute path", path);
		return false;
	}
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(why, size, "Path = %.128s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	*dev = S_ISBLK(st.st_mode) ? st.st_rdev : block_device_of(fd, st.st_dev, clock_now());
	close(fd);
	return true;
}

/* Whether B names DEV by a serial. */
static bool names_serial(const struct device_block *b, dev_t dev)
{
	return b->serial[0] != '\0' && device_has_serial(state.sysfs, dev, b->serial);
}

/* The first block of DEV itself, else of its disk, else with its serial; NULL: none. With the lock. */
static const struct device_block *block_of(dev_t dev)
{
	dev_t disk = state.n_blocks != 0 ? whole_disk(dev) : 0;

	for (unsigned int i = 0; i < state.n_blocks; i++)
		if (state.block[i].dev == dev && dev != 0)
			return &state.block[i];
	for (unsigned int i = 0; i < state.n_blocks && disk != 0; i++)
		if (state.block[i].dev == disk)
			return &state.block[i];
	for (unsigned int i = 0; i < state.n_blocks; i++)
		if (names_serial(&state.block[i], dev))
			return &state.block[i];
	return NULL;
}

static struct known *find(dev_t dev)
{
	for (unsigned int i = 0; i < DEVICES_MAX; i++)
		if (state.known[i].dev == dev && dev != 0)
			return &state.known[i];
	return NULL;
}

/* Of those that are not in use, of which there are fewer, the one configured least recently. */
static struct known *oldest(void)
{
	struct known *found = NULL;

	for (unsigned int i = 0; i < DEVICES_MAX; i++) {
		struct known *k = &state.known[i];

		if ((found == NULL || k->used < found->used) && !device_is_used_locked(k->dev))
			found = k;
	}
	assert(found != NULL);
	return found;
}

/* Its place, or that of another. With the lock of the table of devices, in which there is room for it. */
static struct known *find_or_make(dev_t dev)
{
	struct known *k = find(dev);

	if (k == NULL) {
		k = oldest();
		*k = (struct known){.dev = dev};
	}
	k->used = ++state.uses;
	return k;
}

/* ---- what holds -------------------------------------------------------------------------- */

static struct device_settings file_of(const struct known *k)
{
	const struct device_block *b = block_of(k->dev);
	struct device_settings s = k->base;

	if (b != NULL)
		apply(&b->choice, &s);
	return s;
}

void device_params_adjust(dev_t dev, struct device_settings *s)
{
	struct known *k;

	pthread_mutex_lock(&state.lock);
	k = find_or_make(dev);
	k->base = *s;
	*s = file_of(k);
	apply(&k->turned, s);
	pthread_mutex_unlock(&state.lock);
}

bool device_params_look(dev_t dev, struct device_settings *base, struct device_settings *file,
			struct device_settings *now)
{
	const struct known *k;

	pthread_mutex_lock(&state.lock);
	k = find(dev);
	if (k != NULL) {
		*base = k->base;
		*file = *now = file_of(k);
		apply(&k->turned, now);
	}
	pthread_mutex_unlock(&state.lock);
	return k != NULL;
}

static void forget(void)
{
	for (unsigned int i = 0; i < DEVICES_MAX; i++)
		state.known[i].turned.set = 0;
}

void device_params_forget(void)
{
	pthread_mutex_lock(&state.lock);
	forget();
	pthread_mutex_unlock(&state.lock);
}

void device_params_configure(const struct device_block *blocks, unsigned int n)
{
	pthread_mutex_lock(&state.lock);
	if (n != 0)
		memcpy(state.block, blocks, n * sizeof(*blocks));
	state.n_blocks = n;
	forget();
	pthread_mutex_unlock(&state.lock);
}

/* Whether K with this choice contradicts itself; with the lock. */
static bool agrees(const struct known *k, const struct device_choice *c, char *why, size_t size)
{
	struct device_settings s = file_of(k);
	uint64_t low =
		is_set(c, DEVICE_Chunk_Min) ? c->value[DEVICE_Chunk_Min] : s.limits.cost.chunk_min;
	uint64_t high =
		is_set(c, DEVICE_Chunk_Max) ? c->value[DEVICE_Chunk_Max] : s.limits.cost.chunk_max;

	if (low > high)
		snprintf(why, size, "Chunk_Min = %" PRIu64 " is above Chunk_Max = %" PRIu64, low,
			 high);
	return low <= high;
}

bool device_params_turn(dev_t dev, enum device_param which, uint64_t value,
			const struct sched_policy *policy, char *why, size_t size)
{
	struct device_choice choice;
	struct known *k;
	bool good;

	pthread_mutex_lock(&state.lock);
	k = find(dev);
	good = k != NULL;
	if (good) {
		choice = k->turned;
		device_choice_set(&choice, which, value, policy);
		good = agrees(k, &choice, why, size);
		if (good)
			k->turned = choice;
	} else {
		snprintf(why, size, "device %u:%u is not in use", major(dev), minor(dev));
	}
	pthread_mutex_unlock(&state.lock);
	return good;
}

void device_params_sysfs(const char *path)
{
	state.sysfs = path != NULL ? path : "/sys/dev/block";
}
