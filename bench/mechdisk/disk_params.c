/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The modelled disk's parameters. The defaults are an ordinary 7200 rpm drive, scaled to 4 GiB. */
#include "disk_params.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTION(n, u, lo, hi, d, field, text)                                                       \
	{                                                                                          \
		.name = n, .unit = u, .min = lo, .max = hi, .def = d,                              \
		.offset = offsetof(struct disk_params, field), .meaning = text                     \
	}

const struct disk_option disk_options[] = {
	OPTION("size", "MiB", 16, 1048576, 4096, size_mb, "capacity"),
	OPTION("rpm", "1/min", 1000, 30000, 7200, rpm, "revolutions a minute"),
	OPTION("seek-min", "ms", 0, 50, 0.8, seek_min_ms, "seek to the next track"),
	OPTION("seek-max", "ms", 0, 100, 15, seek_max_ms, "seek across the whole disk"),
	OPTION("track-switch", "ms", 0, 8, 0.8, switch_ms, "change of track while streaming"),
	OPTION("rate-outer", "MB/s", 1, 1000, 150, rate_outer,
	       "rate of the outermost zone's tracks"),
	OPTION("rate-inner", "MB/s", 1, 1000, 75, rate_inner,
	       "rate of the innermost zone's tracks"),
	OPTION("zones", "", 1, DISK_ZONES_MAX, 16, zones, "zones of equal capacity"),
	OPTION("look-ahead", "KiB", 0, 262144, 8192, lookahead_kb, "read on into each segment"),
	OPTION("segments", "", 1, DISK_SEGMENTS_MAX, 1, segments, "look-ahead segments"),
	OPTION("interface", "MB/s", 10, 10000, 550, interface_rate, "rate between drive and host"),
	OPTION("overhead", "us", 0, 10000, 50, overhead_us, "the drive's time for each command"),
	OPTION("latency", "ms", 0, 1000, 0, latency_ms,
	       "reads and writes are answered so much later, while the drive serves others of "
	       "--depth"),
	OPTION("depth", "", 1, DISK_DEPTH_MAX, 1, depth,
	       "commands the drive chooses from (1: no tagged queue)"),
	OPTION("age", "ms", 1, 60000, 500, age_ms, "a command that waited so long is served next"),
	OPTION("write-join", "0|1", 0, 1, 1, write_join, "join consecutive writes (write cache)"),
	OPTION("write-extra", "ms", 0, 50, 0, write_extra_ms, "each write takes so much longer"),
	OPTION("seek-knee", "", 0.01, 1, 1.0 / 3, seek_knee,
	       "part of the stroke over which seeks grow by the square root"),
	OPTION("solid", "0|1", 0, 1, 0, solid, "flash: no arm; --overhead and --rate-outer count"),
	OPTION("spindles", "", 1, DISK_SPINDLES_MAX, 1, spindles,
	       "drives striped together; rates, depth and the like are each one's"),
	OPTION("stripe", "KiB", 4, 65536, 64, stripe_kb, "lies together on a spindle"),
	{.name = NULL},
};

static double *field(struct disk_params *params, const struct disk_option *option)
{
	return (double *)((char *)params + option->offset);
}

void disk_params_default(struct disk_params *params)
{
	memset(params, 0, sizeof(*params));
	for (const struct disk_option *option = disk_options; option->name; option++)
		*field(params, option) = option->def;
}

int disk_params_set(struct disk_params *params, const char *name, const char *text, char *err,
		    size_t err_size)
{
	const struct disk_option *option = disk_options;
	char *end;
	double value;

	while (option->name && strcmp(option->name, name))
		option++;
	if (!option->name) {
		snprintf(err, err_size, "unknown option --%s", name);
		return -1;
	}
	value = strtod(text, &end);
	if (end == text || *end || !isfinite(value) || value < option->min || value > option->max) {
		snprintf(err, err_size, "--%s=%s: a number from %g to %g%s%s is needed", name, text,
			 option->min, option->max, *option->unit ? " " : "", option->unit);
		return -1;
	}
	*field(params, option) = value;
	return 0;
}

int disk_params_check(const struct disk_params *params, char *err, size_t err_size)
{
	if (params->seek_max_ms < params->seek_min_ms) {
		snprintf(err, err_size, "--seek-max (%g ms) must not be below --seek-min (%g ms)",
			 params->seek_max_ms, params->seek_min_ms);
		return -1;
	}
	if (params->rate_inner > params->rate_outer) {
		snprintf(err, err_size,
			 "--rate-inner (%g MB/s) must not be above --rate-outer (%g)",
			 params->rate_inner, params->rate_outer);
		return -1;
	}
	if (params->spindles != (uint32_t)params->spindles ||
	    params->stripe_kb != (uint32_t)params->stripe_kb || (uint32_t)params->stripe_kb % 4) {
		snprintf(err, err_size,
			 "--spindles (%g) must be whole, --stripe (%g KiB) a multiple of 4",
			 params->spindles, params->stripe_kb);
		return -1;
	}
	if (params->spindles > 1 &&
	    fmod(params->size_mb * 1024, params->spindles * params->stripe_kb) != 0) {
		snprintf(err, err_size,
			 "--size (%g MiB) must be a multiple of %g stripes of %g KiB",
			 params->size_mb, params->spindles, params->stripe_kb);
		return -1;
	}
	return 0;
}

void disk_params_help(FILE *out)
{
	for (const struct disk_option *option = disk_options; option->name; option++)
		fprintf(out, "  --%-13s %s%s%s (%g to %g, default %g)\n", option->name,
			option->meaning, *option->unit ? ", " : "", option->unit, option->min,
			option->max, option->def);
}
