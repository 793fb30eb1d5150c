/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Two samples -> rows. See client_rows.h. */
#include "control/client_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/file_rows.h"

#define US_PER_S 1e6

const char *const rows_by_names[ROWS_BY] = {
	[ROWS_CLIENT] = "client", [ROWS_EXPORT] = "export", [ROWS_DEVICE] = "device",
	[ROWS_FLOW] = "flow",	  [ROWS_FILE] = "file",
};

const char *const rows_order_names[ORDERS] = {
	[ORDER_SHARE] = "share",
	[ORDER_BANDWIDTH] = "bandwidth",
	[ORDER_IOPS] = "iops",
	[ORDER_LATENCY] = "latency",
};

/* What one flow did in between. */
struct use {
	bool active;
	uint64_t served, bytes[SAMPLE_CLASSES], refused, disk_us;
	uint64_t waits[SAMPLE_BUCKETS], waited_us; /* about, in all */
	double fair;				   /* of its device's time */
};

/* ---- what each flow used ---------------------------------------------------------------- */

static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static bool same_who(const struct sample_who *a, const struct sample_who *b)
{
	return a->number == b->number && a->export_id == b->export_id;
}

/* The device of S that is A's device N; NULL: S has not got it. */
static const struct sample_device *same_device(const struct use_sample *s,
					       const struct sample_device *d)
{
	for (unsigned int i = 0; i < s->devices; i++)
		if (!strcmp(s->device[i].number, d->number))
			return &s->device[i];
	return NULL;
}

/*
 * F as it was in S, which may be NULL. A flow that is new began with nothing; of one that S may only
 * have left out, for there were too many, nothing can be told: then it counts as it is.
 */
static const struct sample_flow *
flow_before(const struct use_sample *s, const struct sample_flow *f, const struct sample_device *on)
{
	static const struct sample_flow nothing;
	const struct sample_device *d = s ? same_device(s, on) : NULL;

	for (unsigned int i = 0; d && i < s->flows; i++)
		if (&s->device[s->flow[i].device] == d && same_who(&s->flow[i].who, &f->who))
			return &s->flow[i];
	return d && d->flows < d->flows_total ? f : &nothing;
}

static void use_between(struct use *u, const struct sample_flow *was, const struct sample_flow *is)
{
	for (int c = 0; c < SAMPLE_CLASSES; c++) {
		u->served += since(is->served[c], was->served[c]);
		u->bytes[c] = since(is->bytes[c], was->bytes[c]);
	}
	u->refused = since(is->refused, was->refused);
	u->disk_us = since(is->disk_us, was->disk_us);
	u->waited_us = is->backlogged;
	for (int b = 0; b < SAMPLE_BUCKETS; b++) {
		u->waits[b] = since(is->waits[b], was->waits[b]);
		u->waited_us += u->waits[b] << b;
	}
	u->active = is->backlogged || u->served || u->disk_us;
}

/* ---- fair shares ------------------------------------------------------------------------ */

static bool same_group(const struct sample_flow *a, const struct sample_flow *b)
{
	if (a->device != b->device || a->of_export != b->of_export)
		return false;
	return a->of_export ? a->who.export_id == b->who.export_id : a->who.number == b->who.number;
}

/* Weights of the active flows of each flow's group; how many they are. */
struct group {
	double weights;
	unsigned int flows;
};

static void find_groups(struct group *groups, const struct use *use, const struct use_sample *s)
{
	for (unsigned int i = 0; i < s->flows; i++)
		for (unsigned int j = 0; use[i].active && j < s->flows; j++)
			if (use[j].active && same_group(&s->flow[i], &s->flow[j])) {
				groups[i].weights += s->flow[j].weight;
				groups[i].flows++;
			}
}

static void find_fair(struct use *use, const struct use_sample *s)
{
	struct group groups[SAMPLE_FLOWS_MAX] = {{0}};
	double device[SAMPLE_DEVICES_MAX] = {0}; /* weights of its active groups */

	find_groups(groups, use, s);
	for (unsigned int i = 0; i < s->flows; i++)
		if (use[i].active) /* each of its flows brings a part of the group's weight */
			device[s->flow[i].device] +=
				s->flow[i].group_weight / (double)groups[i].flows;
	for (unsigned int i = 0; i < s->flows; i++) {
		const struct sample_flow *f = &s->flow[i];

		if (use[i].active && device[f->device] > 0 && groups[i].weights > 0)
			use[i].fair =
				f->group_weight / device[f->device] * f->weight / groups[i].weights;
	}
}

/* ---- rows ------------------------------------------------------------------------------- */

static const char *device_name(const struct sample_device *d)
{
	return d->name[0] ? d->name : d->number;
}

static bool is_of(const struct client_row *r, const struct client_row *key)
{
	return r->export_id == key->export_id && !strcmp(r->client, key->client) &&
	       !strcmp(r->device, key->device);
}

