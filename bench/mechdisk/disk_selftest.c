/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The self-test: drives the model with simple loads in its own time and compares what comes out
 * with what the formulae of the mechanics say. A host takes HOST_NS between two commands.
 */
#include "disk_selftest.h"

#include <math.h>

#include "disk_array.h"
#include "disk_queue.h"

#define HOST_NS	 100000
#define MIB	 (1u << 20)
#define COMMANDS 4000

struct check {
	FILE *out;
	int failed;
};

static void expect(struct check *check, const char *what, const char *unit, double measured,
		   double low, double high)
{
	int ok = measured >= low && measured <= high;

	fprintf(check->out, "  %-44s %8.2f %-4s  (%.2f to %.2f)  %s\n", what, measured, unit, low,
		high, ok ? "ok" : "FAILED");
	check->failed += !ok;
}

static uint64_t draw(uint64_t *seed, uint64_t bound)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*seed >> 33) % bound;
}

/* MB/s of reading or writing `total` bytes from `offset` on, one command at a time. */
static double stream_rate(const struct disk_params *params, enum disk_op op, uint64_t offset,
			  uint64_t total, uint64_t chunk)
{
	struct disk_model *model = disk_model_new(params);
	struct disk_service service = {0};
	int64_t first;

	disk_model_serve(model, op, offset, chunk, 0, &service);
	first = service.end_ns;
	for (uint64_t at = chunk; at < total; at += chunk)
		disk_model_serve(model, op, offset + at, chunk, service.end_ns + HOST_NS, &service);
	disk_model_free(model);
	return (double)(total - chunk) * 1e3 / (double)(service.end_ns - first);
}

/*
 * MB/s of chunks taken in turn from 8 streams in `span` bytes. Where the streams lie fixes the wait
 * for rotation between two of them, so several layouts are drawn and their times summed.
 */
static double turns_rate(const struct disk_params *params, uint64_t span, uint64_t chunk)
{
	uint64_t total = 0, seed = 3, part = span / 8;
	int64_t time_ns = 0;

	for (int layout = 0; layout < 64; layout++) {
		struct disk_model *model = disk_model_new(params);
		struct disk_service service = {0};
		uint64_t start[8];

		for (unsigned stream = 0; stream < 8; stream++)
			start[stream] = stream * part + draw(&seed, part / 8192) * 4096;
		for (uint64_t at = 0; at + chunk <= part / 2; at += chunk) {
			for (unsigned stream = 0; stream < 8; stream++) {
				disk_model_serve(model, DISK_READ, start[stream] + at, chunk,
						 service.end_ns + HOST_NS, &service);
				total += chunk;
			}
		}
		time_ns += service.end_ns;
		disk_model_free(model);
	}
	return (double)total * 1e3 / (double)time_ns;
}

struct random_result {
	double mean_ms, seek_ms, rotation_ms;
};

/* 8 KiB reads anywhere in `span` bytes, `outstanding` of them always in the queue. */
static struct random_result random_reads(const struct disk_params *params, uint64_t span,
					 uint32_t outstanding)
{
	struct disk_model *model = disk_model_new(params);
	struct disk_command command[DISK_DEPTH_MAX];
	struct random_result result = {0};
	struct disk_service service = {0};
	struct disk_queue queue;
	uint64_t seed = 1;

	disk_queue_init(&queue, (uint32_t)params->depth, (int64_t)(params->age_ms * 1e6));
	for (uint32_t i = 0; i < outstanding; i++) {
		command[i] = (struct disk_command){.length = 8192};
		command[i].offset = draw(&seed, span / 8192) * 8192;
		disk_queue_add(&queue, &command[i]);
	}
	for (int i = 0; i < COMMANDS; i++) {
		struct disk_command *next = disk_queue_take(&queue, model, service.end_ns);

		disk_model_serve(model, next->op, next->offset, next->length, service.end_ns,
				 &service);
		result.seek_ms += (double)service.seek_ns / 1e6 / COMMANDS;
		result.rotation_ms += (double)service.rotation_ns / 1e6 / COMMANDS;
		next->offset = draw(&seed, span / 8192) * 8192;
		next->arrival_ns = service.end_ns;
		disk_queue_add(&queue, next);
	}
	result.mean_ms = (double)service.end_ns / 1e6 / COMMANDS;
	disk_model_free(model);
	return result;
}

