/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A mount in words: what --status and --watch show. See watch.h. */
#include "octal.h"
#include "watch.h"

/* Its read-ahead, and what the kernel's counters say of its use. */
static void show_use(const struct watch_host *h, const struct watch *w, FILE *out)
{
	const struct decision *d = &w->decision;
	const uint32_t kib = watch_readahead(h, w);
	double effectiveness;

	fputs("  read-ahead ", out);
	if (kib)
		fprintf(out, "%u KiB", kib);
	else
		fputs("as found", out);
	fprintf(out, ": %s", decide_texts[d->ahead_why].why);
	if (d->readahead && !kib)
		fputs("; but read_ahead_kb cannot be turned now", out);
	if (mount_use_evidence(&w->use, &effectiveness) == USE_KNOWN)
		fprintf(out, "; of what was fetched %.0f %% was read", 100 * effectiveness);
	if (w->use.last.there)
		fprintf(out, "; hit rate %.2f, before %.2f", use_hit_rate(&w->use.soon),
			use_hit_rate(&w->use.late));
	fputc('\n', out);
}

/* Prices, and what follows from them for writes. */
static void show_writes(const struct watch_host *h, const struct watch *w, FILE *out)
{
	const struct decision *d = &w->decision;
	const enum write_way way = watch_way(h, w);

	fprintf(out, ", write %.3g, read-ahead %.3g, ours %.3g, %s: %s", w->detector.prices.write,
		w->detector.prices.readahead, d->ours, write_way_names[way],
		decide_texts[d->why].why);
	if (way != d->way)
		fputs(d->way == WRITE_DEFER ? "; but min_ratio cannot be turned now"
					    : "; but syncfs fails",
		      out);
	if (way == WRITE_DEFER)
		fprintf(out, "; %.1f MB held back", w->held_back / 1e6);
}

void watch_show(const struct watch_host *h, const struct watch *w, FILE *out)
{
	static const char *const text[] = {
		"not asked yet",
		"believed",
		"no prices",
		"no answer",
		"not asked: too many calls hang",
		"not asked: too many calls are under way in other mounts",
		"not asked: nobody uses it"};
	char obstacle[64];

	fputs("mount ", out);
	octal_print(out, w->path);
	fprintf(out, " %s: ", w->mount.device);
	if (w->news == NEWS_NOT_MOUNTED)
		octal_print(out, mount_obstacle(&w->mount, obstacle, sizeof(obstacle)));
	else
		fputs(text[w->news], out);
	if (w->news == NEWS_BELIEVED)
		show_writes(h, w, out);
	fputc('\n', out);
	if (w->news == NEWS_BELIEVED)
		show_use(h, w, out);
}
