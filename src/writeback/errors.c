/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Errors of write-out that are to be told. See errors.h. */
#include "writeback/errors.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/lock.h"
#include "common/log.h"

#define HASH 256
/* Lines in the log for errors, at most so many in so long (ns). */
#define LOG_BURST  10
#define LOG_PERIOD (10 * CLOCK_SECOND)

TAILQ_HEAD(error_list, kept_error);

static struct {
	struct error_list hash[HASH];
	struct error_list removed, others; /* oldest first */
	uint32_t n;
	bool started;
} kept;

static struct {
	struct lock lock;
	uint64_t since;
	uint32_t lines, left_out;
} lines = {.lock = LOCK_INITIALIZER(LOCK_LEAF)};

void file_key_of(struct file_key *key, const struct backing_slot *slot)
{
	key->hash = slot->file_hash;
	key->len = slot->key_len;
	memcpy(key->bytes, slot->key, slot->key_len);
}

bool file_key_same(const struct file_key *a, const struct file_key *b)
{
	return a->hash == b->hash && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static struct error_list *bucket(const struct file_key *key)
{
	return &kept.hash[key->hash % HASH];
}

void errors_start(void)
{
	for (int i = 0; i < HASH; i++)
		TAILQ_INIT(&kept.hash[i]);
	TAILQ_INIT(&kept.removed);
	TAILQ_INIT(&kept.others);
	kept.n = 0;
	kept.started = true;
}

static struct error_list *by_age(const struct kept_error *e)
{
	return e->removed ? &kept.removed : &kept.others;
}

static void unlink_entry(struct kept_error *e)
{
	TAILQ_REMOVE(bucket(&e->key), e, hash);
	TAILQ_REMOVE(by_age(e), e, age);
	kept.n--;
}

uint32_t errors_stop(void)
{
	uint32_t n = kept.n;
	struct kept_error *e;

	for (int i = 0; i < HASH && kept.started; i++)
		while ((e = TAILQ_FIRST(&kept.hash[i])) != NULL) {
			unlink_entry(e);
			free(e);
		}
	kept.started = false;
	return n;
}

uint32_t errors_count(void)
{
	return kept.n;
}

struct kept_error *errors_new(const struct file_key *key)
{
	struct kept_error *e = calloc(1, sizeof(*e));

	if (e != NULL)
		e->key = *key;
	return e;
}

bool errors_note(struct kept_error *e, dev_t dev, uint64_t file, int err)
{
	if (e->err)
		return false;
	e->err = err;
	e->file = file;
	e->dev = dev;
	return true;
}

void errors_keep(struct kept_error *e, uint64_t now)
{
	if (!e->err || !kept.started) {
		free(e);
		return;
	}
	TAILQ_INSERT_TAIL(bucket(&e->key), e, hash);
	e->since = now;
	TAILQ_INSERT_TAIL(by_age(e), e, age);
	kept.n++;
}

static struct kept_error *find(const struct file_key *key)
{
	struct kept_error *e;

	TAILQ_FOREACH(e, bucket(key), hash)
		if (file_key_same(&e->key, key))
			return e;
	return NULL;
}

struct kept_error *errors_take(const struct file_key *key)
{
	struct kept_error *e = find(key);

	if (e != NULL)
		unlink_entry(e);
	return e;
}

bool errors_has(const struct file_key *key)
{
	return find(key) != NULL;
}

int errors_removed(const struct file_key *key)
{
	struct kept_error *e = find(key);

	if (e == NULL || e->removed)
		return 0;
	TAILQ_REMOVE(&kept.others, e, age);
	e->removed = true;
	TAILQ_INSERT_TAIL(&kept.removed, e, age);
	return e->err;
}

struct kept_error *errors_evict(uint64_t now)
{
	struct kept_error *e = TAILQ_FIRST(&kept.removed);

	if (e == NULL)
		e = TAILQ_FIRST(&kept.others);
	if (e == NULL || (!e->removed && now - e->since <= ERRORS_KEEP))
		return NULL;
	unlink_entry(e);
	return e;
}

void errors_give_up(struct kept_error *e, uint64_t now)
{
	if (e != NULL && !e->removed)
		errors_log(e->dev, e->file, e->err, "given up, nobody has asked in an hour", now);
	free(e);
}

/* Whether there may be one more line; *LEFT_OUT: so many there were not since the last. */
static bool may_log(uint64_t now, uint32_t *left_out)
{
	bool may;

	lock_take(&lines.lock);
	if (!lines.lines || now - lines.since > LOG_PERIOD) {
		lines.since = now;
		lines.lines = 0;
	}
	may = lines.lines < LOG_BURST;
	if (may) {
		lines.lines++;
		*left_out = lines.left_out;
		lines.left_out = 0;
	} else {
		lines.left_out++;
	}
	lock_drop(&lines.lock);
	return may;
}

void errors_log(dev_t dev, uint64_t file, int err, const char *consequence, uint64_t now)
{
	uint32_t left_out;

	if (!may_log(now, &left_out))
		return;
	if (left_out)
		log_line(LOG_LEVEL_MAJOR, "write-back failed %" PRIu32 " times more", left_out);
	log_line(LOG_LEVEL_MAJOR, "inode %" PRIu64 " of device %u:%u: write-back failed: %s; %s",
		 file, major(dev), minor(dev), strerror(err), consequence);
}
