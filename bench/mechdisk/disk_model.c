/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The mechanics of one disk arm.
 *
 * Everything that turns is expressed by one function, the media clock m(x): the time the head
 * needs to stream from byte 0 to byte x. A track takes one revolution, then the change to the next
 * takes `track-switch`, and the next track is skewed by just that, so
 *
 *     time to stream from x to y      m(y) - m(x)
 *     angle at which byte x lies      m(x) mod revolution
 *     wait for x, arm there at t      (m(x) - t) mod revolution
 *
 *      track k              track k+1            track k+2
 *     |== revolution ==|sw|== revolution ==|sw|== revolution ==|sw|
 *
 * Zones (ZCAV) only change how many bytes a track holds.
 *
 * Look-ahead: after a read the head stays on its track and reads on. `stream` says where it was at
 * which time and where it will stop; how far the segment has come is worked out when the next
 * command arrives. A read that begins inside the segment, at its growing end, or so little ahead of
 * it that a seek would not be faster, neither seeks nor loses a revolution. When the segment is
 * full the head pauses, and going on costs the wait until that place comes round again. Any other
 * command ends the reading on.
 *
 * Writes go through to the medium. A write that continues the one before within a revolution
 * streams on as if it had been there in time: a drive's write cache has acknowledged the first one
 * early, which lets the second arrive before the head has passed. With write-extra each takes longer.
 */
#include "disk_model.h"
#include "flash.h"
#include "seek_curve.h"

#include <stdlib.h>

#define NS_PER_MS 1000000.0
struct zone {
	uint64_t start; /* first byte */
	uint64_t track_bytes;
	uint64_t first_track;
	int64_t media_ns; /* m(start) */
};

struct segment {
	uint64_t start, end; /* bytes [start, end) are in it */
	uint64_t used;	     /* tick of the last use, for replacement; 0 never */
};

/* The head's present streaming: at byte `from` at `from_ns`, on to `limit`. */
struct stream {
	bool active;
	struct segment *segment;
	uint64_t from, limit;
	int64_t from_ns;
};

struct disk_model {
	uint64_t size;
	uint32_t zone_count, segment_count;
	uint64_t zone_bytes, tracks, lookahead;
	int64_t revolution_ns, switch_ns, overhead_ns;
	struct seek_curve seek;
	double host_ns_per_byte;
	bool write_join, solid;
	struct flash flash;

	int64_t free_ns; /* the arm is free from here on */
	uint64_t head;	 /* where the head stands when no stream is active */
	uint64_t tick;
	struct stream stream;
	bool last_was_write;
	uint64_t write_end; /* end of the last write, and when the medium passed it */
	int64_t write_end_ns;
	struct zone zone[DISK_ZONES_MAX];
	struct segment segment[DISK_SEGMENTS_MAX];
};

static void lay_zones(struct disk_model *model, const struct disk_params *params)
{
	double revolution_s = model->revolution_ns / 1e9;
	uint64_t track = 0;
	int64_t media = 0;

	for (uint32_t i = 0; i < model->zone_count; i++) {
		struct zone *zone = &model->zone[i];
		double inward = model->zone_count > 1 ? (double)i / (model->zone_count - 1) : 0;
		double rate =
			params->rate_outer - inward * (params->rate_outer - params->rate_inner);
		uint64_t tracks;

		zone->start = i * model->zone_bytes;
		zone->track_bytes = (uint64_t)(rate * 1e6 * revolution_s) / 4096 * 4096;
		if (zone->track_bytes < 4096)
			zone->track_bytes = 4096;
		zone->first_track = track;
		zone->media_ns = media;
		tracks = (model->zone_bytes + zone->track_bytes - 1) / zone->track_bytes;
		track += tracks;
		media += (int64_t)tracks * (model->revolution_ns + model->switch_ns);
	}
	model->tracks = track;
}

struct disk_model *disk_model_new(const struct disk_params *params)
{
	struct disk_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->size = (uint64_t)params->size_mb << 20;
	model->revolution_ns = (int64_t)(60e9 / params->rpm);
	model->switch_ns = (int64_t)(params->switch_ms * NS_PER_MS);
	model->overhead_ns = (int64_t)(params->overhead_us * 1000);
	model->seek = (struct seek_curve){params->seek_min_ms * NS_PER_MS,
					  params->seek_max_ms * NS_PER_MS, params->seek_knee};
	model->host_ns_per_byte = 1e3 / params->interface_rate;
	model->lookahead = (uint64_t)params->lookahead_kb << 10;
	model->write_join = params->write_join >= 0.5;
	model->solid = params->solid >= 0.5;
	model->flash = flash_of(params);
	model->segment_count = (uint32_t)params->segments;
	model->zone_count = (uint32_t)params->zones;
	model->zone_bytes = (model->size / model->zone_count + 4095) / 4096 * 4096;
	lay_zones(model, params);
	return model;
}

