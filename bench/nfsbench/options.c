/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line: one table of options with their ranges, which also prints the help. */
#include "options.h"
#include "command_line.h"
#include "option_table.h"
#include "udp.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_NAMES                                                                                 \
	"seq, stride, shared, random, reorder, backward, records, tiles, cursors, ends, mixed, "   \
	"write, oltp, fsstat, clients or mix"

#define FIELD(name) offsetof(struct options, name)
#define GIB	    (UINT64_C(1) << 30)

static const char *const work_names[] = {
	[WORK_SEQ] = "seq",	    [WORK_STRIDE] = "stride",	[WORK_SHARED] = "shared",
	[WORK_RANDOM] = "random",   [WORK_REORDER] = "reorder", [WORK_BACKWARD] = "backward",
	[WORK_RECORDS] = "records", [WORK_TILES] = "tiles",	[WORK_CURSORS] = "cursors",
	[WORK_ENDS] = "ends",	    [WORK_MIXED] = "mixed",	[WORK_WRITE] = "write",
	[WORK_OLTP] = "oltp",	    [WORK_FSSTAT] = "fsstat",	[WORK_CLIENTS] = "clients",
	[WORK_MIX] = "mix",
};

static int set_work(void *into, const char *text)
{
	struct options *o = into;
	int work = option_choice(work_names, WORK_SEQ, WORK_MIX, text);

	if (work < 0) {
		fprintf(stderr, "nfsbench: --work %s: must be " WORK_NAMES "\n", text);
		return -1;
	}
	o->work = (enum work)work;
	o->work_name = work_names[work];
	return 0;
}

static int set_transport(void *into, const char *text)
{
	static const char *const names[] = {[TRANSPORT_TCP] = "tcp",
					    [TRANSPORT_UDP_FIXED] = "udp",
					    [TRANSPORT_UDP_DYNAMIC] = "udp-dynamic"};
	struct options *o = into;
	int transport = option_choice(names, TRANSPORT_TCP, TRANSPORT_UDP_DYNAMIC, text);

	if (transport < 0) {
		fprintf(stderr, "nfsbench: --transport %s: must be tcp, udp or udp-dynamic\n",
			text);
		return -1;
	}
	o->transport = (enum transport)transport;
	o->transport_name = names[transport];
	return 0;
}

static int add_client(void *into, const char *text)
{
	struct options *o = into;

	if (o->client_count == MAX_CLIENTS) {
		fprintf(stderr, "nfsbench: --client: must be given 1 to %d times\n", MAX_CLIENTS);
		return -1;
	}
	return client_spec_parse(&o->clients[o->client_count++], text);
}

static int set_pieces(void *into, const char *text)
{
	return pieces_parse(&((struct options *)into)->pieces, text);
}

