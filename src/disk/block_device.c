/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Device numbers without a block device. See block_device.h. */
#include "disk/block_device.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/clock.h"
#include "common/lock.h"
#include "common/text.h"

/* The longest mountinfo that is read (bytes). */
#define MOUNTINFO_MAX (1u << 20)
/* Numbers remembered, and for how long (ns): they are given out again after an umount. */
#define REMEMBERED 64
#define VALID	   (60 * CLOCK_SECOND)

static struct {
	struct lock lock;
	struct {
		dev_t dev, disk;
		uint64_t until; /* ns */
	} known[REMEMBERED];
	unsigned int next;
} memory = {.lock = LOCK_INITIALIZER(LOCK_LEAF)};

/* ---- the text ---------------------------------------------------------------------------- */

/* The Nth field from AT on, fields being apart by one blank each; NULL: the line is shorter. */
static const char *field(const char *at, unsigned int n)
{
	for (; n > 0; n--) {
		at += strcspn(at, " \n");
		if (*at != ' ')
			return NULL;
		at++;
	}
	return at;
}

/* Behind the field that is "-" alone, which ends a variable number of them. */
static const char *behind_separator(const char *at)
{
	while (at != NULL && strncmp(at, "- ", 2) != 0)
		at = field(at, 1);
	return at != NULL ? at + 2 : NULL;
}

static bool is_octal(const char *s)
{
	for (int i = 0; i < 3; i++)
		if (s[i] < '0' || s[i] > '7')
			return false;
	return true;
}

/* Copies the field at AT: blanks and the like are written as \ooo there. */
static bool unescape(const char *at, char *to, size_t size)
{
	size_t len = strcspn(at, " \n"), used = 0;

	for (size_t i = 0; i < len; i++) {
		char c = at[i];

		if (c == '\\' && len - i > 3 && is_octal(at + i + 1)) {
			c = (char)((at[i + 1] - '0') * 64 + (at[i + 2] - '0') * 8 + at[i + 3] -
				   '0');
			i += 3;
		}
		if (used + 1 >= size)
			return false;
		to[used++] = c;
	}
	to[used] = '\0';
	return used > 0;
}

/* ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS [TAG ...] - TYPE SOURCE OPTIONS */
bool mountinfo_source(const char *text, uint64_t id, char *source, size_t size)
{
	for (const char *line = text; line != NULL; line = text_next_line(line)) {
		const char *at = line;
		uint64_t found;

		if (!text_number(&at, &found) || found != id)
			continue;
		at = field(line, 6);
		at = behind_separator(at);
		at = at != NULL ? field(at, 1) : NULL;
		return at != NULL && unescape(at, source, size);
	}
	return false;
}

/* ---- the kernel -------------------------------------------------------------------------- */

/* The whole text, to be freed; NULL: it cannot be had. */
static char *read_mountinfo(void)
{
	char *text = malloc(MOUNTINFO_MAX);
	ssize_t n =
		text != NULL ? text_read_path("/proc/self/mountinfo", text, MOUNTINFO_MAX - 1) : -1;

	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static bool source_of(int fd, char *source, size_t size)
{
	struct statx stx;
	char *text;
	bool found;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) || !(stx.stx_mask & STATX_MNT_ID))
		return false;
	text = read_mountinfo();
	found = text != NULL && mountinfo_source(text, stx.stx_mnt_id, source, size);
	free(text);
	return found;
}

static dev_t ask(int fd, dev_t dev)
{
	char source[PATH_MAX];
	struct stat st;

	if (!source_of(fd, source, sizeof(source)) || source[0] != '/' || stat(source, &st) ||
	    !S_ISBLK(st.st_mode))
		return dev;
	return st.st_rdev;
}

/* ---- what is remembered ------------------------------------------------------------------ */

static bool recall(dev_t dev, uint64_t now, dev_t *disk)
{
	bool known = false;

	lock_take(&memory.lock);
	for (unsigned int i = 0; i < REMEMBERED && !known; i++) {
		known = memory.known[i].dev == dev && now < memory.known[i].until;
		if (known)
			*disk = memory.known[i].disk;
	}
	lock_drop(&memory.lock);
	return known;
}

static void remember(dev_t dev, dev_t disk, uint64_t now)
{
	unsigned int i = 0;

	lock_take(&memory.lock);
	while (i < REMEMBERED && memory.known[i].dev != dev)
		i++;
	if (i == REMEMBERED)
		i = memory.next++ % REMEMBERED;
	memory.known[i].dev = dev;
	memory.known[i].disk = disk;
	memory.known[i].until = now + VALID;
	lock_drop(&memory.lock);
}

dev_t block_device_of(int fd, dev_t dev, uint64_t now)
{
	dev_t disk;

	if (major(dev) != 0)
		return dev;
	if (!recall(dev, now, &disk)) {
		disk = ask(fd, dev);
		remember(dev, disk, now);
	}
	return disk;
}