/* The row that F belongs to, made if need be. */
static struct client_row *row_of(struct client_rows *rows, const struct use_sample *s,
				 const struct sample_flow *f)
{
	struct client_row key = {.export_id = -1, .weight = f->group_weight};

	if (rows->by == ROWS_CLIENT || rows->by == ROWS_FLOW)
		memcpy(key.client, f->who.client, sizeof(key.client));
	if (rows->by == ROWS_EXPORT || rows->by == ROWS_FLOW)
		key.export_id = f->who.export_id;
	if (rows->by == ROWS_DEVICE || rows->by == ROWS_FLOW)
		snprintf(key.device, sizeof(key.device), "%s", device_name(&s->device[f->device]));
	for (unsigned int i = 0; i < rows->n; i++)
		if (is_of(&rows->row[i], &key))
			return &rows->row[i];
	rows->row[rows->n] = key;
	return &rows->row[rows->n++];
}

/* Whom F waited for, in words of the rows: a client, an export, or both. */
static void name_waited_for(struct client_row *r, enum rows_by by, const struct sample_flow *f)
{
	const struct sample_who *w = &f->waited_for;

	if (by == ROWS_EXPORT)
		snprintf(r->waited_for, sizeof(r->waited_for), "%" PRIu32, w->export_id);
	else if (w->number == f->who.number)
		snprintf(r->waited_for, sizeof(r->waited_for), "itself");
	else if (by == ROWS_CLIENT || w->number == 0)
		snprintf(r->waited_for, sizeof(r->waited_for), "%s", w->client);
	else
		snprintf(r->waited_for, sizeof(r->waited_for), "%s %" PRIu32, w->client,
			 w->export_id);
}

/* Counts; client_rows_between() makes rates and shares of them. */
static void add_use(struct client_row *r, enum rows_by by, const struct sample_flow *f,
		    const struct use *u)
{
	r->flows++;
	r->active = r->active || u->active;
	r->throttled = r->throttled || f->throttled;
	r->weight = r->weight == f->group_weight ? r->weight : 0;
	for (int c = 0; c < SAMPLE_CLASSES; c++)
		r->bytes_per_s[c] += (double)u->bytes[c];
	r->requests_per_s += (double)u->served;
	r->refused_per_s += (double)u->refused;
	r->disk_us += u->disk_us;
	r->queued += f->queued;
	r->running += f->running;
	r->held += f->held;
	for (int b = 0; b < SAMPLE_BUCKETS; b++)
		r->waits[b] += u->waits[b];
	if (f->wait_max_us > r->wait_max_us)
		r->wait_max_us = f->wait_max_us;
	if (f->waited_for_us && u->waited_us > r->waited_us) {
		r->waited_us = u->waited_us;
		name_waited_for(r, by, f);
	}
}

/* Whether no flow before the Nth, in the same row of rows by export or device, is the same client's. */
static bool is_first_of_client(const struct use_sample *s, unsigned int n, enum rows_by by)
{
	const struct sample_flow *f = &s->flow[n];

	for (unsigned int i = 0; i < n; i++)
		if (s->flow[i].who.number == f->who.number &&
		    (by == ROWS_DEVICE ? s->flow[i].device == f->device
				       : s->flow[i].who.export_id == f->who.export_id))
			return false;
	return true;
}

/* The wait that PERCENT did not exceed, us; within a bucket they are taken as spread evenly. */
static double percentile(const struct client_row *r, double percent)
{
	double sum = 0, wanted, upto = 0;

	for (int b = 0; b < SAMPLE_BUCKETS; b++)
		sum += (double)r->waits[b];
	wanted = sum * percent / 100;
	for (int b = 0; sum > 0 && b < SAMPLE_BUCKETS; b++) {
		double count = (double)r->waits[b], high = (double)(UINT64_C(1) << b);
		double low = b ? high / 2 : 0;

		if (count > 0 && upto + count >= wanted) {
			double wait = low + (high - low) * (wanted - upto) / count;

			return wait < (double)r->wait_max_us ? wait : (double)r->wait_max_us;
		}
		upto += count;
	}
	return 0;
}

static void finish_row(struct client_row *r, double seconds, uint64_t disk_us)
{
	for (int c = 0; c < SAMPLE_CLASSES; c++)
		r->bytes_per_s[c] /= seconds;
	r->requests_per_s /= seconds;
	r->refused_per_s /= seconds;
	r->share = disk_us ? (double)r->disk_us / (double)disk_us : 0;
	r->fair_share = disk_us ? r->fair_share / (double)disk_us : 0;
	r->p50_us = percentile(r, 50);
	r->p99_us = percentile(r, 99);
}

/* ---- devices ---------------------------------------------------------------------------- */

