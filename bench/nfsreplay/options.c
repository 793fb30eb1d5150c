/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line: one table of options with their ranges, which also prints the help. */
#include "options.h"

#include "nfsbench/command_line.h"
#include "nfsbench/number.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, REAL, TEXT, ON, OFF, PACE };

struct option_def {
	const char *name;
	enum kind kind;
	size_t field;
	double min, max;
	const char *help;
};

#define FIELD(name) offsetof(struct replay_options, name)

static const struct option_def defs[] = {
	{"server", TEXT, FIELD(server), 0, 0, "host of the server (127.0.0.1)"},
	{"port", NUMBER, FIELD(port), 1, 65535, "TCP port of NFS (2049)"},
	{"mount-port", NUMBER, FIELD(mount_port), 1, 65535, "TCP port of MOUNT (20048)"},
	{"export", TEXT, FIELD(export_path), 0, 0, "exported path to mount"},
	{"dir", TEXT, FIELD(dir), 0, 0, "directory below the export that the trace's paths are in"},
	{"from", TEXT, FIELD(from), 0, 0,
	 "numeric IPv4 address that the trace's first client comes from, the second from the next, "
	 "… "
	 "(all from whichever the kernel takes)"},
	{"pace", PACE, 0, 0, 0,
	 "recorded: at the recorded times, whatever was answered; think: after the answers that "
	 "each client had, with its think time; fast: at once after them (recorded)"},
	{"speed", REAL, FIELD(speed), 0.001, 1000, "times and think times divided by this (1)"},
	{"outstanding", NUMBER, FIELD(outstanding), 1, 256,
	 "requests of a client under way at most (64)"},
	{"duration", REAL, FIELD(duration), 0, 86400,
	 "send nothing more after so many seconds (0: all of the trace)"},
	{"max-time", REAL, FIELD(max_time), 1, 31622400, "give up and fail after seconds (86400)"},
	{"stall", REAL, FIELD(stall), 1, 3600, "fail when no answer comes for seconds (60)"},
	{"seed", NUMBER, FIELD(seed), 0, UINT32_MAX, "seed of the files' content (1)"},
	{"no-verify", OFF, FIELD(verify), 0, 0, "do not compare the bytes read"},
	{"quiet", ON, FIELD(quiet), 0, 0, "no progress and no table"},
	{"json", TEXT, FIELD(json), 0, 0, "write the results to this file (- is stdout)"},
	{"log", TEXT, FIELD(log), 0, 0,
	 "write to this file a line for each operation: its line in the trace, client, name, and "
	 "when it was due, sent and answered (µs), and its status"},
	{"prepare", TEXT, FIELD(prepare), 0, 0,
	 "only make the files and directories that the trace needs in this local directory"},
	{"check", TEXT, FIELD(check), 0, 0,
	 "only compare this local directory with what the whole trace leaves there"},
	{"plan", ON, FIELD(plan), 0, 0, "only read the trace, and say what is in it"},
	{"help", ON, 0, 0, 0, "this text"},
};

#define DEFS (sizeof(defs) / sizeof(defs[0]))

static void help(void)
{
	puts("nfsreplay --export PATH [options] TRACE: replay a trace of NFSv3 operations "
	     "(doc/traces.md)\n"
	     "nfsreplay --prepare DIR TRACE: lay out the files that it needs\n"
	     "nfsreplay --check DIR TRACE: compare what it left\n");
	for (size_t i = 0; i < DEFS; i++) {
		const struct option_def *d = &defs[i];

		printf("  --%-12s %s", d->name, d->help);
		if (d->kind == NUMBER || d->kind == REAL)
			printf(" [%.15g … %.15g]", d->min, d->max);
		putchar('\n');
	}
}

static int refuse(const char *message)
{
	fprintf(stderr, "nfsreplay: %s\n", message);
	return -1;
}

static int set_number(const struct option_def *d, void *field, const char *text)
{
	char *end = NULL;
	double real = d->kind == REAL ? strtod(text, &end) : 0;
	uint64_t v = 0;

	if (d->kind == NUMBER && !options_number(text, &v))
		real = (double)v;
	else if (d->kind == NUMBER || end == text || *end)
		real = -1;
	if (!(real >= d->min) || !(real <= d->max)) {
		fprintf(stderr, "nfsreplay: --%s %s: must be a number from %.15g to %.15g\n",
			d->name, text, d->min, d->max);
		return -1;
	}
	if (d->kind == NUMBER)
		*(uint64_t *)field = v;
	else
		*(double *)field = real;
	return 0;
}

static int set_pace(struct replay_options *o, const char *text)
{
	static const char *const names[] = {"recorded", "think", "fast"};

	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			o->pace = (enum schedule_pace)i;
			return 0;
		}
	}
	fprintf(stderr, "nfsreplay: --pace %s: must be recorded, think or fast\n", text);
	return -1;
}

static int set(struct replay_options *o, const struct option_def *d, const char *text)
{
	void *field = (char *)o + d->field;

	switch (d->kind) {
	case NUMBER:
	case REAL:
		return set_number(d, field, text);
	case TEXT:
		*(const char **)field = text;
		return 0;
	case PACE:
		return set_pace(o, text);
	case ON:
	case OFF:
		*(bool *)field = d->kind == ON;
		return 0;
	}
	return -1;
}

static int check(const struct replay_options *o)
{
	struct in_addr address;

	if (!o->trace)
		return refuse("the trace is missing, see --help");
	if (!o->export_path && !o->prepare && !o->check && !o->plan)
		return refuse("--export is missing: the path the server exports");
	if (o->from && inet_pton(AF_INET, o->from, &address) != 1)
		return refuse("--from: must be a numeric IPv4 address, as 127.0.0.2");
	return 0;
}

static int parse_all(struct replay_options *o, int argc, char **argv)
{
	struct option longs[DEFS + 1] = {{0}};
	int index = 0, c;

	for (size_t i = 0; i < DEFS; i++) {
		longs[i].name = defs[i].name;
		longs[i].has_arg =
			defs[i].kind == ON || defs[i].kind == OFF ? no_argument : required_argument;
	}
	while ((c = getopt_long(argc, argv, "h", longs, &index)) != -1) {
		if (c == 'h' || (c == 0 && strcmp(defs[index].name, "help") == 0)) {
			help();
			return 1;
		}
		if (c != 0)
			return refuse("see nfsreplay --help");
		if (set(o, &defs[index], optarg))
			return -1;
	}
	if (optind < argc)
		o->trace = argv[optind++];
	return optind < argc ? refuse("one trace at a time, see --help") : 0;
}

int replay_options_parse(struct replay_options *o, int argc, char **argv)
{
	int rc;

	*o = (struct replay_options){
		.server = "127.0.0.1",
		.port = 2049,
		.mount_port = 20048,
		.speed = 1,
		.outstanding = 64,
		.seed = 1,
		.verify = true,
		.max_time = 86400,
		.stall = 60,
	};
	o->command = command_line_text(argc, argv);
	rc = parse_all(o, argc, argv);
	return rc ? rc : check(o);
}
