/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line. See options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

static const char usage[] =
	"usage: canfs --server ADDRESS --port N --mount-port N --export PATH --group SPEC...\n"
	"       canfs --layout DIRECTORY --group SPEC...      lay their files out there\n"
	"       canfs --server ... --script                   commands on standard input\n"
	"\n"
	"NFSv3 clients, each with a cache, read-ahead and write-behind; as plain NFS or CA-NFS.\n"
	"  --clients N           how many, 1 to 64 (as many as groups name)\n"
	"  --from ADDRESS        of the first client; the others have the next ones\n"
	"  --mode plain|ca       (plain)\n"
	"  --memory BYTES        page cache of a client (64M)\n"
	"  --flush-point SHARE   of memory that may be unsaved before write-back begins (0.1)\n"
	"  --dirty-limit SHARE   plain: ... before writers wait (0.4)\n"
	"  --dirty-most SHARE    ca: ... where the read cache can spare it (0.8)\n"
	"  --rsize, --wsize BYTES (32K)      --readahead BYTES, at most (480K)\n"
	"  --slots N             calls at a time (16)\n"
	"  --no-eager            plain: data goes out at the flush point, not when there is a "
	"WRITE\n"
	"  --no-defer, --no-accelerate, --no-price-readahead   ca: without that\n"
	"  --lazy-close          close saves nothing: as with a delegation, not close-to-open\n"
	"  --k-dirty, --k-worth, --k-network K   steepness of a client's own prices\n"
	"  --price-min P         a client's lowest price (0.05)\n"
	"  --link BYTES          a second, of a client's network (0: not known)\n"
	"  --fsstat-ms MS        at most between two questions for prices (10000)\n"
	"  --group SPEC          work=NAME,clients=A-B,threads=N,...: see bench/canfs/work.h\n"
	"  --seconds S           the load lasts so long at most (to its end)\n"
	"  --warmup S            not counted\n"
	"  --seed N              (1)         --no-verify\n"
	"  --json FILE           results (standard output)\n"
	"  --tell                says \"over\" on standard output when nothing counts any more, "
	"and "
	"only what\n"
	"                        is under way goes on\n";

enum {
	SERVER = 256,
	PORT,
	MOUNT_PORT,
	EXPORT,
	CLIENTS,
	FROM,
	MODE,
	MEMORY,
	FLUSH_POINT,
	DIRTY_LIMIT,
	DIRTY_MOST,
	RSIZE,
	WSIZE,
	READAHEAD,
	SLOTS,
	NO_EAGER,
	NO_DEFER,
	NO_ACCELERATE,
	NO_PRICE_READAHEAD,
	LAZY_CLOSE,
	K_DIRTY,
	K_WORTH,
	K_NETWORK,
	PRICE_MIN,
	LINK,
	FSSTAT_MS,
	GROUP,
	SECONDS,
	WARMUP,
	SEED,
	NO_VERIFY,
	JSON,
	TELL,
	LAYOUT,
	SCRIPT,
	HELP
};

static const struct option table[] = {
	{"server", 1, NULL, SERVER},
	{"port", 1, NULL, PORT},
	{"mount-port", 1, NULL, MOUNT_PORT},
	{"export", 1, NULL, EXPORT},
	{"clients", 1, NULL, CLIENTS},
	{"from", 1, NULL, FROM},
	{"mode", 1, NULL, MODE},
	{"memory", 1, NULL, MEMORY},
	{"flush-point", 1, NULL, FLUSH_POINT},
	{"dirty-limit", 1, NULL, DIRTY_LIMIT},
	{"dirty-most", 1, NULL, DIRTY_MOST},
	{"rsize", 1, NULL, RSIZE},
	{"wsize", 1, NULL, WSIZE},
	{"readahead", 1, NULL, READAHEAD},
	{"slots", 1, NULL, SLOTS},
	{"no-eager", 0, NULL, NO_EAGER},
	{"no-defer", 0, NULL, NO_DEFER},
	{"no-accelerate", 0, NULL, NO_ACCELERATE},
	{"no-price-readahead", 0, NULL, NO_PRICE_READAHEAD},
	{"lazy-close", 0, NULL, LAZY_CLOSE},
	{"k-dirty", 1, NULL, K_DIRTY},
	{"k-worth", 1, NULL, K_WORTH},
	{"k-network", 1, NULL, K_NETWORK},
	{"price-min", 1, NULL, PRICE_MIN},
	{"link", 1, NULL, LINK},
	{"fsstat-ms", 1, NULL, FSSTAT_MS},
	{"group", 1, NULL, GROUP},
	{"seconds", 1, NULL, SECONDS},
	{"warmup", 1, NULL, WARMUP},
	{"seed", 1, NULL, SEED},
	{"no-verify", 0, NULL, NO_VERIFY},
	{"json", 1, NULL, JSON},
	{"tell", 0, NULL, TELL},
	{"layout", 1, NULL, LAYOUT},
	{"script", 0, NULL, SCRIPT},
	{"help", 0, NULL, HELP},
	{NULL},
};

static int bad(const char *option, const char *value, const char *why)
{
	fprintf(stderr, "canfs: --%s %s: %s\n", option, value, why);
	return 1;
}

static int integer(const char *option, const char *text, uint64_t *value)
{
	return options_number(text, value) ? bad(option, text, "a number is needed") : 0;
}

