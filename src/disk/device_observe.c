/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a device's reads say of it. See device.h. */
#include "disk/device.h"

#include <sys/sysmacros.h>

#include "common/log.h"

/* READs past the queue of a device that may seek after all are measured so far apart (ns). */
#define SAMPLE_INTERVAL UINT64_C(50000000)

/* Adds one read to the evidence; what it settles, with the mean cost (ns) of a seek. */
static enum device_learns weigh(struct device *d, const struct seek_sample *s, double *mean)
{
	enum device_learns verdict;

	lock_take(&d->evidence.lock);
	verdict = seek_evidence_add(&d->evidence.seeks, s);
	*mean = d->evidence.seeks.mean;
	lock_drop(&d->evidence.lock);
	return verdict;
}

static void learn(struct device *d, enum device_learns what, double mean)
{
	if (!device_set_seeks_free(d, what == DEVICE_LEARNS_FREE))
		return;
	if (what == DEVICE_LEARNS_DEAR) {
		lock_take(&d->evidence.lock);
		seek_evidence_returned(&d->evidence.seeks);
		lock_drop(&d->evidence.lock);
	}
	log_line(LOG_LEVEL_EVENT,
		 "device %u:%u says it rotates, and a seek costs %.2f ms: treated as %s",
		 major(d->dev), minor(d->dev), mean / 1e6,
		 what == DEVICE_LEARNS_FREE ? "flash (Queue_Depth = 1 would insist)"
					    : "a rotating disk again");
}

/* The model of what D's reads cost, with one more. */
static struct cost_model told(struct device *d, const struct extent_span *span, uint64_t len,
			      uint64_t service, uint32_t steps, bool goes_on)
{
	if (device_is_direct(d) && steps)
		return dispatcher_observe_step(&d->dispatcher, span->block, span->end, len,
					       service / steps,
					       steps == 1 && goes_on && span->pieces == 1);
	if (device_is_direct(d))
		return dispatcher_cost(&d->dispatcher);
	if (span->pieces == 1)
		return dispatcher_observe(&d->dispatcher, span->block, len, service);
	return dispatcher_passed(&d->dispatcher, span->end, len, service);
}

void device_observe(struct device *d, const struct extent_span *span, uint64_t len,
		    uint64_t service, uint32_t readers, uint32_t steps, bool goes_on)
{
	struct seek_sample s = {.block = span->block,
				.end = span->end,
				.len = len,
				.seeks = span->seeks,
				.service = service,
				.readers = readers};
	enum device_learns learns = atomic_load_explicit(&d->learns, memory_order_relaxed), verdict;
	struct cost_model cost = told(d, span, len, service, steps, goes_on);
	double mean;

	if (learns == DEVICE_LEARNS_NOTHING)
		return;
	if (cost_run_known(&cost))
		s.ns_per_byte = cost.ns_per_byte;
	verdict = weigh(d, &s, &mean);
	if (verdict == learns)
		learn(d, verdict, mean);
}

bool device_sample_due(struct device *d, uint64_t now)
{
	uint64_t next = atomic_load_explicit(&d->next_sample, memory_order_relaxed);

	return now >= next &&
	       atomic_compare_exchange_strong(&d->next_sample, &next, now + SAMPLE_INTERVAL);
}
