/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files of a device's queue in sysfs. See block_queue.h. */
#include "disk/block_queue.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sysmacros.h>

uint32_t block_queue_number(const char *sysfs, dev_t dev, const char *name)
{
	static const char *const formats[] = {"%s/%u:%u/queue/%s", "%s/%u:%u/../queue/%s"};
	char path[PATH_MAX];
	uint32_t number = 0;

	for (int i = 0; i < 2; i++) {
		FILE *f;

		snprintf(path, sizeof(path), formats[i], sysfs, major(dev), minor(dev), name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		if (fscanf(f, "%u", &number) != 1)
			number = 0;
		fclose(f);
		break;
	}
	return number;
}

bool block_numbers(const char *sysfs, dev_t dev, const char *name, uint64_t *first,
		   uint64_t *second)
{
	uint64_t a, b;
	char path[PATH_MAX];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/%u:%u/%s", sysfs, major(dev), minor(dev), name);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fscanf(f, "%" SCNu64 "%*[: ]%" SCNu64, &a, &b);
	fclose(f);
	if (n < (second != NULL ? 2 : 1))
		return false;
	*first = a;
	if (second != NULL)
		*second = b;
	return true;
}
