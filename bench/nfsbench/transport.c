/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Counts of UDP; see transport.h. */
#include "transport.h"

#define MS 1e-6 /* of a nanosecond */

static void add_class(struct transport_class *to, const struct calls *calls, enum rpc_class c)
{
	const struct calls_counts *from = &calls->counts[c];

	to->answered += from->answered;
	to->retransmitted += from->retransmitted;
	to->rtt_samples += from->rtt_samples;
	to->rtt_sum += from->rtt_sum;
	to->rto = calls_rto(calls, c);
}

void transport_total(struct transport_counts *t, const struct connection *c, unsigned int count)
{
	*t = (struct transport_counts){0};
	for (unsigned int i = 0; i < count; i++) {
		const struct calls *calls = c[i].udp ? udp_calls(c[i].udp) : NULL;

		if (!calls)
			continue;
		for (int class = 0; class < RPC_CLASSES; class ++)
			add_class(&t->class[class], calls, (enum rpc_class) class);
		t->late += calls->late;
		t->unknown += calls->unknown;
		t->dropped += udp_dropped(c[i].udp);
		t->window = calls->window.size;
	}
}

void transport_learn(struct load *load, const struct connection *c, unsigned int count)
{
	struct transport_class before = load->transport.class[RPC_READ];
	const struct transport_class *now = &load->transport.class[RPC_READ];
	uint64_t late_before = load->transport.late;
	struct read_size_seen seen;

	if (!load->adapts)
		return;
	transport_total(&load->transport, c, count);
	seen = (struct read_size_seen){
		.answered = now->answered - before.answered,
		.again = now->retransmitted - before.retransmitted,
		.needless = load->transport.late - late_before,
		.rtt_samples = now->rtt_samples - before.rtt_samples,
		.rtt_sum = now->rtt_sum - before.rtt_sum,
	};
	if (seen.answered || seen.again || seen.needless)
		read_size_learn(&load->read_size, &seen, (double)now->rto);
}

static uint64_t retransmissions(const struct transport_counts *t)
{
	uint64_t sum = 0;

	for (int c = 0; c < RPC_CLASSES; c++)
		sum += t->class[c].retransmitted;
	return sum;
}

void transport_table(const struct load *load)
{
	const struct transport_counts *t = &load->transport;

	if (load->options->transport == TRANSPORT_TCP)
		return;
	printf("%-8s %llu sent again, %llu answers late, %llu lost on purpose",
	       load->options->transport_name, (unsigned long long)retransmissions(t),
	       (unsigned long long)t->late, (unsigned long long)t->dropped);
	if (load->adapts)
		printf("; READs of %u bytes at the end", load->read_size.size);
	putchar('\n');
}

static void json_class(FILE *f, enum rpc_class c, const struct transport_class *t)
{
	fprintf(f,
		"%s\"%s\": {\"answered\": %llu, \"retransmitted\": %llu, \"rtt_ms\": %.4f, "
		"\"rto_ms\": %.4f}",
		c ? ", " : "", rpc_class_name(c), (unsigned long long)t->answered,
		(unsigned long long)t->retransmitted,
		t->rtt_samples ? MS * t->rtt_sum / (double)t->rtt_samples : 0.0,
		MS * (double)t->rto);
}

void transport_json(FILE *f, const struct load *load)
{
	const struct transport_counts *t = &load->transport;

	fprintf(f, "  \"transport\": {\"name\": \"%s\"", load->options->transport_name);
	if (load->options->transport != TRANSPORT_TCP) {
		fprintf(f,
			", \"retransmitted\": %llu, \"late\": %llu, \"unknown\": %llu, "
			"\"dropped\": %llu, \"window\": %.2f, \"read_bytes\": %u, \"classes\": {",
			(unsigned long long)retransmissions(t), (unsigned long long)t->late,
			(unsigned long long)t->unknown, (unsigned long long)t->dropped, t->window,
			load->adapts ? load->read_size.size : 0);
		for (int c = 0; c < RPC_CLASSES; c++)
			json_class(f, (enum rpc_class)c, &t->class[c]);
		fputc('}', f);
	}
	fprintf(f, "},\n");
}
