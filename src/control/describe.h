/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The shape of every object that operators see, in the control channel's answers and in the log's
 * lines RA_STATS, RA_DEVICE_STATS and RA_EXPORT_STATS: one name for one fact, the unit in the name.
 * doc/control-protocol.md says what each means.
 */
#ifndef CONTROL_DESCRIBE_H
#define CONTROL_DESCRIBE_H

#include <json-c/json.h>

#include "control/facts.h"

/* Adds a member. */
void describe_number(struct json_object *o, const char *name, uint64_t value);
void describe_real(struct json_object *o, const char *name, double value);
void describe_flag(struct json_object *o, const char *name, bool value);
void describe_text(struct json_object *o, const char *name, const char *value);
/* Adds an empty array and returns it. */
struct json_object *describe_array(struct json_object *o, const char *name);

/* A device's number, "8:1", and what the kernel calls it; empty where it is no block device. */
struct device_names {
	char number[24];
	char name[64];
};
void device_names(const struct device_facts *f, struct device_names *names);
/* Whether WANTED, "8:1", "sda1" or "/dev/sda1", is this device. */
bool device_names_match(const struct device_names *names, const char *wanted);

/* These add members to O. */
void describe_device_names(struct json_object *o, const struct device_facts *f);
void describe_counters(struct json_object *o, const uint64_t counted[READAHEAD_COUNTERS]);
void describe_engine(struct json_object *o, const struct engine_facts *f);
void describe_writing(struct json_object *o, const struct writing_facts *f);
void describe_export(struct json_object *o, const struct export_facts *f);
void describe_export_prices(struct json_object *o, const struct export_facts *f);
/* PER_S: bytes/s served of each class lately. */
void describe_device(struct json_object *o, const struct device_facts *f,
		     const uint64_t per_s[SCHED_CLASSES]);
/* busy_ms; nothing for what is no block device. */
void describe_busy(struct json_object *o, const struct device_facts *f);
/* Of the host's Nth device; nothing before there are prices. */
void describe_price_of(struct json_object *o, const struct control_host *host, unsigned int n);
/* What the device and its queue are like now: a part of describe_device(). */
void describe_device_state(struct json_object *o, const struct dispatcher_stats *q);
void describe_waits(struct json_object *o, const struct sched_stats *s);
void describe_device_stats(struct json_object *o, const struct device_facts *f);
void describe_device_prices(struct json_object *o, const struct device_facts *d,
			    const struct device_price_facts *f, const double k[PRICE_RESOURCES]);

/* The log's lines, after their mark: JSON without newline, to be freed; NULL when out of memory. */
char *describe_stats_line(const uint64_t counted[READAHEAD_COUNTERS],
			  const struct engine_facts *engine, const struct writing_facts *writing);
char *describe_device_line(const struct device_facts *f);
char *describe_export_line(uint16_t id, const uint64_t counted[READAHEAD_COUNTERS]);

#endif
