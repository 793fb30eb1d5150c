/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Mixes and arrivals; see offered.h. */
#include "offered.h"
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAMES                                                                                      \
	"lookup, read-lookup, default, or weights from 0 to 10000 such as lookup=34,read=22, "     \
	"of getattr, setattr, lookup, readlink, read, write, create, remove, readdir, fsstat"

/*
 * The published mix of NFS servers of that time (SPEC SFS, LADDIS, 1993), but 8 for WRITE instead of
 * 15: the paper says that 8 % was Nhfsstone's default.
 */
static const struct mix usual = {
	.weight = {[MIX_GETATTR] = 13,
		   [MIX_SETATTR] = 1,
		   [MIX_LOOKUP] = 34,
		   [MIX_READLINK] = 8,
		   [MIX_READ] = 22,
		   [MIX_WRITE] = 8,
		   [MIX_CREATE] = 2,
		   [MIX_REMOVE] = 1,
		   [MIX_READDIR] = 3,
		   [MIX_FSSTAT] = 1},
	.total = 93,
};

static const char *const names[MIX_OPS] = {
	[MIX_GETATTR] = "getattr",   [MIX_SETATTR] = "setattr", [MIX_LOOKUP] = "lookup",
	[MIX_READLINK] = "readlink", [MIX_READ] = "read",	[MIX_WRITE] = "write",
	[MIX_CREATE] = "create",     [MIX_REMOVE] = "remove",	[MIX_READDIR] = "readdir",
	[MIX_FSSTAT] = "fsstat",
};

const char *mix_op_name(enum mix_op op)
{
	return names[op];
}

static int set_weight(struct mix *mix, const char *pair, size_t length)
{
	for (int op = 0; op < MIX_OPS; op++) {
		size_t n = strlen(names[op]);
		char number[16];
		uint64_t weight;

		if (length <= n + 1 || strncmp(pair, names[op], n) || pair[n] != '=' ||
		    length - n - 1 >= sizeof(number))
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)(length - n - 1), pair + n + 1);
		if (options_number(number, &weight) || weight > MIX_WEIGHT_MAX)
			return -1;
		mix->weight[op] = (uint32_t)weight;
		return 0;
	}
	return -1;
}

static int parse_weights(struct mix *mix, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ",");

		if (set_weight(mix, text, length))
			return -1;
		text += length + (text[length] == ',');
	}
	return 0;
}

int mix_parse(struct mix *mix, const char *text)
{
	int rc = 0;

	*mix = (struct mix){0};
	if (strcmp(text, "default") == 0)
		*mix = usual;
	else if (strcmp(text, "lookup") == 0)
		rc = parse_weights(mix, "lookup=1");
	else if (strcmp(text, "read-lookup") == 0)
		rc = parse_weights(mix, "lookup=1,read=1");
	else
		rc = parse_weights(mix, text);
	mix->total = 0;
	for (int op = 0; op < MIX_OPS; op++)
		mix->total += mix->weight[op];
	if (rc == 0 && mix->total)
		return 0;
	fprintf(stderr, "nfsbench: --mix %s: must be " NAMES "\n", text);
	return -1;
}

enum mix_op mix_draw(const struct mix *mix, struct prng *prng)
{
	uint32_t at = prng_below(prng, mix->total);
	int op = 0;

	while (at >= mix->weight[op])
		at -= mix->weight[op++];
	return (enum mix_op)op;
}

void schedule_init(struct schedule *s, double rate, bool poisson, uint64_t seed)
{
	*s = (struct schedule){.interval = 1e9 / rate, .poisson = poisson};
	prng_init(&s->prng, seed);
}

uint64_t schedule_next(struct schedule *s)
{
	double chance = (double)(prng_next(&s->prng) >> 11) * 0x1p-53; /* 0 … 1, 1 excluded */

	s->next += s->poisson ? -s->interval * log(1 - chance) : s->interval;
	return (uint64_t)s->next;
}
