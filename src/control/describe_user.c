/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Of a device: the kernel's count of its time, and its prices. See describe.h. */
#include "control/describe.h"

#include <stdio.h>

#include "common/text.h"

/* The time for which the kernel saw something under way on it; not for what is no block device. */
void describe_busy(struct json_object *o, const struct device_facts *f)
{
	enum { IO_TICKS = 9, FIELDS };
	uint64_t fields[FIELDS];
	char text[512];
	ssize_t n;

	snprintf(text, sizeof(text), "/sys/dev/block/%u:%u/stat", f->major, f->minor);
	n = text_read_path(text, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (text_numbers(text, fields, FIELDS))
		describe_number(o, "busy_ms", fields[IO_TICKS]);
}

void describe_price_of(struct json_object *o, const struct control_host *host, unsigned int n)
{
	struct device_price_facts p;

	if (!host->device_prices(n, &p) || p.age == UINT64_MAX)
		return;
	describe_real(o, "write_price", p.snapshot.write);
	describe_text(o, "write_by", price_resource_names[p.snapshot.write_by]);
	describe_real(o, "readahead_price", p.snapshot.readahead);
	describe_text(o, "readahead_by", price_resource_names[p.snapshot.readahead_by]);
}
