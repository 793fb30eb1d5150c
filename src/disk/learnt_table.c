/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See learnt_table.h. A mutex, outside of all locks, held for all but what may hang with the file system:
 *
 *   look at a device  [mutex]--open---read or write a file---close--[mutex: are we still wanted?]--...
 */
#include "disk/learnt_table.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/log.h"
#include "disk/device.h"
#include "disk/device_shared.h"
#include "disk/learnt_file.h"

/* Of a device of the table, as long as it is the same. */
struct place {
	uint32_t taken; /* device.h's; 0: of none */
	bool known;	/* its identity is: */
	struct device_identity id;
	bool restored, contradicted;
	struct learnt before;		/* what it began with */
	struct learnt kept;		/* what its file says */
	uint64_t next_look, next_write; /* ns */
};

static struct {
	pthread_mutex_t mutex;
	char dir[PATH_MAX]; /* empty: nothing is kept */
	const char *by_uuid;
	struct place place[DEVICES_MAX];
	int error;    /* of the last write */
	uint32_t era; /* another: a look that was at a file meanwhile ends, */
	bool ended;   /* ... and no other one begins */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void learnt_start(const char *dir, const char *by_uuid)
{
	pthread_mutex_lock(&table.mutex);
	memset(table.place, 0, sizeof(table.place));
	snprintf(table.dir, sizeof(table.dir), "%s", dir != NULL ? dir : "");
	table.by_uuid = by_uuid;
	table.error = 0;
	table.era++;
	table.ended = false;
	pthread_mutex_unlock(&table.mutex);
}

void learnt_end(void)
{
	pthread_mutex_lock(&table.mutex);
	table.era++;
	table.ended = true;
	pthread_mutex_unlock(&table.mutex);
}

/* ---- files; the mutex is let go meanwhile ------------------------------------------------ */

/* Lets the mutex go; what is needed of the table meanwhile: the directory, and the era for come_back(). */
static uint32_t leave(char dir[PATH_MAX])
{
	uint32_t era = table.era;

	memcpy(dir, table.dir, sizeof(table.dir));
	pthread_mutex_unlock(&table.mutex);
	return era;
}

/* False: the look is over, and nothing may be touched any more. */
static bool come_back(uint32_t era)
{
	pthread_mutex_lock(&table.mutex);
	return era == table.era;
}

/* As learnt_read(); returns as come_back(). */
static bool read_kept(const struct device_identity *id, uint64_t wall, struct learnt *l,
		      const char **wrong)
{
	struct device_identity of = *id;
	char dir[PATH_MAX];
	uint32_t era = leave(dir);

	*wrong = learnt_read(dir, &of, wall, l);
	return come_back(era);
}

/* As learnt_write(). */
static bool write_kept(const struct learnt *l, int *err)
{
	char dir[PATH_MAX];
	uint32_t era = leave(dir);

	*err = learnt_write(dir, l);
	return come_back(era);
}

/* ---- one device; with the mutex. False: the look is over --------------------------------- */

static bool identify(const struct device *d, struct device_identity *id)
{
	dev_t dev = atomic_load(&d->dev);

	return major(dev) != DEVICE_CLUSTER_MAJOR &&
	       device_identity(device_sysfs(), table.by_uuid, dev, id);
}

static void say_restored(const struct device *d, const struct learnt *l)
{
	char seek[48] = "", media[48] = "";

	if (l->queue.seek_ns > 0)
		snprintf(seek, sizeof(seek), ", a seek costs %.2f ms", l->queue.seek_ns / 1e6);
	if (l->queue.ns_per_byte > 0)
		snprintf(media, sizeof(media), ", it brings %.1f MB/s", 1e3 / l->queue.ns_per_byte);
	log_line(LOG_LEVEL_EVENT, "device %u:%u is %s, learnt before%s%s%s", major(d->dev),
		 minor(d->dev), l->id.name, seek, media, l->seeks_free ? ": treated as flash" : "");
}

/* What was kept of it, if anything is. */
static bool restore(struct place *p, struct device *d, uint64_t wall)
{
	struct learnt kept = {.saved = 0};
	const char *wrong;

	if (!p->known || table.dir[0] == '\0')
		return true;
	if (!read_kept(&p->id, wall, &kept, &wrong))
		return false;
	if (wrong == NULL && atomic_load(&d->taken) == p->taken) {
		p->before = p->kept = kept;
		p->restored = true;
		device_restore(d, &p->before);
		say_restored(d, &p->before);
		return true;
	}
	p->kept = (struct learnt){.saved = 0};
	if (wrong != NULL && wrong[0] != '\0')
		log_line(LOG_LEVEL_WARN,
			 "device %u:%u is %s: what was kept of it in %s is not used: %s",
			 major(d->dev), minor(d->dev), p->id.name, table.dir, wrong);
	return true;
}

static bool begin(struct place *p, struct device *d, uint64_t now, uint64_t wall)
{
	*p = (struct place){.taken = atomic_load(&d->taken), .next_look = now + LEARNT_LOOK};
	p->known = identify(d, &p->id);
	device_say_shared(d);
	return restore(p, d, wall);
}

/* The same number, and another disk: what was learnt is the old one's. */
static bool check_identity(struct place *p, struct device *d, uint64_t wall)
{
	struct device_identity id;

	if (!identify(d, &id) || (p->known && strcmp(id.name, p->id.name) == 0))
		return true;
	if (p->known) {
		log_line(LOG_LEVEL_EVENT,
			 "device %u:%u is another disk now, %s, was %s: all is learnt anew",
			 major(d->dev), minor(d->dev), id.name, p->id.name);
		device_forget(d);
	}
	*p = (struct place){.taken = p->taken, .next_look = p->next_look, .known = true, .id = id};
	return restore(p, d, wall);
}

static void say_error(const struct device *d, int err)
{
	if (err != 0 && err != table.error)
		log_line(LOG_LEVEL_WARN,
			 "what is learnt of device %u:%u, and of others, is not kept: %s: %s",
			 major(d->dev), minor(d->dev), table.dir, strerror(err));
	table.error = err;
}

static void say_contradiction(const struct place *p, const struct device *d, const struct learnt *l)
{
	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u is not as it was: a seek costs %.2f ms, before %.2f ms; it brings "
		 "%.1f MB/s, before %.1f MB/s",
		 major(d->dev), minor(d->dev), l->queue.seek_ns / 1e6,
		 p->before.queue.seek_ns / 1e6,
		 l->queue.ns_per_byte > 0 ? 1e3 / l->queue.ns_per_byte : 0,
		 p->before.queue.ns_per_byte > 0 ? 1e3 / p->before.queue.ns_per_byte : 0);
}