/* By the kernel's count; where there is none by the time that its flows had. */
static double busy(const struct use_sample *before, const struct sample_device *d, double seconds,
		   uint64_t disk_us)
{
	const struct sample_device *was = before ? same_device(before, d) : NULL;
	double part = (double)disk_us / US_PER_S / seconds;

	if (d->timed && was && was->timed)
		part = (double)since(d->busy_ms, was->busy_ms) / 1000 / seconds;
	return part < 1 ? part : 1;
}

/* The time between the samples; a clock that stands or a restart gives what can be divided by. */
static double seconds_between(const struct use_sample *before, const struct use_sample *after)
{
	double s = before ? (double)since(after->time_us, before->time_us) / US_PER_S
			  : (double)after->uptime_s;

	return s > 0.001 ? s : 1;
}

/* Fills the rows with the sums of what their flows used, and fair shares times the device's time. */
static void sum_up(struct client_rows *rows, const struct use_sample *s, const struct use *use,
		   const uint64_t *disk_us)
{
	for (unsigned int i = 0; i < s->flows; i++) {
		const struct sample_flow *f = &s->flow[i];
		struct client_row *r = row_of(rows, s, f);

		add_use(r, rows->by, f, &use[i]);
		r->fair_share += use[i].fair * (double)disk_us[f->device];
		if (rows->by == ROWS_CLIENT || rows->by == ROWS_FLOW)
			r->clients = 1;
		else
			r->clients += is_first_of_client(s, i, rows->by);
	}
}

/* All rows but those by file; ALL: us, of all devices. */
static void make_rows(struct client_rows *rows, const struct use_sample *s, struct use *use,
		      const uint64_t *disk_us, uint64_t all)
{
	find_fair(use, s);
	sum_up(rows, s, use, disk_us);
	for (unsigned int i = 0; i < rows->n; i++) {
		finish_row(&rows->row[i], rows->seconds, all);
		rows->idle += !rows->row[i].active;
	}
}

void client_rows_between(struct client_rows *rows, const struct use_sample *before,
			 const struct use_sample *after, enum rows_by by)
{
	static struct use use[SAMPLE_FLOWS_MAX];
	uint64_t disk_us[SAMPLE_DEVICES_MAX] = {0}, all = 0;

	if (before && (before->uptime_s > after->uptime_s || before->time_us > after->time_us))
		before = NULL;
	memset(rows, 0, sizeof(*rows));
	memset(use, 0, sizeof(use));
	rows->by = by;
	rows->from_start = !before;
	rows->seconds = seconds_between(before, after);
	for (unsigned int i = 0; i < after->flows; i++) {
		const struct sample_flow *f = &after->flow[i];

		use_between(&use[i], flow_before(before, f, &after->device[f->device]), f);
		disk_us[f->device] += use[i].disk_us;
		all += use[i].disk_us;
	}
	if (by == ROWS_FILE)
		file_rows_between(rows, before, after);
	else
		make_rows(rows, after, use, disk_us, all);
	read_rows_between(rows, before, after);
	for (unsigned int i = 0; i < after->devices; i++)
		rows->busy[i] = busy(before, &after->device[i], rows->seconds, disk_us[i]);
}

/* ---- order ------------------------------------------------------------------------------ */

static double bandwidth(const struct client_row *r)
{
	return r->bytes_per_s[SAMPLE_DEMAND] + r->bytes_per_s[SAMPLE_PREFETCH] +
	       r->bytes_per_s[SAMPLE_WRITEBACK];
}

/* Those that are active first; what is equal by name, so that rows do not jump. */
static int compare(const struct client_row *a, const struct client_row *b, double x, double y)
{
	if (x != y)
		return x < y ? 1 : -1;
	if (a->active != b->active)
		return a->active ? -1 : 1;
	if (strcmp(a->client, b->client))
		return strcmp(a->client, b->client);
	if (a->export_id != b->export_id)
		return a->export_id < b->export_id ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return strcmp(a->device, b->device);
}

static int by_share(const void *a, const void *b)
{
	const struct client_row *x = a, *y = b;

	return compare(x, y, x->share, y->share);
}

static int by_bandwidth(const void *a, const void *b)
{
	return compare(a, b, bandwidth(a), bandwidth(b));
}

static int by_iops(const void *a, const void *b)
{
	const struct client_row *x = a, *y = b;

	return compare(x, y, x->requests_per_s, y->requests_per_s);
}

static int by_latency(const void *a, const void *b)
{
	const struct client_row *x = a, *y = b;

	return compare(x, y, x->p99_us, y->p99_us);
}

void client_rows_sort(struct client_rows *rows, enum rows_order order)
{
	static int (*const orders[ORDERS])(const void *, const void *) = {
		[ORDER_SHARE] = by_share,
		[ORDER_BANDWIDTH] = by_bandwidth,
		[ORDER_IOPS] = by_iops,
		[ORDER_LATENCY] = by_latency,
	};

	qsort(rows->row, rows->n, sizeof(rows->row[0]), orders[order]);
}
