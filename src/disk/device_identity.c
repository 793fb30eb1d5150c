/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Serials in sysfs, UUIDs in /dev. See device_identity.h. */
#include "disk/device_identity.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/text.h"
#include "disk/block_queue.h"

/* Links that are looked at, at most. */
#define LINKS_MAX 4096
#define SECTOR	  512

/* Of the disk, the surest first. What follows only a serial may be told by is below. */
static const char *const names[] = {"wwid",	   "dm/uuid", "md/uuid",
				    "device/wwid", "serial",  "device/serial"};
/* SCSI's page of the serial number: four bytes, then the text. */
#define VPD_SERIAL "device/vpd_pg80"
#define VPD_HEAD   4

/* The directory of DEV's disk, and of DEV itself. */
static void disk_dir(const char *sysfs, dev_t dev, char dir[PATH_MAX], bool *is_part)
{
	char path[PATH_MAX + 16];

	snprintf(dir, PATH_MAX, "%s/%u:%u", sysfs, major(dev), minor(dev));
	snprintf(path, sizeof(path), "%s/partition", dir);
	*is_part = access(path, F_OK) == 0;
	if (*is_part)
		snprintf(dir, PATH_MAX, "%s/%u:%u/..", sysfs, major(dev), minor(dev));
}

/* Blanks around it go, others become '_', what is not printable '?'. */
static void tidy(char *text)
{
	char *to = text, *from = text;
	size_t n;

	while (isspace((unsigned char)*from))
		from++;
	for (n = strlen(from); n > 0 && isspace((unsigned char)from[n - 1]); n--)
		from[n - 1] = '\0';
	for (bool blank = false; *from != '\0'; from++) {
		bool is_blank = isspace((unsigned char)*from);

		if (!is_blank || !blank)
			*to++ = is_blank ? '_' : isgraph((unsigned char)*from) ? *from : '?';
		blank = is_blank;
	}
	*to = '\0';
}

/* The text of the file NAME in DIR, behind HEAD bytes; false: there is none, or it is empty. */
static bool text_of(const char *dir, const char *name, size_t head, char text[DEVICE_IDENTITY_MAX])
{
	char path[PATH_MAX + 32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = text_read(fd, text, DEVICE_IDENTITY_MAX - 1);
	close(fd);
	if (n <= (ssize_t)head)
		return false;
	text[n] = '\0';
	memmove(text, text + head, (size_t)n - head + 1);
	tidy(text);
	return text[0] != '\0';
}

/* Whether the name of a link, or what is in it, could be no identity. */
static bool leads_to(int dir, const char *name, dev_t dev)
{
	struct stat st;

	return name[0] != '.' && fstatat(dir, name, &st, 0) == 0 && S_ISBLK(st.st_mode) &&
	       st.st_rdev == dev;
}

/* The first in the order of their names, for several may lead to it. */
static bool find_uuid(const char *by_uuid, dev_t dev, char text[DEVICE_IDENTITY_MAX])
{
	DIR *dir = opendir(by_uuid);
	const struct dirent *e;
	bool found = false;

	for (int n = 0; dir != NULL && n < LINKS_MAX && (e = readdir(dir)) != NULL; n++) {
		if (!leads_to(dirfd(dir), e->d_name, dev) ||
		    (found && strcmp(e->d_name, text + strlen("uuid.")) >= 0))
			continue;
		snprintf(text, DEVICE_IDENTITY_MAX, "uuid.%.128s", e->d_name);
		found = true;
	}
	if (dir != NULL)
		closedir(dir);
	if (found)
		tidy(text);
	return found;
}

bool device_identity(const char *sysfs, const char *by_uuid, dev_t dev, struct device_identity *id)
{
	char dir[PATH_MAX], text[DEVICE_IDENTITY_MAX];
	uint64_t sectors = 0, part = 0;
	bool is_part, found = false;

	disk_dir(sysfs, dev, dir, &is_part);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		found = text_of(dir, names[i], 0, text);
	if (is_part)
		block_numbers(sysfs, dev, "partition", &part, NULL);
	if (found && is_part)
		snprintf(id->name, sizeof(id->name), "%.160s-part%u", text, (unsigned int)part);
	else if (found || find_uuid(by_uuid != NULL ? by_uuid : "/dev/disk/by-uuid", dev, text))
		snprintf(id->name, sizeof(id->name), "%s", text);
	else
		return false;
	block_numbers(sysfs, dev, "size", &sectors, NULL);
	id->bytes = sectors * SECTOR;
	id->rotating = block_queue_number(sysfs, dev, "rotational") == 1;
	return true;
}

/* The last word of "t10.ATA_MODEL_SERIAL" is the serial too. */
static bool is_serial(const char *found, const char *text)
{
	const char *last = strrchr(found, '_');

	return strcasecmp(found, text) == 0 || (last != NULL && strcasecmp(last + 1, text) == 0);
}

bool device_has_serial(const char *sysfs, dev_t dev, const char *text)
{
	char dir[PATH_MAX], found[DEVICE_IDENTITY_MAX];
	bool is_part;

	disk_dir(sysfs, dev, dir, &is_part);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_of(dir, names[i], 0, found) && is_serial(found, text))
			return true;
	return text_of(dir, VPD_SERIAL, VPD_HEAD, found) && is_serial(found, text);
}
