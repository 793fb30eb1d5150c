/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows by file, and what READs found: of two samples. See file_rows.h. */
#include "control/file_rows.h"

#include <stdio.h>
#include <string.h>

static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* A part of a whole; -1: of nothing. */
static double part_of(uint64_t part, uint64_t whole)
{
	return whole != 0 ? (double)part / (double)whole : -1;
}

/* ---- what READs found -------------------------------------------------------------------- */

static void difference(struct sample_reads *d, const struct sample_reads *was,
		       const struct sample_reads *is)
{
	*d = (struct sample_reads){
		.reads = since(is->reads, was->reads),
		.resident = since(is->resident, was->resident),
		.fetched = since(is->fetched, was->fetched),
		.read = since(is->read, was->read),
		.wasted = since(is->wasted, was->wasted),
	};
}

static const struct sample_reads *export_before(const struct use_sample *s, uint32_t id)
{
	static const struct sample_reads nothing;

	for (unsigned int i = 0; s != NULL && i < s->exports; i++)
		if (s->export[i].id == id)
			return &s->export[i].reads;
	return &nothing;
}

static struct client_row *export_row(struct client_rows *rows, uint32_t id)
{
	for (unsigned int i = 0; i < rows->n; i++)
		if (rows->row[i].export_id == (int64_t)id)
			return &rows->row[i];
	return NULL;
}

/* As it was in S; of one that S may only have left out nothing can be told: then it counts as it is. */
static const struct sample_reads *reader_before(const struct use_sample *s,
						const struct sample_reader *r)
{
	static const struct sample_reads nothing;

	for (unsigned int i = 0; s != NULL && i < s->readers; i++)
		if (!strcmp(s->reader[i].client, r->client))
			return &s->reader[i].reads;
	return s != NULL && s->readers < s->readers_total ? &r->reads : &nothing;
}

/* The row of CLIENT; one whose READs memory alone answered has no flow, and gets one now. NULL: no room. */
static struct client_row *client_row(struct client_rows *rows, const char *client)
{
	struct client_row *r;

	for (unsigned int i = 0; i < rows->n; i++)
		if (!strcmp(rows->row[i].client, client))
			return &rows->row[i];
	if (rows->n == sizeof(rows->row) / sizeof(rows->row[0]))
		return NULL;
	r = &rows->row[rows->n++];
	*r = (struct client_row){.export_id = -1, .clients = 1, .hit = -1, .waste = -1};
	snprintf(r->client, sizeof(r->client), "%s", client);
	rows->idle++;
	return r;
}

static void fill_reads(struct client_row *r, const struct sample_reads *d)
{
	r->hit = part_of(d->resident, d->reads);
	r->waste = part_of(d->wasted, d->wasted + d->read);
}

static void reader_rows(struct client_rows *rows, const struct use_sample *before,
			const struct use_sample *after)
{
	struct sample_reads d;

	for (unsigned int i = 0; i < after->readers; i++) {
		const struct sample_reader *of = &after->reader[i];
		struct client_row *r = client_row(rows, of->client);

		if (r == NULL)
			continue;
		difference(&d, reader_before(before, of), &of->reads);
		fill_reads(r, &d);
		if (d.reads != 0 && !r->active) {
			r->active = true;
			rows->idle--;
		}
	}
}

void read_rows_between(struct client_rows *rows, const struct use_sample *before,
		       const struct use_sample *after)
{
	static const struct sample_reads nothing;
	struct sample_reads d;

	rows->counted = after->counted;
	difference(&d, before != NULL ? &before->all : &nothing, &after->all);
	rows->reads_per_s = (double)d.reads / rows->seconds;
	rows->fetched_per_s = (double)d.fetched / rows->seconds;
	rows->hit = part_of(d.resident, d.reads);
	rows->waste = part_of(d.wasted, d.wasted + d.read);
	for (unsigned int i = 0; i < rows->n; i++)
		if (rows->by != ROWS_FILE)
			rows->row[i].hit = rows->row[i].waste = -1;
	for (unsigned int i = 0; rows->by == ROWS_EXPORT && i < after->exports; i++) {
		const struct sample_export *e = &after->export[i];
		struct client_row *r = export_row(rows, e->id);

		if (r == NULL)
			continue;
		difference(&d, export_before(before, e->id), &e->reads);
		fill_reads(r, &d);
	}
	if (rows->by == ROWS_CLIENT)
		reader_rows(rows, before, after);
}

/* ---- files ------------------------------------------------------------------------------- */

/* As it was in S; of one that S may only have left out nothing can be told: then it counts as it is. */
static const struct sample_file *file_before(const struct use_sample *s,
					     const struct sample_file *f)
{
	static const struct sample_file nothing;

	for (unsigned int i = 0; s != NULL && i < s->files; i++)
		if (s->file[i].file == f->file && !strcmp(s->file[i].device, f->device))
			return &s->file[i];
	return s != NULL && s->files < s->files_total ? f : &nothing;
}

static void fill(struct client_row *r, const struct sample_file *was, const struct sample_file *is,
		 double seconds)
{
	*r = (struct client_row){
		.export_id = -1,
		.file = is->file,
		.unread = is->unread,
		.window = is->window,
		.idle_ms = is->idle_ms,
		.streams = is->streams,
		.count = is->count,
		.hit = -1,
		.waste = is->effective >= 0 ? 1 - is->effective : -1,
		.requests_per_s = (double)since(is->reads, was->reads) / seconds,
		.active = is->reads != was->reads,
	};
	r->bytes_per_s[SAMPLE_DEMAND] = (double)since(is->bytes, was->bytes) / seconds;
	memcpy(r->path, is->path, sizeof(r->path));
	memcpy(r->device, is->device, sizeof(r->device));
}

void file_rows_between(struct client_rows *rows, const struct use_sample *before,
		       const struct use_sample *after)
{
	double all = 0;

	for (unsigned int i = 0; i < after->files; i++) {
		const struct sample_file *f = &after->file[i];
		struct client_row *r = &rows->row[rows->n++];

		fill(r, file_before(before, f), f, rows->seconds);
		all += r->bytes_per_s[SAMPLE_DEMAND];
		rows->idle += !r->active;
	}
	for (unsigned int i = 0; i < rows->n && all > 0; i++)
		rows->row[i].share = rows->row[i].bytes_per_s[SAMPLE_DEMAND] / all;
}