static const struct option_def defs[] = {
	{"server", OPTION_TEXT, FIELD(server), 0, 0, "host of the server (127.0.0.1)"},
	{"port", OPTION_NUMBER, FIELD(port), 1, 65535, "port of NFS (2049)"},
	{"mount-port", OPTION_NUMBER, FIELD(mount_port), 1, 65535, "TCP port of MOUNT (20048)"},
	{"export", OPTION_TEXT, FIELD(export_path), 0, 0, "exported path to mount"},
	{"dir", OPTION_TEXT, FIELD(dir), 0, 0, "directory below the export that holds the files"},
	{"transport", OPTION_OTHER, 0, 0, 0,
	 "of NFS (MOUNT is over TCP): tcp; udp, which sends again after --timeo; or udp-dynamic, "
	 "after A + 4D of the round trips, with a window on what is unanswered (tcp)",
	 set_transport},
	{"timeo", OPTION_NUMBER, FIELD(timeo), 20, 60000,
	 "udp: ms until a call without an answer is sent again, then twice as many (1000)"},
	{"drop", OPTION_NUMBER, FIELD(drop), 0, 90,
	 "udp: percent of the datagrams, each way, that are lost on purpose (0)"},
	{"adapt-request", OPTION_ON, FIELD(adapt_request), 0, 0,
	 "udp: READs become smaller than --request where fragments are lost"},
	{"udp-trace", OPTION_TEXT, FIELD(udp_trace), 0, 0,
	 "udp: write to this file, for each answer, CLOCK_MONOTONIC's seconds, read, write, "
	 "getattr, lookup or other, the round trip and the time to wait in ms, and sendings"},
	{"work", OPTION_OTHER, 0, 0, 0, WORK_NAMES, set_work},
	{"readers", OPTION_NUMBER, FIELD(readers), 1, MAX_READERS,
	 "readers, or writers of work write, or clients of oltp (1)"},
	{"stride", OPTION_NUMBER, FIELD(stride), 1, 4096,
	 "sequential components of a stride reader, or of the one file of work cursors, a part of "
	 "them for each reader (2)"},
	{"size", OPTION_NUMBER, FIELD(size), 4096, 1024 * GIB,
	 "bytes in all, divided among the readers; of the one file for shared; of each file for "
	 "random and --layout (256M)"},
	{"request", OPTION_NUMBER, FIELD(request), 512, MAX_REQUEST,
	 "bytes of a request, a multiple of 8 (32K)"},
	{"outstanding", OPTION_NUMBER, FIELD(outstanding), 1, 256,
	 "requests in flight of a reader (4)"},
	{"connections", OPTION_NUMBER, FIELD(connections), 1, MAX_CONNECTIONS,
	 "connections, or sockets of UDP (one for each reader)"},
	{"first-file", OPTION_NUMBER, FIELD(first_file), 0, 9999,
	 "number of the first file used (0)"},
	{"seed", OPTION_NUMBER, FIELD(seed), 0, UINT32_MAX, "seed of the files' content (1)"},
	{"order-seed", OPTION_NUMBER, FIELD(order_seed), 0, UINT32_MAX,
	 "seed of random orders (1)"},
	{"percent", OPTION_NUMBER, FIELD(percent), 0, 100,
	 "reorder: share of requests displaced (10)"},
	{"distance", OPTION_NUMBER, FIELD(distance), 1, 1024,
	 "reorder: largest displacement in requests (4)"},
	{"record", OPTION_NUMBER, FIELD(record), 512, GIB,
	 "records: bytes read at the beginning of every --every, a multiple of --request or less "
	 "(64K)"},
	{"every", OPTION_NUMBER, FIELD(every), 512, GIB,
	 "records: bytes from one to the next; tiles: of a row of the matrix (1M)"},
	{"from-end", OPTION_ON, FIELD(from_end), 0, 0, "records: the last one comes first"},
	{"tiles", OPTION_NUMBER, FIELD(tiles), 1, 64,
	 "tiles: so many beside and below each other, visited in turn, a request of each (8)"},
	{"pieces", OPTION_OTHER, 0, 0, 0,
	 "ends: BYTES@BACK,…, where BACK is from the first of them to the file's end: what is read "
	 "of each of --files, after its LOOKUP, one call at a time; the readers divide the files, "
	 "which are in random order",
	 set_pieces},
	{"count", OPTION_NUMBER, FIELD(count), 1, MAX_BLOCKS,
	 "random: reads of each reader (all blocks of the file); fsstat: calls (10000); oltp: "
	 "transactions of each client (10000)"},
	{"repeat", OPTION_ON, FIELD(repeat), 0, 0, "random: offsets may come more than once"},
	{"spread", OPTION_ON, FIELD(spread), 0, 0,
	 "shared: readers start at equal distances and wrap, instead of all at 0"},
	{"passes", OPTION_NUMBER, FIELD(passes), 1, 1000000, "seq: each file is read so often (1)"},
	{"random-readers", OPTION_NUMBER, FIELD(random_readers), 0, MAX_READERS,
	 "mixed, write: random readers beside, on the files after the others (mixed 1, write 0)"},
	{"random-request", OPTION_NUMBER, FIELD(random_request), 512, MAX_REQUEST,
	 "bytes of their requests (8K)"},
	{"random-outstanding", OPTION_NUMBER, FIELD(random_outstanding), 1, 256,
	 "requests in flight of each (1)"},
	{"random-size", OPTION_NUMBER, FIELD(random_size), 4096, 1024 * GIB,
	 "bytes of the file of each (as much as each of the others reads)"},
	{"random-finish", OPTION_ON, FIELD(random_finish), 0, 0,
	 "they do all their --count reads instead of stopping with the others"},
	{"random-from", OPTION_TEXT, FIELD(random_from), 0, 0,
	 "numeric address that they come from (whichever the kernel takes)"},
	{"writers", OPTION_NUMBER, FIELD(writers), 0, MAX_READERS,
	 "mixed: writers beside; all the others then stop with them (0)"},
	{"write-size", OPTION_NUMBER, FIELD(write_size), 4096, 1024 * GIB,
	 "bytes that each of them writes (256M)"},
	{"write-request", OPTION_NUMBER, FIELD(write_request), 512, MAX_REQUEST,
	 "bytes of their requests (256K)"},
	{"write-outstanding", OPTION_NUMBER, FIELD(write_outstanding), 1, 256,
	 "requests in flight of each (4)"},
	{"no-commit", OPTION_OFF, FIELD(commit), 0, 0, "writers do not end with COMMIT"},
	{"txn-reads", OPTION_NUMBER, FIELD(txn_reads), 1, 1024,
	 "oltp: random reads of a transaction (4)"},
	{"txn-writes", OPTION_NUMBER, FIELD(txn_writes), 1, 1024,
	 "oltp: random UNSTABLE writes of a transaction (8)"},
	{"log-request", OPTION_NUMBER, FIELD(log_request), 512, MAX_REQUEST,
	 "oltp: bytes of the FILE_SYNC write to the client's log that ends it (128K)"},
	{"log-size", OPTION_NUMBER, FIELD(log_size), 4096, 1024 * GIB,
	 "oltp: bytes of a log, which then begins again (64M)"},
	{"generation", OPTION_NUMBER, FIELD(generation), 1, 65535,
	 "oltp: how often the files were written, with this run, since --layout (1)"},
	{"client", OPTION_OTHER, 0, 0, 0, CLIENT_HELP, add_client},
	{"warm-up", OPTION_SECONDS, FIELD(warm_up), 0, 3600,
	 "clients, mix: what is answered before is not in the figures (0)"},
	{"alone", OPTION_SECONDS, FIELD(alone), 0, 3600,
	 "clients: one after another, each for so long; a tenth of it is its warm-up (0: all at "
	 "once)"},
	{"mix", OPTION_TEXT, FIELD(mix), 0, 0,
	 "mix: lookup, read-lookup (50/50), default (of Nhfsstone), or weights of operations such "
	 "as lookup=34,read=22 (lookup); on --files files of --size, in blocks of --request"},
	{"offered", OPTION_NUMBER, FIELD(offered), 1, 1000000, "mix: calls a second (100)"},
	{"even", OPTION_OFF, FIELD(poisson), 0, 0, "mix: calls at equal distances, not by chance"},
	{"rate", OPTION_NUMBER, FIELD(rate), 1, 1000000,
	 "requests a second of each reader (as fast as they are answered)"},
	{"duration", OPTION_SECONDS, FIELD(duration), 0, 86400,
	 "stop issuing requests after so many seconds (0: when done)"},
	{"max-time", OPTION_SECONDS, FIELD(max_time), 1, 86400,
	 "give up and fail after so long (600)"},
	{"stall", OPTION_SECONDS, FIELD(stall), 1, 3600,
	 "fail when no answer comes for so long (60)"},
	{"no-verify", OPTION_OFF, FIELD(verify), 0, 0, "do not compare the bytes read"},
	{"verify", OPTION_ON, FIELD(verify), 0, 0, "compare every byte read (the default)"},
	{"quiet", OPTION_ON, FIELD(quiet), 0, 0, "no progress and no table"},
	{"json", OPTION_TEXT, FIELD(json), 0, 0, "write the results to this file (- is stdout)"},
	{"prices", OPTION_TEXT, FIELD(prices), 0, 0,
	 "fsstat: write to this file, for each answer, CLOCK_MONOTONIC's seconds and the write and "
	 "the read-ahead price in it (doc/fsstat-prices.md), - where it carries none"},
	{"layout", OPTION_TEXT, FIELD(layout), 0, 0,
	 "only create files f0000 … in this local directory"},
	{"check", OPTION_TEXT, FIELD(check), 0, 0,
	 "only compare the files w0000 … in this local directory with what writers write"},
	{"files", OPTION_NUMBER, FIELD(files), 1, 10000,
	 "layout, check, mix, ends: number of files (1)"},
	{"help", OPTION_HELP, 0, 0, 0, "this text"},
};

