/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Numbers in /sys and /proc/sys. See knob.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "knob.h"

#define DIGITS 32 /* the longest number, and a newline */

/* Held, and to be put back as soon as that can be done. */
static struct knob left[KNOB_LEFT_MAX];
static unsigned int left_count;

void knob_init(struct knob *k, const char *root, const char *format, ...)
{
	va_list args;
	int n = snprintf(k->path, sizeof(k->path), "%s", root);

	k->held = k->turning = k->told = false;
	k->error = 0;
	va_start(args, format);
	if (n >= 0 && (size_t)n < sizeof(k->path))
		n += vsnprintf(k->path + n, sizeof(k->path) - (size_t)n, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(k->path))
		k->path[0] = '\0';
}

bool knob_read(struct knob *k, uint64_t *value)
{
	char text[DIGITS], *end;
	int fd = open(k->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	k->error = n < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	*value = strtoull(text, &end, 10);
	if (end == text)
		k->error = EDOM; /* a word: nobody's but who has put it there */
	return k->error == 0;
}

static bool knob_write(struct knob *k, uint64_t value)
{
	char text[DIGITS];
	int length = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	int fd = open(k->path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, (size_t)length);

	k->error = n < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return n >= 0;
}

/* ---- those that are left ----------------------------------------------------------------- */

bool knob_is_gone(const struct knob *k)
{
	return k->error == ENOENT || k->error == ENODEV;
}

static void leave(const struct knob *k)
{
	if (left_count == KNOB_LEFT_MAX)
		return;
	left[left_count] = *k;
	left[left_count++].held = true;
}

/* What is known of K out of those that are left. */
static bool take_left(struct knob *k)
{
	for (unsigned int i = 0; i < left_count; i++) {
		if (strcmp(left[i].path, k->path) != 0)
			continue;
		*k = left[i];
		left[i] = left[--left_count];
		return true;
	}
	return false;
}

const struct knob *knob_left(unsigned int n)
{
	return n < left_count ? &left[n] : NULL;
}

/* ------------------------------------------------------------------------------------------ */

/* Held, and it stands elsewhere than where we had it: it is to go back to that. */
static void adopt(struct knob *k, uint64_t now)
{
	k->found = k->ours = now;
	if (!k->told)
		log_line(LOG_LEVEL_EVENT,
			 "%s: somebody else has turned it, to %" PRIu64
			 ": what they set is what it goes back to",
			 k->path, now);
	k->told = true;
}

bool knob_hold(struct knob *k)
{
	uint64_t now;

	if (!k->held && !take_left(k)) {
		k->held = knob_read(k, &k->found);
		k->ours = k->found;
		return k->held;
	}
	if (k->turning)
		return true;
	if (!knob_read(k, &now))
		return false;
	if (now != k->ours)
		adopt(k, now);
	return true;
}

bool knob_turn(struct knob *k, uint64_t value, const struct knob_recorder *recorder)
{
	const bool was_held = k->held, was_left = !was_held && take_left(k);
	const bool was_turning = k->turning;

	if (!knob_hold(k))
		return false;
	k->turning = true;
	if (!recorder->record(recorder->arg)) {
		k->turning = was_turning;
		if (was_left)
			leave(k);
		k->held = was_held;
		k->error = ECANCELED;
		return false;
	}
	if (!knob_write(k, value)) {
		k->turning = was_turning; /* it stands where it stood */
		return false;
	}
	k->turning = !knob_read(k, &k->ours);
	return !k->turning;
}

bool knob_holds_on(struct knob *k)
{
	uint64_t now;

	return k->held && !k->turning && knob_read(k, &now) && now == k->ours && now != k->found;
}

bool knob_restore(struct knob *k)
{
	uint64_t now;

	if (!k->held)
		return true;
	k->held = false;
	if (!knob_read(k, &now)) {
		if (!knob_is_gone(k) && k->error != EDOM)
			leave(k);
		return false;
	}
	if (now == k->found)
		return true;
	if (!k->turning && now != k->ours) {
		k->error = EBUSY;
		return false;
	}
	if (knob_write(k, k->found))
		return true;
	if (!knob_is_gone(k))
		leave(k);
	return false;
}

bool knob_release(struct knob *k)
{
	if (knob_restore(k))
		return true;
	if (!knob_is_gone(k))
		log_line(LOG_LEVEL_EVENT, "%s: stays as it is: %s", k->path, knob_why(k));
	return false;
}

const char *knob_why(const struct knob *k)
{
	return k->error == EBUSY ? "somebody else has turned it" : strerror(k->error);
}

unsigned int knob_left_restore(void)
{
	unsigned int restored = 0, count = left_count;
	struct knob k;

	/* Each is taken from the front; what still cannot be put back comes behind. */
	while (count--) {
		k = left[0];
		memmove(left, left + 1, --left_count * sizeof(left[0]));
		restored += knob_restore(&k);
	}
	return restored;
}
