/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Texts and latencies as JSON. */
#include "report_parts.h"

void json_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

void json_latency(FILE *f, const struct latency *l)
{
	fprintf(f,
		"{\"count\": %llu, \"mean\": %.3f, \"error\": %.3f, \"p50\": %.3f, \"p90\": %.3f, "
		"\"p99\": %.3f, "
		"\"p99.9\": %.3f, \"max\": %.3f}",
		(unsigned long long)l->count,
		l->count ? (double)l->sum / (double)l->count / 1e3 : 0.0, latency_error(l) / 1e3,
		latency_percentile(l, 0.5) / 1e3, latency_percentile(l, 0.9) / 1e3,
		latency_percentile(l, 0.99) / 1e3, latency_percentile(l, 0.999) / 1e3,
		l->max / 1e3);
}
