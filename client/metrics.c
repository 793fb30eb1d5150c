/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Metrics as text. See metrics.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "metrics.h"
#include "whole_file.h"

struct subject {
	struct watch_host *host;
	struct watch *watch; /* NULL: of the machine */
	double now;
};

/* False: there is none at present. */
typedef bool (*value_of)(const struct subject *s, double *value);

struct metric {
	const char *name, *type, *label, *help; /* label: beside those of the mount, "" */
	value_of value;
	bool of_machine;
};

/* ---- values ------------------------------------------------------------------------------ */

static bool priced(const struct subject *s)
{
	return watch_priced(s->host, s->watch, s->now);
}

static bool mounted(const struct subject *s, double *value)
{
	*value = s->watch->mount.kind == MOUNT_NFS3;
	return true;
}

static bool believed(const struct subject *s, double *value)
{
	*value = priced(s);
	return true;
}

static bool write_price(const struct subject *s, double *value)
{
	*value = s->watch->detector.prices.write;
	return priced(s);
}

static bool readahead_price(const struct subject *s, double *value)
{
	*value = s->watch->detector.prices.readahead;
	return priced(s);
}

static bool own_price(const struct subject *s, double *value)
{
	*value = s->watch->decision.ours;
	return priced(s);
}

static bool way_normal(const struct subject *s, double *value)
{
	*value = watch_way(s->host, s->watch) == WRITE_NORMAL;
	return true;
}

static bool way_defer(const struct subject *s, double *value)
{
	*value = watch_way(s->host, s->watch) == WRITE_DEFER;
	return true;
}

static bool way_accelerate(const struct subject *s, double *value)
{
	*value = watch_way(s->host, s->watch) == WRITE_ACCELERATE;
	return true;
}

static bool deferred_bytes(const struct subject *s, double *value)
{
	*value = 0;
	if (watch_way(s->host, s->watch) == WRITE_DEFER)
		*value = (double)machine_dirty(&s->host->machine, s->watch->mount.device);
	return true;
}

static bool readahead_bytes(const struct subject *s, double *value)
{
	*value = 1024.0 * watch_readahead(s->host, s->watch);
	return *value > 0;
}

static bool deferred_seconds(const struct subject *s, double *value)
{
	*value = s->watch->totals.deferred;
	return true;
}

static bool deferrals(const struct subject *s, double *value)
{
	*value = (double)s->watch->totals.deferrals;
	return true;
}

static bool pushes(const struct subject *s, double *value)
{
	*value = (double)s->watch->totals.pushes;
	return true;
}

static bool replies(const struct subject *s, double *value)
{
	*value = (double)s->watch->totals.replies;
	return true;
}

static bool counted(const struct subject *s, uint64_t count, double *value)
{
	*value = (double)count;
	return s->watch->use.last.there;
}

static bool programs_read(const struct subject *s, double *value)
{
	return counted(s, s->watch->use.last.programs_read, value);
}

static bool programs_written(const struct subject *s, double *value)
{
	return counted(s, s->watch->use.last.programs_written, value);
}

static bool server_read(const struct subject *s, double *value)
{
	return counted(s, s->watch->use.last.server_read, value);
}

static bool server_written(const struct subject *s, double *value)
{
	return counted(s, s->watch->use.last.server_written, value);
}

static bool reads(const struct subject *s, double *value)
{
	return counted(s, s->watch->use.last.reads, value);
}

static bool writes(const struct subject *s, double *value)
{
	return counted(s, s->watch->use.last.writes, value);
}

static bool hit_ratio(const struct subject *s, double *value)
{
	*value = use_hit_rate(&s->watch->use.soon);
	return s->watch->use.last.there && s->watch->use.soon.read > 0;
}

static bool effectiveness(const struct subject *s, double *value)
{
	return mount_use_evidence(&s->watch->use, value) == USE_KNOWN;
}

static bool weight(const struct subject *s, double *value)
{
	*value = weights_of(&s->host->settings.weights, s->watch->path);
	return true;
}

static bool doubted(const struct subject *s, double *value)
{
	*value = s->watch->doubt.frozen || s->watch->doubt.jumping;
	return priced(s);
}

static bool cache_worth(const struct subject *s, double *value)
{
	*value = s->host->worth;
	return true;
}

static bool network_ratio(const struct subject *s, double *value)
{
	*value = s->host->machine.network;
	return s->host->machine.net.n > 0;
}

static bool halted(const struct subject *s, double *value)
{
	*value = 0;
	for (unsigned int i = 0; i < s->host->settings.halts.count; i++)
		*value += s->host->groups[i].halt.halted;
	return true;
}

static bool kept(const struct subject *s, double *value)
{
	const struct settings *set = &s->host->settings;

	*value = 0;
	for (unsigned int i = 0; i < set->keeps.count; i++)
		*value += keep_keeps(&s->host->keep, set->root, set->keeps.at[i].name);
	return true;
}

static bool dirty_ratio(const struct subject *s, double *value)
{
	*value = s->host->machine.dirty;
	return true;
}

static bool memory_short(const struct subject *s, double *value)
{
	*value = s->host->machine.memory_short;
	return true;
}