/* The mean of the seek curve over pairs of places in `span`, by itself. */
static double mean_seek_ms(const struct disk_params *params, uint64_t span)
{
	struct disk_model *model = disk_model_new(params);
	uint64_t seed = 7;
	double sum = 0;

	for (int i = 0; i < COMMANDS; i++)
		sum += (double)disk_model_seek_ns(model, draw(&seed, span / 8192) * 8192,
						  draw(&seed, span / 8192) * 8192);
	disk_model_free(model);
	return sum / 1e6 / COMMANDS;
}

/* What a zone gives when the change of track is counted in. */
static double sustained(const struct disk_params *params, double rate)
{
	double revolution_ms = 60e3 / params->rpm;

	return rate * revolution_ms / (revolution_ms + params->switch_ms);
}

static void check_streams(struct check *check, struct disk_params params)
{
	uint64_t size = (uint64_t)params.size_mb << 20;
	uint64_t piece = size / (uint64_t)params.zones / 2;
	double outer = sustained(&params, params.rate_outer);
	double inner = sustained(&params, params.rate_inner), rate, no_join, slow;

	rate = stream_rate(&params, DISK_READ, 0, piece, 131072);
	expect(check, "sequential read, outermost zone", "MB/s", rate, outer * .95, outer * 1.05);
	rate = stream_rate(&params, DISK_READ, size - piece, piece, 131072);
	expect(check, "sequential read, innermost zone", "MB/s", rate, inner * .95, inner * 1.05);
	rate = stream_rate(&params, DISK_WRITE, 0, piece, 131072);
	if (params.write_join >= 0.5 && params.write_extra_ms == 0)
		expect(check, "sequential write, joined", "MB/s", rate, outer * .9, outer * 1.05);
	params.write_join = 0;
	params.write_extra_ms = 0;
	no_join = stream_rate(&params, DISK_WRITE, 0, piece, 131072);
	expect(check, "sequential write of 128 KiB, not joined", "MB/s", no_join, 1, outer * .2);
	params.write_join = 1;
	params.write_extra_ms = 2;
	rate = stream_rate(&params, DISK_WRITE, 0, piece, 131072);
	slow = 131072 / (131072 / outer + 2000);
	expect(check, "sequential write, 2 ms more for 128 KiB", "MB/s", rate, slow * .9,
	       slow * 1.1);
	params.lookahead_kb = 0;
	rate = stream_rate(&params, DISK_READ, 0, piece, 131072);
	expect(check, "sequential read of 128 KiB, no look-ahead", "MB/s", rate, 1, outer * .2);
}

static void check_random(struct check *check, struct disk_params params, uint64_t span)
{
	double seek = mean_seek_ms(&params, span), half = 30e3 / params.rpm, model;
	struct random_result one, many;

	params.depth = 1;
	one = random_reads(&params, span, 1);
	model = seek + half + params.overhead_us / 1e3 + 8.192 / params.rate_outer;
	expect(check, "random 8 KiB, mean seek", "ms", one.seek_ms, seek * .93, seek * 1.07);
	expect(check, "random 8 KiB, mean wait for rotation", "ms", one.rotation_ms, half * .95,
	       half * 1.05);
	expect(check, "random 8 KiB, mean service", "ms", one.mean_ms, model * .94, model * 1.06);
	params.depth = 32;
	many = random_reads(&params, span, 32);
	expect(check, "random 8 KiB, queue of 32: times as fast", "x", one.mean_ms / many.mean_ms,
	       1.5, 6);
}

