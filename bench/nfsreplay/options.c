/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line: one table of options with their ranges, which also prints the help. */
#include "options.h"

#include "nfsbench/command_line.h"
#include "nfsbench/option_table.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct replay_options, name)

static int set_pace(void *into, const char *text)
{
	static const char *const names[] = {"recorded", "think", "fast"};
	int pace = option_choice(names, 0, 2, text);

	if (pace < 0) {
		fprintf(stderr, "nfsreplay: --pace %s: must be recorded, think or fast\n", text);
		return -1;
	}
	((struct replay_options *)into)->pace = (enum schedule_pace)pace;
	return 0;
}

static const struct option_def defs[] = {
	{"server", OPTION_TEXT, FIELD(server), 0, 0, "host of the server (127.0.0.1)"},
	{"port", OPTION_NUMBER, FIELD(port), 1, 65535, "TCP port of NFS (2049)"},
	{"mount-port", OPTION_NUMBER, FIELD(mount_port), 1, 65535, "TCP port of MOUNT (20048)"},
	{"export", OPTION_TEXT, FIELD(export_path), 0, 0, "exported path to mount"},
	{"dir", OPTION_TEXT, FIELD(dir), 0, 0,
	 "directory below the export that the trace's paths are in"},
	{"from", OPTION_TEXT, FIELD(from), 0, 0,
	 "numeric IPv4 address that the trace's first client comes from, the second from the next, "
	 "… "
	 "(all from whichever the kernel takes)"},
	{"pace", OPTION_OTHER, 0, 0, 0,
	 "recorded: at the recorded times, whatever was answered; think: after the answers that "
	 "each client had, with its think time; fast: at once after them (recorded)",
	 set_pace},
	{"speed", OPTION_REAL, FIELD(speed), 0.001, 1000,
	 "times and think times divided by this (1)"},
	{"outstanding", OPTION_NUMBER, FIELD(outstanding), 1, 256,
	 "requests of a client under way at most (64)"},
	{"duration", OPTION_REAL, FIELD(duration), 0, 86400,
	 "send nothing more after so many seconds (0: all of the trace)"},
	{"max-time", OPTION_REAL, FIELD(max_time), 1, 31622400,
	 "give up and fail after seconds (86400)"},
	{"stall", OPTION_REAL, FIELD(stall), 1, 3600, "fail when no answer comes for seconds (60)"},
	{"seed", OPTION_NUMBER, FIELD(seed), 0, UINT32_MAX, "seed of the files' content (1)"},
	{"no-verify", OPTION_OFF, FIELD(verify), 0, 0, "do not compare the bytes read"},
	{"quiet", OPTION_ON, FIELD(quiet), 0, 0, "no progress and no table"},
	{"json", OPTION_TEXT, FIELD(json), 0, 0, "write the results to this file (- is stdout)"},
	{"log", OPTION_TEXT, FIELD(log), 0, 0,
	 "write to this file a line for each operation: its line in the trace, client, name, and "
	 "when it was due, sent and answered (µs), and its status"},
	{"prepare", OPTION_TEXT, FIELD(prepare), 0, 0,
	 "only make the files and directories that the trace needs in this local directory"},
	{"check", OPTION_TEXT, FIELD(check), 0, 0,
	 "only compare this local directory with what the whole trace leaves there"},
	{"plan", OPTION_ON, FIELD(plan), 0, 0, "only read the trace, and say what is in it"},
	{"help", OPTION_HELP, 0, 0, 0, "this text"},
};

static const struct option_table table = {
	.program = "nfsreplay",
	.usage = "nfsreplay --export PATH [options] TRACE: replay a trace of NFSv3 operations "
		 "(doc/traces.md)\n"
		 "nfsreplay --prepare DIR TRACE: lay out the files that it needs\n"
		 "nfsreplay --check DIR TRACE: compare what it left\n",
	.defs = defs,
	.count = sizeof(defs) / sizeof(defs[0]),
	.width = 12,
};

static int refuse(const char *message)
{
	fprintf(stderr, "nfsreplay: %s\n", message);
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
	rc = option_table_parse(&table, o, argc, argv);
	if (rc)
		return rc;
	if (optind < argc)
		o->trace = argv[optind++];
	return optind < argc ? refuse("one trace at a time, see --help") : check(o);
}