/* What is known of it now, as it would be kept. */
static struct learnt what_is_known(struct place *p, struct device *d, uint64_t wall)
{
	struct learnt l = p->kept;

	device_learnt(d, &l);
	l.id = p->id;
	l.saved = wall;
	if (p->restored && !p->contradicted && learnt_contradicts(&p->before, &l)) {
		p->contradicted = true;
		say_contradiction(p, d, &l);
	}
	return l;
}

/* Writes what is worth it. */
static bool keep(struct place *p, struct device *d, uint64_t now, uint64_t wall, bool last)
{
	struct learnt l;
	int err;

	if (!p->known)
		return true;
	l = what_is_known(p, d, wall);
	if (table.dir[0] == '\0' || !learnt_is_something(&l) || !learnt_differs(&p->kept, &l) ||
	    (now < p->next_write && !last))
		return true;
	p->next_write = now + LEARNT_WRITE;
	if (!write_kept(&l, &err))
		return false;
	say_error(d, err);
	if (err == 0)
		p->kept = l;
	return true;
}

static bool look_at(struct place *p, struct device *d, uint64_t now, uint64_t wall, bool last)
{
	if (p->taken != atomic_load(&d->taken))
		return begin(p, d, now, wall);
	if (now < p->next_look && !last)
		return true;
	p->next_look = now + LEARNT_LOOK;
	return check_identity(p, d, wall) && keep(p, d, now, wall, last);
}

void learnt_look(uint64_t now, uint64_t wall, bool last)
{
	struct device *d;
	bool wanted;

	pthread_mutex_lock(&table.mutex);
	wanted = !table.ended;
	for (unsigned int n = 0; wanted && n < DEVICES_MAX && (d = device_nth(n)) != NULL; n++)
		wanted = look_at(&table.place[n], d, now, wall, last);
	pthread_mutex_unlock(&table.mutex);
}

bool learnt_identity(unsigned int n, char name[DEVICE_IDENTITY_MAX], bool *restored)
{
	const struct place *p = &table.place[n < DEVICES_MAX ? n : 0];
	bool known = false;

	pthread_mutex_lock(&table.mutex);
	if (n < DEVICES_MAX && p->known) {
		known = true;
		memcpy(name, p->id.name, sizeof(p->id.name));
		*restored = p->restored;
	}
	pthread_mutex_unlock(&table.mutex);
	return known;
}
