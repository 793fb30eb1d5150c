/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Settings of a share by name. See share_keys.h. */
#include "shares/share_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

const struct share_key_kind share_keys[SHARE_KEYS] = {
	[SHARE_WEIGHT] = {"Weight", "parts", SHARE_WEIGHT_MAX},
	[SHARE_FLOOR_BANDWIDTH] = {"Floor_Bandwidth", "MB/s", 1000000},
	[SHARE_FLOOR_IOPS] = {"Floor_Iops", "requests/s", 10000000},
	[SHARE_FLOOR_TIME] = {"Floor_Time", "percent", FLOORS_MAX},
	[SHARE_CEILING_BANDWIDTH] = {"Ceiling_Bandwidth", "MB/s", 1000000},
	[SHARE_CEILING_IOPS] = {"Ceiling_Iops", "requests/s", 10000000},
	[SHARE_CEILING_TIME] = {"Ceiling_Time", "percent", 100},
};

enum share_key share_key_find(const char *name)
{
	enum share_key key = 0;

	while (key < SHARE_KEYS && strcasecmp(share_keys[key].name, name) != 0)
		key++;
	return key;
}

void share_keys_text(const char *name, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "\"%.32s\" is none of ", name);

	for (enum share_key key = 0; key < SHARE_KEYS && used < size; key++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", key ? ", " : "",
					 share_keys[key].name);
}

uint64_t share_get(const struct share *s, enum share_key key)
{
	const struct share_limit *l = key < SHARE_CEILING_BANDWIDTH ? &s->floor : &s->ceiling;

	switch (key) {
	case SHARE_FLOOR_BANDWIDTH:
	case SHARE_CEILING_BANDWIDTH:
		return l->bandwidth / SHARE_BANDWIDTH_UNIT;
	case SHARE_FLOOR_IOPS:
	case SHARE_CEILING_IOPS:
		return l->iops;
	case SHARE_FLOOR_TIME:
	case SHARE_CEILING_TIME:
		return l->time;
	default:
		return s->weight;
	}
}

void share_set(struct share *s, enum share_key key, uint64_t value)
{
	struct share_limit *l = key < SHARE_CEILING_BANDWIDTH ? &s->floor : &s->ceiling;

	switch (key) {
	case SHARE_FLOOR_BANDWIDTH:
	case SHARE_CEILING_BANDWIDTH:
		l->bandwidth = value * SHARE_BANDWIDTH_UNIT;
		break;
	case SHARE_FLOOR_IOPS:
	case SHARE_CEILING_IOPS:
		l->iops = (uint32_t)value;
		break;
	case SHARE_FLOOR_TIME:
	case SHARE_CEILING_TIME:
		l->time = (uint32_t)value;
		break;
	default:
		s->weight = (uint32_t)value;
	}
}

bool share_is_set(const struct share *s)
{
	for (enum share_key key = 0; key < SHARE_KEYS; key++)
		if (share_get(s, key) != 0)
			return true;
	return false;
}

bool share_equals(const struct share *a, const struct share *b)
{
	for (enum share_key key = 0; key < SHARE_KEYS; key++)
		if (share_get(a, key) != share_get(b, key))
			return false;
	return true;
}

/* False, and WHY of SIZE bytes: settings of S contradict one another. */
static bool share_check(const struct share *s, char *why, size_t size)
{
	const enum share_key ceilings = SHARE_CEILING_BANDWIDTH - SHARE_FLOOR_BANDWIDTH;

	for (enum share_key key = SHARE_FLOOR_BANDWIDTH; key <= SHARE_FLOOR_TIME; key++) {
		enum share_key above = key + ceilings;
		uint64_t floor = share_get(s, key), ceiling = share_get(s, above);

		if (ceiling == 0 || floor <= ceiling)
			continue;
		snprintf(why, size, "%s = %" PRIu64 " is above %s = %" PRIu64, share_keys[key].name,
			 floor, share_keys[above].name, ceiling);
		return false;
	}
	return true;
}

bool share_change(struct share *s, enum share_key key, uint64_t value, char *why, size_t size)
{
	const struct share_key_kind *kind = &share_keys[key];

	if (value > kind->max) {
		snprintf(why, size, "%s = %" PRIu64 " is out of range: 0 to %" PRIu64 " %s",
			 kind->name, value, kind->max, kind->unit);
		return false;
	}
	share_set(s, key, value);
	return share_check(s, why, size);
}