void disk_model_free(struct disk_model *model)
{
	free(model);
}

uint64_t disk_model_size(const struct disk_model *model)
{
	return model->size;
}

int64_t disk_model_free_at(const struct disk_model *model)
{
	return model->free_ns;
}

static const struct zone *zone_of(const struct disk_model *model, uint64_t offset)
{
	uint64_t i = offset / model->zone_bytes;

	return &model->zone[i < model->zone_count ? i : model->zone_count - 1];
}

uint64_t disk_model_bytes_per_track(const struct disk_model *model, uint64_t offset)
{
	return zone_of(model, offset)->track_bytes;
}

static uint64_t track_of(const struct disk_model *model, uint64_t offset)
{
	const struct zone *zone = zone_of(model, offset);

	return zone->first_track + (offset - zone->start) / zone->track_bytes;
}

/* m(x) */
static int64_t media_clock(const struct disk_model *model, uint64_t offset)
{
	const struct zone *zone = zone_of(model, offset);
	uint64_t track = (offset - zone->start) / zone->track_bytes;
	uint64_t within = (offset - zone->start) % zone->track_bytes;

	return zone->media_ns + (int64_t)track * (model->revolution_ns + model->switch_ns) +
	       (int64_t)(within * (uint64_t)model->revolution_ns / zone->track_bytes);
}

/* The byte that the head has reached at media time `media`: the inverse of media_clock. */
static uint64_t media_position(const struct disk_model *model, int64_t media)
{
	int64_t track_ns = model->revolution_ns + model->switch_ns;
	const struct zone *zone = &model->zone[model->zone_count - 1];
	int64_t within, turned;
	uint64_t offset;

	while (zone > model->zone && zone->media_ns > media)
		zone--;
	within = media - zone->media_ns;
	turned = within % track_ns;
	if (turned > model->revolution_ns)
		turned = model->revolution_ns;
	offset = (uint64_t)(within / track_ns) * zone->track_bytes +
		 (uint64_t)turned * zone->track_bytes / (uint64_t)model->revolution_ns;
	return zone->start + (offset < model->zone_bytes ? offset : model->zone_bytes);
}

int64_t disk_model_media_ns(const struct disk_model *model, uint64_t from, uint64_t to)
{
	return media_clock(model, to) - media_clock(model, from);
}

int64_t disk_model_seek_ns(const struct disk_model *model, uint64_t from, uint64_t to)
{
	uint64_t a = track_of(model, from), b = track_of(model, to);
	uint64_t tracks = a > b ? a - b : b - a;
	double part;

	if (!tracks)
		return 0;
	part = (double)(tracks - 1) / (double)(model->tracks > 2 ? model->tracks - 2 : 1);
	return (int64_t)seek_curve(&model->seek, part);
}

static int64_t rotation_wait(const struct disk_model *model, uint64_t offset, int64_t at_ns)
{
	int64_t wait = (media_clock(model, offset) - at_ns) % model->revolution_ns;

	return wait < 0 ? wait + model->revolution_ns : wait;
}

/* How far the stream has come by `now_ns`. */
static uint64_t stream_position(const struct disk_model *model, int64_t now_ns)
{
	const struct stream *stream = &model->stream;
	uint64_t at;

	if (now_ns <= stream->from_ns)
		return stream->from;
	at = media_position(model, media_clock(model, stream->from) + now_ns - stream->from_ns);
	return at < stream->limit ? at : stream->limit;
}

static uint64_t head_position(const struct disk_model *model, int64_t now_ns)
{
	return model->stream.active ? stream_position(model, now_ns) : model->head;
}

/* Lets the active segment take what the head has read until now_ns; it keeps the newest bytes. */
static void advance(struct disk_model *model, int64_t now_ns)
{
	struct segment *segment = model->stream.segment;
	uint64_t at;

	if (!model->stream.active)
		return;
	at = stream_position(model, now_ns);
	if (at > segment->end)
		segment->end = at;
	if (segment->end - segment->start > model->lookahead)
		segment->start = segment->end - model->lookahead;
}

