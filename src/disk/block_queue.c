/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files of a device's queue in sysfs. See block_queue.h. */
#include "disk/block_queue.h"

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