static int integer32(const char *option, const char *text, uint32_t *value)
{
	uint64_t n;

	if (integer(option, text, &n))
		return 1;
	if (n > 1u << 30)
		return bad(option, text, "must be at most 1G");
	*value = (uint32_t)n;
	return 0;
}

static int real(const char *option, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end == text || *end || !(*value >= 0) ? bad(option, text, "a number is needed") : 0;
}

static int add_group(struct run_options *o, const char *text)
{
	struct group_spec *g = &o->groups[o->n_groups];
	const char *wrong = o->n_groups < RUN_GROUPS ? group_parse(text, g) : "too many groups: 16";

	if (!wrong && g->last >= RUN_CLIENTS)
		wrong = "clients: must be from 0 to 63";
	if (wrong)
		return bad("group", text, wrong);
	if (g->last >= o->clients)
		o->clients = g->last + 1;
	o->n_groups++;
	return 0;
}

static int set_client(struct client_settings *s, int key, const char *name, const char *text)
{
	uint64_t n;

	switch (key) {
	case MEMORY:
		return integer(name, text, &s->memory);
	case FLUSH_POINT:
		return real(name, text, &s->flush_point);
	case DIRTY_LIMIT:
		return real(name, text, &s->dirty_limit);
	case DIRTY_MOST:
		return real(name, text, &s->dirty_most);
	case RSIZE:
		return integer32(name, text, &s->rsize);
	case WSIZE:
		return integer32(name, text, &s->wsize);
	case READAHEAD:
		return integer32(name, text, &s->readahead);
	case SLOTS:
		return integer32(name, text, &s->slots);
	case K_DIRTY:
		return real(name, text, &s->terms.k_dirty);
	case K_WORTH:
		return real(name, text, &s->terms.k_worth);
	case K_NETWORK:
		return real(name, text, &s->terms.k_network);
	case PRICE_MIN:
		return real(name, text, &s->terms.price_min);
	case LINK:
		return real(name, text, &s->link);
	case FSSTAT_MS:
		if (integer(name, text, &n))
			return 1;
		s->fsstat_interval = n * 1000000;
		return 0;
	case MODE:
		s->ca = strcmp(text, "ca") == 0;
		return s->ca || strcmp(text, "plain") == 0
			       ? 0
			       : bad(name, text, "plain or ca is needed");
	default:
		return -1;
	}
}

static int set_port(const char *name, const char *text, int *port)
{
	uint64_t n;

	if (integer(name, text, &n) || n < 1 || n > 65535)
		return bad(name, text, "must be from 1 to 65535");
	*port = (int)n;
	return 0;
}

static int set_run(struct options *o, int key, const char *name, const char *text)
{
	switch (key) {
	case SERVER:
		o->run.server = text;
		return 0;
	case PORT:
		return set_port(name, text, &o->run.port);
	case MOUNT_PORT:
		return set_port(name, text, &o->run.mount_port);
	case EXPORT:
		o->run.path = text;
		return 0;
	case CLIENTS:
		return integer(name, text, &o->run.clients);
	case FROM:
		snprintf(o->run.from, sizeof(o->run.from), "%s", text);
		return 0;
	case GROUP:
		return add_group(&o->run, text);
	case SECONDS:
		return real(name, text, &o->run.seconds);
	case WARMUP:
		return real(name, text, &o->run.warmup);
	case SEED:
		return integer(name, text, &o->run.seed);
	case JSON:
		o->json = text;
		return 0;
	default:
		o->layout = text;
		return 0;
	}
}

static void set_flag(struct options *o, int key)
{
	struct client_settings *s = &o->run.settings;

	s->eager = s->eager && key != NO_EAGER;
	s->defer = s->defer && key != NO_DEFER;
	s->accelerate = s->accelerate && key != NO_ACCELERATE;
	s->price_readahead = s->price_readahead && key != NO_PRICE_READAHEAD;
	s->lazy_close = s->lazy_close || key == LAZY_CLOSE;
	o->run.verify = o->run.verify && key != NO_VERIFY;
	o->run.tell = o->run.tell || key == TELL;
	o->script = o->script || key == SCRIPT;
}

static int check(const struct options *o)
{
	const char *wrong = client_settings_bad(&o->run.settings);

	if (!wrong && (o->run.clients < 1 || o->run.clients > RUN_CLIENTS))
		wrong = "clients: must be from 1 to 64";
	if (!wrong && !o->script && !o->run.n_groups)
		wrong = "a --group is needed";
	if (!wrong && !o->layout &&
	    !(o->run.server && o->run.port && o->run.mount_port && o->run.path))
		wrong = "--server, --port, --mount-port and --export are needed";
	if (wrong)
		fprintf(stderr, "canfs: %s\n", wrong);
	return wrong ? 3 : 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
	int key, at, wrong;

	*o = (struct options){
		.run = {.settings = client_defaults, .clients = 1, .seed = 1, .verify = true}};
	while ((key = getopt_long(argc, argv, "", table, &at)) != -1) {
		if (key == HELP) {
			fputs(usage, stdout);
			return 1;
		}
		if (key == '?')
			return 3;
		if (!table[at].has_arg) {
			set_flag(o, key);
			continue;
		}
		wrong = set_client(&o->run.settings, key, table[at].name, optarg);
		if (wrong < 0)
			wrong = set_run(o, key, table[at].name, optarg);
		if (wrong)
			return 3;
	}
	if (optind < argc)
		fprintf(stderr, "canfs: %s: no such option\n", argv[optind]);
	return optind < argc ? 3 : check(o);
}