/* By the formula: a turn is a seek, half a revolution and the transfer. */
static void check_turns(struct check *check, const struct disk_params *params, uint64_t span)
{
	static const uint64_t chunk[] = {131072, MIB, 4 * MIB, 8 * MIB};
	double outer = sustained(params, params->rate_outer), seek = mean_seek_ms(params, span);
	double wait = seek + 30e3 / params->rpm + params->overhead_us / 1e3;
	char what[64];

	for (unsigned i = 0; i < sizeof(chunk) / sizeof(chunk[0]); i++) {
		double rate = turns_rate(params, span, chunk[i]);
		double model = (double)chunk[i] / 1e3 / (wait + (double)chunk[i] / 1e3 / outer);

		snprintf(what, sizeof(what), "8 streams in turn, %u KiB each",
			 (unsigned)(chunk[i] >> 10));
		expect(check, what, "MB/s", rate, model * .82, model * 1.18);
	}
}

/* One stream over all spindles, `chunk` bytes at a time, the next sent when the last piece is had. */
static double array_stream_rate(const struct disk_params *params, uint64_t total, uint64_t chunk)
{
	struct disk_array array = disk_array_of(params);
	struct disk_params one = disk_array_spindle(params);
	struct disk_model *model[DISK_SPINDLES_MAX];
	int64_t now_ns = 0, first = 0;

	for (uint32_t i = 0; i < array.spindles; i++)
		model[i] = disk_model_new(&one);
	for (uint64_t at = 0; at < total; at += chunk) {
		int64_t end_ns = now_ns;

		for (uint32_t i = 0; i < array.spindles; i++) {
			struct disk_part part = disk_array_part(&array, i, at, chunk);
			struct disk_service service = {0};

			if (part.length)
				disk_model_serve(model[i], DISK_READ, part.offset, part.length,
						 now_ns, &service);
			if (service.end_ns > end_ns)
				end_ns = service.end_ns;
		}
		now_ns = end_ns + HOST_NS;
		first = first ? first : end_ns;
	}
	for (uint32_t i = 0; i < array.spindles; i++)
		disk_model_free(model[i]);
	return (double)(total - chunk) * 1e3 / (double)(now_ns - HOST_NS - first);
}

struct spindle_line {
	struct disk_model *model;
	struct disk_queue queue;
};

/* The spindle that begins its next command first; NULL when none waits. */
static struct spindle_line *next_spindle(struct spindle_line *lines, uint32_t count)
{
	struct spindle_line *best = NULL;
	int64_t best_ns = INT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct disk_command *first = lines[i].queue.first;
		int64_t at_ns = first ? first->arrival_ns : INT64_MAX;

		if (at_ns < disk_model_free_at(lines[i].model))
			at_ns = disk_model_free_at(lines[i].model);
		if (first && at_ns < best_ns) {
			best_ns = at_ns;
			best = &lines[i];
		}
	}
	return best;
}

static void add_anywhere(struct spindle_line *lines, const struct disk_array *array,
			 struct disk_command *command, uint64_t span, uint64_t *seed)
{
	uint64_t offset = draw(seed, span / 8192) * 8192;

	for (uint32_t i = 0; i < array->spindles; i++) {
		struct disk_part part = disk_array_part(array, i, offset, 8192);

		if (!part.length)
			continue;
		command->offset = part.offset;
		command->length = part.length;
		disk_queue_add(&lines[i].queue, command);
		return;
	}
}

/* 8 KiB reads a second anywhere in `span` bytes, `outstanding` of them always sent. */
static double array_random_rate(const struct disk_params *params, uint64_t span,
				uint32_t outstanding)
{
	struct disk_array array = disk_array_of(params);
	struct disk_params one = disk_array_spindle(params);
	struct spindle_line lines[DISK_SPINDLES_MAX];
	struct disk_command command[DISK_DEPTH_MAX] = {0};
	struct disk_service service = {0};
	uint64_t seed = 1;
	int64_t last_ns = 0;

	for (uint32_t i = 0; i < array.spindles; i++) {
		lines[i].model = disk_model_new(&one);
		disk_queue_init(&lines[i].queue, (uint32_t)one.depth, (int64_t)(one.age_ms * 1e6));
	}
	for (uint32_t i = 0; i < outstanding; i++)
		add_anywhere(lines, &array, &command[i], span, &seed);
	for (int i = 0; i < COMMANDS; i++) {
		struct spindle_line *line = next_spindle(lines, array.spindles);
		int64_t at_ns = disk_model_free_at(line->model);
		struct disk_command *next = disk_queue_take(&line->queue, line->model, at_ns);

		disk_model_serve(line->model, DISK_READ, next->offset, next->length,
				 next->arrival_ns, &service);
		next->arrival_ns = service.end_ns;
		last_ns = service.end_ns > last_ns ? service.end_ns : last_ns;
		add_anywhere(lines, &array, next, span, &seed);
	}
	for (uint32_t i = 0; i < array.spindles; i++)
		disk_model_free(lines[i].model);
	return COMMANDS * 1e9 / (double)last_ns;
}