static void stop_stream(struct disk_model *model, int64_t now_ns)
{
	model->head = head_position(model, now_ns);
	model->stream.active = false;
}

/* Where a command at now_ns finds a segment: its end, or the head's place when it grows. */
static uint64_t segment_end(const struct disk_model *model, const struct segment *segment,
			    int64_t now_ns)
{
	uint64_t end = segment->end;

	if (model->stream.active && model->stream.segment == segment) {
		uint64_t at = stream_position(model, now_ns);

		if (at > end)
			end = at;
	}
	return end;
}

static uint64_t segment_start(const struct disk_model *model, const struct segment *segment,
			      uint64_t end)
{
	if (end - segment->start > model->lookahead)
		return end - model->lookahead;
	return segment->start;
}

/* What seeking to `offset` would cost, to the first byte. */
static int64_t seek_wait(const struct disk_model *model, uint64_t offset, int64_t now_ns)
{
	int64_t seek_ns = disk_model_seek_ns(model, head_position(model, now_ns), offset);

	return seek_ns + rotation_wait(model, offset, now_ns + model->overhead_ns + seek_ns);
}

/* How long until the stream has come to `offset` by reading on. */
static int64_t stream_wait(const struct disk_model *model, uint64_t offset, int64_t now_ns)
{
	const struct stream *stream = &model->stream;
	int64_t at_ns = stream->from_ns + disk_model_media_ns(model, stream->from, offset);

	return at_ns > now_ns ? at_ns - now_ns : 0;
}

/* Whether a read a little ahead is best served by reading on: what lies between is then had too. */
static bool stream_reaches(const struct disk_model *model, uint64_t offset, int64_t now_ns)
{
	return offset <= model->stream.limit &&
	       stream_wait(model, offset, now_ns) <=
		       model->overhead_ns + seek_wait(model, offset, now_ns);
}

/* The segment that holds the byte at `offset` or will soon, its head reading on; else NULL. */
static struct segment *find_segment(const struct disk_model *model, uint64_t offset, int64_t now_ns)
{
	for (uint32_t i = 0; i < model->segment_count; i++) {
		const struct segment *segment = &model->segment[i];
		bool growing = model->stream.active && model->stream.segment == segment;
		uint64_t end = segment_end(model, segment, now_ns);

		if (!segment->used || offset < segment_start(model, segment, end))
			continue;
		if (offset < end ||
		    (growing && (offset == end || stream_reaches(model, offset, now_ns))))
			return (struct segment *)segment;
	}
	return NULL;
}

static struct segment *oldest_segment(struct disk_model *model)
{
	struct segment *oldest = &model->segment[0];

	for (uint32_t i = 1; i < model->segment_count; i++)
		if (model->segment[i].used < oldest->used)
			oldest = &model->segment[i];
	return oldest;
}

static uint64_t read_on_limit(const struct disk_model *model, uint64_t end)
{
	uint64_t limit = end + model->lookahead;

	return limit < model->size ? limit : model->size;
}

/* Moves the arm to `offset`, beginning at t; returns when the first byte is under the head. */
static int64_t position(struct disk_model *model, uint64_t offset, int64_t t,
			struct disk_service *service)
{
	uint64_t head = head_position(model, t);

	service->distance = head > offset ? head - offset : offset - head;
	service->seek_ns = disk_model_seek_ns(model, head, offset);
	service->rotation_ns = rotation_wait(model, offset, t + service->seek_ns);
	return t + service->seek_ns + service->rotation_ns;
}

/* Points the head's stream at byte `from` at `from_ns`, into `segment`. */
static void start_stream(struct disk_model *model, struct segment *segment, uint64_t from,
			 int64_t from_ns, uint64_t end)
{
	model->stream = (struct stream){
		.active = true,
		.segment = segment,
		.from = from,
		.from_ns = from_ns,
		.limit = read_on_limit(model, end),
	};
	segment->used = ++model->tick;
}

