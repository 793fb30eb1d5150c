/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parameters of an export come to: the settings that its requests read. */
#include "params.h"

#include <strings.h>

#include "common/clock.h"
#include "shares/share_keys.h"

static void tuning_of(const struct ra_export_params *p, struct readahead_tuning *t)
{
	*t = (struct readahead_tuning){
		.heuristic = heuristic_find(p->heuristic),
		.rules = rules_find(p->rules),
		.match_window = (uint32_t)p->match_window,
		.match_requests = (uint32_t)p->match_requests,
		.seq_max = (uint32_t)p->seq_max,
		.seq_threshold = (uint32_t)p->seq_threshold,
		.window_init = p->window_init,
		.window_max = p->window_max,
		.chunk_min = p->chunk_min,
		.priced = p->price_readahead,
	};
}

static void cost_limits_of(const struct ra_export_params *p, struct cost_limits *l)
{
	*l = (struct cost_limits){
		.chunk_min = p->chunk_min,
		.chunk_max = p->chunk_max,
		.chunk_default = COST_CHUNK_DEFAULT,
		.max_wait = p->max_wait * CLOCK_MS,
		.demand_wait = p->demand_wait * CLOCK_MS,
		.seek_share = (uint32_t)p->seek_share,
	};
}

static void limits_of(const struct ra_export_params *p, struct sched_limits *l)
{
	*l = (struct sched_limits){
		.queue_max = (uint32_t)p->queue_limit,
		.queue_bytes = p->queue_bytes,
		.max_io = p->max_io,
		.prefetch_max_age = p->prefetch_max_age * CLOCK_MS,
		.stall_time = p->stall_time * CLOCK_MS,
		.writeback_turn = p->writeback_turn * CLOCK_MS,
		.writeback_idle = p->writeback_idle * CLOCK_MS,
		.writeback_share = (double)p->writeback_share / 100,
	};
	cost_limits_of(p, &l->cost);
}

static void writeback_of(const struct ra_export_params *p, struct writeback_settings *w)
{
	*w = (struct writeback_settings){
		.on = p->writeback,
		.chunk = p->writeback_chunk,
		.delay = p->writeback_delay * CLOCK_MS,
		.age_max = p->writeback_max_age * CLOCK_MS,
		.commit_wait = p->commit_wait * CLOCK_MS,
		.commit_part = p->commit_part,
		.reply_delay_max = p->write_delay_max * CLOCK_MS,
	};
}

static void share_of(const struct ra_export_params *p, struct share *s)
{
	share_set(s, SHARE_WEIGHT, p->weight);
	share_set(s, SHARE_FLOOR_BANDWIDTH, p->floor_bandwidth);
	share_set(s, SHARE_FLOOR_IOPS, p->floor_iops);
	share_set(s, SHARE_FLOOR_TIME, p->floor_time);
	share_set(s, SHARE_CEILING_BANDWIDTH, p->ceiling_bandwidth);
	share_set(s, SHARE_CEILING_IOPS, p->ceiling_iops);
	share_set(s, SHARE_CEILING_TIME, p->ceiling_time);
}

static enum fsstat_rule fsstat_rule_of(const struct ra_export_params *p)
{
	if (!strcasecmp(p->fsstat_prices, "auto"))
		return FSSTAT_AUTO;
	return strcasecmp(p->fsstat_prices, "true") ? FSSTAT_NEVER : FSSTAT_ALWAYS;
}

void ra_settings_of(const struct ra_export_params *p, struct export_settings *s)
{
	*s = (struct export_settings){
		.prefetch_step = p->prefetch_step,
		.full_wait = p->full_wait * CLOCK_MS,
		.device = {.policy = sched_policy_find(p->scheduler),
			   .depth = (uint32_t)p->queue_depth},
		.fsstat_rule = fsstat_rule_of(p),
	};
	tuning_of(p, &s->tuning);
	limits_of(p, &s->device.limits);
	writeback_of(p, &s->writeback);
	share_of(p, &s->share);
}
