/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See tally.h. */
#include "tally.h"

void tally_ended(struct tally *t, const struct span *w, const struct op *op, uint64_t now)
{
	enum op_kind kind = op->kind;

	if (!w->from || now < w->from || (w->until && now > w->until))
		return;
	t->ops[kind]++;
	t->bytes[kind] += op->length;
	t->blocked += op->blocked != 0 && kind != OP_READ;
	t->blocked_ns += kind != OP_READ ? op->blocked : 0;
	latency_add(&t->latency[kind], (now - op->began) / 1000);
}

void tally_under_way(struct tally *t, const struct op *op, uint64_t now)
{
	t->under_way++;
	t->under_way_ns += now - op->began;
}