/* A read that begins in `segment`. Returns when the medium has given the last byte. */
static int64_t read_hit(struct disk_model *model, struct segment *segment, uint64_t end,
			int64_t now_ns, struct disk_service *service)
{
	struct stream *stream = &model->stream;
	bool growing = stream->active && stream->segment == segment;
	int64_t at_ns;

	segment->used = ++model->tick;
	service->hit = true;
	if (growing) {
		uint64_t at = stream_position(model, now_ns);

		/* A paused head can go on only when its place comes round again. */
		if (at == stream->limit && at < model->size) {
			stream->from = at;
			stream->from_ns = now_ns + rotation_wait(model, at, now_ns);
		}
		if (read_on_limit(model, end) > stream->limit)
			stream->limit = read_on_limit(model, end);
	}
	if (end <= segment->end)
		return now_ns;
	if (!growing) {
		at_ns = position(model, segment->end, now_ns + model->overhead_ns, service);
		start_stream(model, segment, segment->end, at_ns, end);
	}
	return stream->from_ns + disk_model_media_ns(model, stream->from, end);
}

static int64_t read_miss(struct disk_model *model, uint64_t offset, uint64_t end, int64_t now_ns,
			 struct disk_service *service)
{
	int64_t at_ns = position(model, offset, now_ns + model->overhead_ns, service);
	struct segment *segment;

	stop_stream(model, now_ns);
	segment = oldest_segment(model);
	segment->start = segment->end = offset;
	start_stream(model, segment, offset, at_ns, end);
	return at_ns + disk_model_media_ns(model, offset, end);
}

static bool continues_write(const struct disk_model *model, uint64_t offset, int64_t now_ns)
{
	return model->write_join && model->last_was_write && offset == model->write_end &&
	       now_ns - model->free_ns <= model->revolution_ns;
}

/* What a write changes must not be read from a segment. */
static void forget(struct disk_model *model, uint64_t offset, uint64_t end)
{
	for (uint32_t i = 0; i < model->segment_count; i++) {
		struct segment *segment = &model->segment[i];

		if (segment->used && offset < segment->end && end > segment->start)
			segment->used = segment->start = segment->end = 0;
	}
}

static int64_t write_through(struct disk_model *model, uint64_t offset, uint64_t end,
			     int64_t now_ns, struct disk_service *service)
{
	int64_t at_ns;

	if (continues_write(model, offset, now_ns)) {
		service->joined = true;
		at_ns = model->write_end_ns;
		/* The cache hides a late host only as far as the join reaches. */
		if (at_ns < now_ns - model->revolution_ns)
			at_ns = now_ns - model->revolution_ns;
	} else {
		at_ns = position(model, offset, now_ns + model->overhead_ns, service);
	}
	stop_stream(model, now_ns);
	forget(model, offset, end);
	model->head = end;
	model->write_end = end;
	model->write_end_ns =
		at_ns + disk_model_media_ns(model, offset, end) + model->flash.write_extra_ns;
	return model->write_end_ns;
}

void disk_model_serve(struct disk_model *model, enum disk_op op, uint64_t offset, uint64_t length,
		      int64_t now_ns, struct disk_service *service)
{
	uint64_t end = offset + length;
	int64_t media_ns, host_ns;
	struct segment *segment;

	*service = (struct disk_service){0};
	if (now_ns < model->free_ns)
		now_ns = model->free_ns;
	service->start_ns = now_ns;
	if (model->solid) {
		model->free_ns = service->end_ns = now_ns + flash_ns(&model->flash, op, length);
		return;
	}
	host_ns = now_ns + model->overhead_ns + (int64_t)(length * model->host_ns_per_byte);
	advance(model, now_ns);
	if (op == DISK_WRITE) {
		media_ns = write_through(model, offset, end, now_ns, service);
	} else {
		segment = find_segment(model, offset, now_ns);
		if (segment)
			media_ns = read_hit(model, segment, end, now_ns, service);
		else
			media_ns = read_miss(model, offset, end, now_ns, service);
	}
	model->last_was_write = op == DISK_WRITE;
	service->end_ns = media_ns > host_ns ? media_ns : host_ns;
	model->free_ns = service->end_ns;
	advance(model, service->end_ns);
}

int64_t disk_model_estimate(const struct disk_model *model, enum disk_op op, uint64_t offset,
			    uint64_t length, int64_t now_ns)
{
	const struct segment *segment;

	if (model->solid)
		return 0;
	if (now_ns < model->free_ns)
		now_ns = model->free_ns;
	if (op == DISK_WRITE)
		return continues_write(model, offset, now_ns) ? 0
							      : seek_wait(model, offset, now_ns);
	segment = find_segment(model, offset, now_ns);
	if (!segment)
		return seek_wait(model, offset, now_ns);
	if (model->stream.active && model->stream.segment == segment)
		return stream_wait(model, offset, now_ns);
	return 0;
}