static const struct option_table table = {
	.program = "nfsbench",
	.usage = "nfsbench --export PATH --work WORK [options]: load an NFSv3 server\n"
		 "nfsbench --layout DIR --files N --size BYTES [--seed S]: create the files to "
		 "read\n"
		 "nfsbench --check DIR --files N --size BYTES [--seed S]: compare the files "
		 "written\n",
	.after = "Bytes take the suffixes K, M and G (1024). Throughput is in 10^6 bytes a second.",
	.defs = defs,
	.count = sizeof(defs) / sizeof(defs[0]),
	.width = 20,
};

static int refuse(const char *message)
{
	fprintf(stderr, "nfsbench: %s\n", message);
	return -1;
}

static int check_clients(const struct options *o)
{
	uint64_t flows = 0;

	for (unsigned int i = 0; i < o->client_count; i++)
		flows += o->clients[i].flows;
	if (flows < 1 || flows > MAX_READERS)
		return refuse("--client: work clients needs 1 to 256 flows");
	if (!o->alone && o->duration <= o->warm_up)
		return refuse("--duration must be above --warm-up for work clients");
	return 0;
}

static int check_transport(const struct options *o)
{
	uint64_t most = UDP_LARGEST_REQUEST;

	if (o->transport == TRANSPORT_TCP)
		return !o->drop && !o->adapt_request && !o->udp_trace
			       ? 0
			       : refuse("--drop, --adapt-request and --udp-trace are for "
					"--transport "
					"udp and udp-dynamic");
	if (o->request > most || o->random_request > most || o->pieces.largest > most)
		return refuse("--request and its like must be at most 57344 over UDP");
	return 0;
}