static const struct metric metrics[] = {
	{"mounted", "gauge", "", "Whether an NFSv3 mount is there.", mounted, false},
	{"priced", "gauge", "", "Whether its server states prices that count at present.", believed,
	 false},
	{"write_price", "gauge", "", "The server's price of asynchronous writes, 0 to 1.",
	 write_price, false},
	{"readahead_price", "gauge", "", "The server's price of read-ahead, 0 to 1.",
	 readahead_price, false},
	{"own_price", "gauge", "", "Our price of the memory where written data waits.", own_price,
	 false},
	{"writes", "gauge", "way=\"normal\"", "What is done about writes: 1 at one of the ways.",
	 way_normal, false},
	{"writes", "gauge", "way=\"defer\"", "", way_defer, false},
	{"writes", "gauge", "way=\"accelerate\"", "", way_accelerate, false},
	{"deferred_bytes", "gauge", "",
	 "Dirty bytes held back: the mount's, or the machine's where debugfs is not mounted.",
	 deferred_bytes, false},
	{"readahead_bytes", "gauge", "",
	 "What read-ahead is set to; none where it is as it was found.", readahead_bytes, false},
	{"deferred_seconds_total", "counter", "", "Time for which writes were held back.",
	 deferred_seconds, false},
	{"deferrals_total", "counter", "", "How often writes began to be held back.", deferrals,
	 false},
	{"syncfs_total", "counter", "", "How often written data was sent at once.", pushes, false},
	{"replies_total", "counter", "", "Replies to FSSTAT that were looked at.", replies, false},
	{"programs_read_bytes_total", "counter", "",
	 "What programs have read, but by mmap, since it was mounted.", programs_read, false},
	{"programs_written_bytes_total", "counter", "",
	 "What programs have written, but by mmap, since it was mounted.", programs_written, false},
	{"server_read_bytes_total", "counter", "", "What came from the server.", server_read,
	 false},
	{"server_written_bytes_total", "counter", "", "What went to the server.", server_written,
	 false},
	{"reads_total", "counter", "", "READs that were sent.", reads, false},
	{"writes_total", "counter", "", "WRITEs that were sent.", writes, false},
	{"hit_ratio", "gauge", "", "Of what programs read of late, what the cache had.", hit_ratio,
	 false},
	{"readahead_effectiveness", "gauge", "",
	 "Of what was fetched since read-ahead was turned, what was read.", effectiveness, false},
	{"weight", "gauge", "", "What our prices of the mount are multiplied by.", weight, false},
	{"doubted", "gauge", "", "Whether its prices stand still or jump, and do not count.",
	 doubted, false},
	{"cache_worth", "gauge", "",
	 "The u of cached data: the hit rate of all mounts, as far as memory is short.",
	 cache_worth, true},
	{"network_ratio", "gauge", "", "Use of the network by others than these mounts.",
	 network_ratio, true},
	{"halted_groups", "gauge", "", "Control groups that halt at present.", halted, true},
	{"kept_groups", "gauge", "", "Control groups whose cached data is kept at present.", kept,
	 true},
	{"dirty_ratio", "gauge", "",
	 "The machine's dirty memory; 1 half-way between the kernel's two limits.", dirty_ratio,
	 true},
	{"memory_short", "gauge", "", "Whether little memory is left for data read ahead.",
	 memory_short, true},
};

/* ---- text -------------------------------------------------------------------------------- */

static void print_character(FILE *out, const char *at, unsigned int length)
{
	if (!length) /* no UTF-8, for which all of the file would be refused: in octal, as the kernel shows names */
		fprintf(out, "\\\\%03o", (unsigned char)*at);
	else if (*at == '\n')
		fputs("\\n", out);
	else if (*at == '"' || *at == '\\')
		fprintf(out, "\\%c", *at);
	else
		fwrite(at, 1, length, out);
}

static void print_label(FILE *out, const char *name, const char *text)
{
	const char *end = text + strlen(text);

	fprintf(out, "%s=\"", name);
	while (text < end) {
		const unsigned int length = utf8_length(text, (size_t)(end - text));

		print_character(out, text, length);
		text += length ? length : 1;
	}
	putc('"', out);
}

static void print_value(FILE *out, const struct metric *m, const struct subject *s)
{
	double value;

	if (!m->value(s, &value))
		return;
	fprintf(out, METRICS_PREFIX "%s", m->name);
	if (s->watch) {
		putc('{', out);
		print_label(out, "mount", s->watch->path);
		fprintf(out, "%s%s}", *m->label ? "," : "", m->label);
	}
	fprintf(out, " %.15g\n", value);
}

static void print_metric(struct watch_host *h, double now, const struct metric *m, FILE *out)
{
	struct subject s = {h, NULL, now};

	if (*m->help)
		fprintf(out, METRICS_BEGIN "%s %s\n# TYPE " METRICS_PREFIX "%s %s\n", m->name,
			m->help, m->name, m->type);
	if (m->of_machine) {
		print_value(out, m, &s);
		return;
	}
	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		s.watch = &h->watches[i];
		print_value(out, m, &s);
	}
}

void metrics_print(struct watch_host *h, double now, FILE *out)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		print_metric(h, now, &metrics[i], out);
}

int metrics_write(struct watch_host *h, double now, const char *path)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	int err;

	watch_read_mounts(h, now); /* where no mount is looked after nobody else does */
	if (mount_table_may_hang(&h->mounts, path))
		return EREMOTE;
	out = open_memstream(&text, &size);
	if (!out)
		return ENOMEM;
	metrics_print(h, now, out);
	err = fclose(out) ? ENOMEM : whole_file_write(path, text, 1);
	free(text);
	return err;
}
