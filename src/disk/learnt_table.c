/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See learnt_table.h. A mutex, outside of all locks. */
#include "disk/learnt_table.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/log.h"
#include "disk/device.h"
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
	int error; /* of the last write */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void learnt_start(const char *dir, const char *by_uuid)
{
	pthread_mutex_lock(&table.mutex);
	memset(table.place, 0, sizeof(table.place));
	snprintf(table.dir, sizeof(table.dir), "%s", dir != NULL ? dir : "");
	table.by_uuid = by_uuid;
	table.error = 0;
	pthread_mutex_unlock(&table.mutex);
}

/* ---- one device; with the mutex ---------------------------------------------------------- */

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
static void restore(struct place *p, struct device *d, uint64_t wall)
{
	const char *wrong;

	if (!p->known || table.dir[0] == '\0')
		return;
	wrong = learnt_read(table.dir, &p->id, wall, &p->kept);
	if (wrong == NULL && atomic_load(&d->taken) == p->taken) {
		p->before = p->kept;
		p->restored = true;
		device_restore(d, &p->before);
		say_restored(d, &p->before);
		return;
	}
	p->kept = (struct learnt){.saved = 0};
	if (wrong != NULL && wrong[0] != '\0')
		log_line(LOG_LEVEL_WARN,
			 "device %u:%u is %s: what was kept of it in %s is not used: %s",
			 major(d->dev), minor(d->dev), p->id.name, table.dir, wrong);
}

static void begin(struct place *p, struct device *d, uint64_t wall)
{
	*p = (struct place){.taken = atomic_load(&d->taken)};
	p->known = identify(d, &p->id);
	restore(p, d, wall);
}

/* The same number, and another disk: what was learnt is the old one's. */
static void check_identity(struct place *p, struct device *d, uint64_t wall)
{
	struct device_identity id;

	if (!identify(d, &id) || (p->known && strcmp(id.name, p->id.name) == 0))
		return;
	if (p->known) {
		log_line(LOG_LEVEL_EVENT,
			 "device %u:%u is another disk now, %s, was %s: all is learnt anew",
			 major(d->dev), minor(d->dev), id.name, p->id.name);
		device_forget(d);
	}
	*p = (struct place){.taken = p->taken, .known = true, .id = id};
	restore(p, d, wall);
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

/* Writes what is worth it. */
static void keep(struct place *p, struct device *d, uint64_t now, uint64_t wall, bool last)
{
	struct learnt l = p->kept;

	if (!p->known)
		return;
	device_learnt(d, &l);
	l.id = p->id;
	l.saved = wall;
	if (p->restored && !p->contradicted && learnt_contradicts(&p->before, &l)) {
		p->contradicted = true;
		say_contradiction(p, d, &l);
	}
	if (table.dir[0] == '\0' || !learnt_is_something(&l) || !learnt_differs(&p->kept, &l) ||
	    (now < p->next_write && !last))
		return;
	p->next_write = now + LEARNT_WRITE;
	say_error(d, learnt_write(table.dir, &l));
	if (table.error == 0)
		p->kept = l;
}

static void look_at(struct place *p, struct device *d, uint64_t now, uint64_t wall, bool last)
{
	if (p->taken != atomic_load(&d->taken)) {
		begin(p, d, wall);
		p->next_look = now + LEARNT_LOOK;
	} else if (now >= p->next_look || last) {
		p->next_look = now + LEARNT_LOOK;
		check_identity(p, d, wall);
		keep(p, d, now, wall, last);
	}
}

void learnt_look(uint64_t now, uint64_t wall, bool last)
{
	struct device *d;

	pthread_mutex_lock(&table.mutex);
	for (unsigned int n = 0; n < DEVICES_MAX && (d = device_nth(n)) != NULL; n++)
		look_at(&table.place[n], d, now, wall, last);
	pthread_mutex_unlock(&table.mutex);
}

bool learnt_identity(unsigned int n, char name[DEVICE_IDENTITY_MAX], bool *restored)
{
	const struct place *p = &table.place[n];
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
