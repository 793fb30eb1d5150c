/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Any bytes as a trace: refused with a line and a reason, or read so that what is in it is in its bounds
 * and a schedule of it comes to an end.
 */
#include "fuzz_texts.h"

#include "nfsreplay/schedule.h"
#include "trace_text.h"

static struct trace t;
static struct schedule s;

static void check_ops(void)
{
	char path[TRACE_PATH_MAX + 1];

	for (uint32_t i = 0; i < t.op_count; i++) {
		const struct trace_op *op = &t.ops[i];

		MUST(op->kind < TRACE_KINDS && op->client < t.client_count);
		MUST(op->object == TRACE_NONE || op->object < t.object_count);
		MUST(op->offset <= TRACE_SIZE_MAX && op->length <= TRACE_LENGTH_MAX);
		MUST(op->refs <= TRACE_REFS && (!i || op->at >= t.ops[i - 1].at));
		MUST(strlen(trace_path(&t, op->object, path)) <= TRACE_PATH_MAX);
	}
}

/* All answered at once. */
static void play(void)
{
	uint64_t due;
	uint32_t op, left;

	MUST(schedule_init(&s, &t, PACE_FAST, 1, 1) == 0);
	do {
		left = s.left;
		for (uint32_t c = 0; c < t.client_count; c++) {
			while ((op = schedule_next(&s, c, SCHEDULE_NEVER - 1, &due)) !=
			       TRACE_NONE) {
				schedule_sent(&s, op);
				schedule_answered(&s, op, 0);
			}
		}
	} while (s.left < left);
	MUST(!s.left);
	schedule_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (read_bytes(&t, data, size)) {
		MUST(t.problem[0]);
	} else {
		check_ops();
		play();
	}
	trace_free(&t);
	return 0;
}