/*
 * N spindles that serve in turn of arrival: a stream of commands that reach all of them is N times
 * one's; of Q random reads outstanding Q / (Q + N - 1) of the arms are busy (a closed network; the
 * formula is for service times that vary as an exponential's, so a little more is had).
 */
static void check_array(struct check *check, struct disk_params params)
{
	struct disk_params one = disk_array_spindle(&params);
	double n = params.spindles, rate = sustained(&one, one.rate_outer), single;
	uint64_t span = 256 * (uint64_t)MIB * (uint64_t)n, row;
	char what[64];

	params.depth = one.depth = 1;
	row = (uint64_t)(params.stripe_kb * n) << 10;
	if (params.solid >= 0.5) {
		double each = 16 * params.stripe_kb * 1024; /* bytes of a command on a spindle */

		rate = each / (params.overhead_us + each / params.rate_outer);
	}
	expect(check, "array: one stream, 16 rows of stripes at a time", "MB/s",
	       array_stream_rate(&params, 1024 * row, 16 * row), n * rate * .85, n * rate * 1.05);
	single = array_random_rate(&one, span / (uint64_t)n, 1);
	for (uint32_t q = 1; q <= 32; q *= 4) {
		double busy = n * q / (q + n - 1);

		snprintf(what, sizeof(what), "array: random 8 KiB, %u outstanding", q);
		expect(check, what, "IO/s", array_random_rate(&params, span, q),
		       single * busy * .93, single * busy * 1.3);
	}
}

/* Flash: the overhead and the transfer, wherever the read is and however many wait. */
static void check_solid(struct check *check, struct disk_params params, uint64_t span)
{
	double model = params.overhead_us / 1e3 + 8.192 / params.rate_outer;
	struct random_result one, many;

	one = random_reads(&params, span, 1);
	many = random_reads(&params, span, 32);
	expect(check, "flash, random 8 KiB", "ms", one.mean_ms, model * .98, model * 1.02);
	expect(check, "flash, random 8 KiB, 32 outstanding", "ms", many.mean_ms, model * .98,
	       model * 1.02);
}

int disk_selftest(const struct disk_params *params, FILE *out)
{
	uint64_t size = (uint64_t)params->size_mb << 20;
	uint64_t span = size < 512 * (uint64_t)MIB ? size / 2 : 256 * (uint64_t)MIB;
	struct check check = {.out = out};

	fprintf(out, "mechdisk self-test, in the model's time (accepted range):\n");
	if (params->spindles > 1) {
		struct disk_params one = disk_array_spindle(params);
		int failed = disk_selftest(&one, out);

		check_array(&check, *params);
		check.failed += failed;
		fprintf(out, check.failed ? "%d checks FAILED\n" : "all checks passed\n",
			check.failed);
		return check.failed;
	}
	if (params->solid >= 0.5) {
		check_solid(&check, *params, span);
		fprintf(out, check.failed ? "%d checks FAILED\n" : "all checks passed\n",
			check.failed);
		return check.failed;
	}
	check_streams(&check, *params);
	check_random(&check, *params, span);
	check_turns(&check, params, span);
	fprintf(out, check.failed ? "%d checks FAILED\n" : "all checks passed\n", check.failed);
	return check.failed;
}
