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

#include "knob.h"

#define DIGITS 32 /* the longest number, and a newline */

void knob_init(struct knob *k, const char *root, const char *format, ...)
{
	va_list args;
	int n = snprintf(k->path, sizeof(k->path), "%s", root);

	k->held = k->turning = false;
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
		k->error = EINVAL;
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

bool knob_hold(struct knob *k)
{
	if (k->held)
		return true;
	k->held = knob_read(k, &k->found);
	k->ours = k->found;
	return k->held;
}

bool knob_turn(struct knob *k, uint64_t value, const struct knob_recorder *recorder)
{
	const bool was_held = k->held, was_turning = k->turning;

	if (!knob_hold(k))
		return false;
	k->turning = true;
	if (!recorder->record(recorder->arg)) {
		k->held = was_held;
		k->turning = was_turning;
		k->error = ECANCELED;
		return false;
	}
	k->turning = !(knob_write(k, value) && knob_read(k, &k->ours));
	return !k->turning;
}

bool knob_restore(struct knob *k)
{
	uint64_t now;

	if (!k->held)
		return true;
	k->held = false;
	if (!knob_read(k, &now))
		return false; /* gone with its mount */
	if (now == k->found)
		return true;
	if (!k->turning && now != k->ours) {
		k->error = EBUSY;
		return false;
	}
	return knob_write(k, k->found);
}
