/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See options.h. */
#include "control/options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const only_for[] = {
	"--reset is for stats",
	"--follow and --events are for trace",
	"--interval, --by and --sort are for clients and top",
	"--batch and -n are for top",
	"", /* those of --interval and --by alone: TAKES_ROWS is given too */
	"",
	"--output is for metrics",
	"--root is for advise",
	"--clients is for metrics",
};

const char *options_only_for(unsigned int given)
{
	return only_for[__builtin_ctz(given)];
}

/* A number of seconds as ms; false: not 0.1 to 3600. */
static bool parse_interval(struct options *o, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s * 1000 >= TOP_INTERVAL_MIN && s * 1000 <= TOP_INTERVAL_MAX))
		return false;
	o->top.interval = (uint64_t)(s * 1000);
	o->given |= TAKES_ROWS | TAKES_INTERVAL;
	return true;
}

static bool parse_count(struct options *o, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || n < 1 || n > TOP_COUNT_MAX)
		return false;
	o->top.count = n;
	o->given |= TAKES_BATCH;
	return true;
}

/* Which of N names TEXT is; false: none. */
static bool parse_name(int *which, const char *text, const char *const *names, int n)
{
	for (*which = 0; *which < n; ++*which)
		if (!strcmp(names[*which], text))
			return true;
	return false;
}

static bool parse_by(struct options *o, const char *text)
{
	int which;

	if (!parse_name(&which, text, rows_by_names, ROWS_BY))
		return false;
	o->top.by = (enum rows_by)which;
	o->given |= TAKES_ROWS | TAKES_BY;
	return true;
}

static bool parse_sort(struct options *o, const char *text)
{
	int which;

	if (!parse_name(&which, text, rows_order_names, ORDERS))
		return false;
	o->top.order = (enum rows_order)which;
	o->given |= TAKES_ROWS;
	return true;
}

static bool parse_clients(struct options *o, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || n < 1 || n > METRICS_CLIENTS_MAX)
		return false;
	o->clients = (unsigned int)n;
	o->given |= TAKES_CLIENTS;
	return true;
}

/* The options of `clients` and `top`, and those with a number; NULL, or what is wrong with the argument. */
static const char *parse_row_option(struct options *o, int option)
{
	switch (option) {
	case 'i':
		return parse_interval(o, optarg) ? NULL : "--interval is 0.1 to 3600 s, not ";
	case 'n':
		return parse_count(o, optarg) ? NULL : "-n is 1 to 1000000000, not ";
	case 'c':
		return parse_clients(o, optarg) ? NULL : "--clients is 1 to 64, not ";
	case 'y':
		return parse_by(o, optarg) ? NULL
					   : "--by is client, export, device, flow or file, not ";
	default:
		return parse_sort(o, optarg) ? NULL
					     : "--sort is share, bandwidth, iops or latency, not ";
	}
}

/* An option without one of the values above; false: there is none such. */
static bool parse_option(struct options *o, int option)
{
	switch (option) {
	case 's':
		o->socket = optarg;
		return true;
	case 'j':
		return o->json = true;
	case 'r':
		o->given |= TAKES_RESET;
		return o->reset = true;
	case 'f':
		o->given |= TAKES_TRACE;
		return o->follow = true;
	case 'e':
		o->given |= TAKES_TRACE;
		o->events = optarg;
		return true;
	case 'w':
		o->given |= TAKES_OUTPUT;
		o->output = optarg;
		return true;
	case 'R':
		o->given |= TAKES_ROOT;
		o->root = optarg;
		return true;
	case 'b':
		o->given |= TAKES_BATCH;
		return o->batch = true;
	}
	return false;
}

static enum options_read apply(struct options *o, int option)
{
	if (option == 'h')
		return OPTIONS_HELP;
	if (strchr("inyoc", option)) {
		o->wrong = parse_row_option(o, option);
		o->argument = optarg;
		return o->wrong ? OPTIONS_WRONG : OPTIONS_READ;
	}
	return parse_option(o, option) ? OPTIONS_READ : OPTIONS_WRONG;
}

enum options_read options_parse(struct options *o, int argc, char **argv)
{
	static const struct option long_options[] = {
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"reset", no_argument, NULL, 'r'},
		{"follow", no_argument, NULL, 'f'},
		{"events", required_argument, NULL, 'e'},
		{"interval", required_argument, NULL, 'i'},
		{"by", required_argument, NULL, 'y'},
		{"sort", required_argument, NULL, 'o'},
		{"batch", no_argument, NULL, 'b'},
		{"clients", required_argument, NULL, 'c'},
		{"output", required_argument, NULL, 'w'},
		{"root", required_argument, NULL, 'R'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	enum options_read done = OPTIONS_READ;
	int option;

	while (done == OPTIONS_READ &&
	       (option = getopt_long(argc, argv, "s:jfe:i:bn:h", long_options, NULL)) != -1)
		done = apply(o, option);
	return done;
}