static int check_ends(const struct options *o)
{
	if (!o->pieces.count)
		return refuse("--pieces is missing: what work ends reads of each file");
	if (o->files < o->readers)
		return refuse("--files: work ends needs at least as many as --readers");
	if (o->first_file + o->files > 10000)
		return refuse("--first-file: the last file used must be at most f9999");
	return 0;
}

static int check(const struct options *o)
{
	uint64_t flows = o->work == WORK_OLTP ? 3 * o->readers : o->readers;
	uint64_t total = flows + o->random_readers + o->writers;

	if (o->layout || o->check)
		return 0;
	if (check_transport(o))
		return -1;
	if (o->work == WORK_NONE)
		return refuse("--work is missing: " WORK_NAMES);
	if (!o->export_path)
		return refuse("--export is missing: the path the server exports");
	if (o->request % 8 || o->random_request % 8 || o->write_request % 8 || o->log_request % 8)
		return refuse("--request and its like must be multiples of 8, from 512 to 1048576");
	if (o->work == WORK_OLTP && (total > MAX_READERS || o->outstanding > 32))
		return refuse("--readers must be from 1 to 85, --outstanding from 1 to 32 for work "
			      "oltp");
	if (o->work == WORK_CLIENTS)
		return check_clients(o);
	if (o->work == WORK_ENDS)
		return check_ends(o);
	if (o->work == WORK_MIX)
		return o->duration > o->warm_up && o->connections <= 64
			       ? 0
			       : refuse("work mix needs --duration above --warm-up, and at most 64 "
					"--connections");
	if (o->random_from && o->connections)
		return refuse("--random-from: not with --connections");
	if (o->work == WORK_MIXED && !o->random_readers)
		return refuse("--random-readers must be from 1 to 256 for work mixed");
	if (o->work != WORK_MIXED && o->writers)
		return refuse("--writers are for work mixed; of work write they are its --readers");
	if (total > MAX_READERS)
		return refuse("--readers, --random-readers and --writers must not exceed 256 "
			      "together");
	if (o->work != WORK_SHARED && o->work != WORK_CURSORS && o->first_file + total > 10000)
		return refuse("--first-file: the last file used must be at most f9999");
	return 0;
}

static void defaults(struct options *o)
{
	*o = (struct options){
		.server = "127.0.0.1",
		.port = 2049,
		.transport_name = "tcp",
		.timeo = 1000,
		.mount_port = 20048,
		.readers = 1,
		.stride = 2,
		.passes = 1,
		.record = 64u << 10,
		.every = 1u << 20,
		.tiles = 8,
		.size = 256u << 20,
		.request = 32u << 10,
		.outstanding = 4,
		.seed = 1,
		.order_seed = 1,
		.percent = 10,
		.distance = 4,
		.random_readers = UINT64_MAX,
		.random_request = 8u << 10,
		.random_outstanding = 1,
		.write_size = 256u << 20,
		.write_request = 256u << 10,
		.write_outstanding = 4,
		.commit = true,
		.txn_reads = 4,
		.txn_writes = 8,
		.log_request = 128u << 10,
		.log_size = 64u << 20,
		.generation = 1,
		.mix = "lookup",
		.offered = 100,
		.poisson = true,
		.verify = true,
		.max_time = 600,
		.stall = 60,
		.files = 1,
	};
}

int options_parse(struct options *o, int argc, char **argv)
{
	int rc;

	defaults(o);
	o->command = command_line_text(argc, argv);
	rc = option_table_parse(&table, o, argc, argv);
	if (rc)
		return rc;
	if (optind < argc) {
		fprintf(stderr, "nfsbench: %s: options only, see --help\n", argv[optind]);
		return -1;
	}
	/* Only two works know random readers beside their own; mixed is not mixed without. */
	if (o->work != WORK_MIXED && o->work != WORK_WRITE)
		o->random_readers = 0;
	else if (o->random_readers == UINT64_MAX)
		o->random_readers = o->work == WORK_MIXED;
	return check(o);
}
