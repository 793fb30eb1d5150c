/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From the options to flows: who reads which file, in what order. */
#include "load.h"
#include "content.h"
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t block_count(const struct flow *f)
{
	return (uint32_t)((f->size + f->request - 1) / f->request);
}

static int order_random(struct flow *f, const struct options *o, uint64_t limit, struct prng *prng)
{
	uint64_t blocks = (f->size + f->request - 1) / f->request;
	uint64_t count = limit ? limit : blocks;

	if (blocks > MAX_BLOCKS || (!o->repeat && count > blocks)) {
		fprintf(stderr, "nfsbench: --count %llu: the file has %llu blocks (use --repeat)\n",
			(unsigned long long)count, (unsigned long long)blocks);
		return -1;
	}
	if (order_allocate(f, count))
		return -1;
	if (!o->repeat)
		return pattern_random(f->order, f->blocks, (uint32_t)blocks, prng);
	pattern_random_repeat(f->order, f->blocks, (uint32_t)blocks, prng);
	return 0;
}

static int order_stride(struct flow *f, const struct options *o)
{
	if (o->stride > f->blocks) {
		fprintf(stderr, "nfsbench: --stride %llu: must be 1 to the file's %u requests\n",
			(unsigned long long)o->stride, f->blocks);
		return -1;
	}
	pattern_stride(f->order, f->blocks, (uint32_t)o->stride);
	return 0;
}

/* Whether the options of works records and tiles fit the file; says what does not. */
static bool records_fit(const struct flow *f, const struct options *o)
{
	uint64_t unit = o->record <= o->request ? o->every : o->request;

	if (o->work == WORK_RECORDS && o->record <= o->every && o->every % unit == 0 &&
	    (o->record <= o->request || o->record % o->request == 0))
		return true;
	if (o->work == WORK_TILES && o->every % (o->request * o->tiles) == 0 &&
	    f->size >= o->every * o->tiles)
		return true;
	fprintf(stderr,
		"nfsbench: --record, --every, --request: a record at most --every, in whole "
		"requests "
		"or in one; a row in as many requests as --tiles or a multiple, as many rows\n");
	return false;
}

static int order_records(struct flow *f, const struct options *o)
{
	uint32_t requests = 1;

	if (o->record <= o->request) {
		f->request = (uint32_t)o->record;
		f->unit = o->every;
		f->blocks = (uint32_t)((f->size - f->request) / f->unit + 1);
		pattern_sequential(f->order, f->blocks, 0);
	} else {
		requests = (uint32_t)(o->record / o->request);
		f->blocks = pattern_records(f->order, f->blocks, requests,
					    (uint32_t)(o->every / o->request));
	}
	if (o->from_end) {
		f->blocks -= f->blocks % requests; /* the file's last record may be cut short */
		pattern_groups_from_end(f->order, f->blocks, requests);
	}
	return 0;
}

/* Works within one file that are neither forward nor random. */
static int order_within(struct flow *f, const struct options *o, unsigned int index)
{
	if (o->work == WORK_BACKWARD) {
		pattern_backward(f->order, f->blocks);
		return 0;
	}
	if (o->work == WORK_CURSORS) {
		if (o->stride < o->readers || o->stride > f->blocks) {
			fprintf(stderr,
				"nfsbench: --stride %llu: must be --readers to the file's %u "
				"requests\n",
				(unsigned long long)o->stride, f->blocks);
			return -1;
		}
		f->blocks = pattern_cursors(f->order, f->blocks, (uint32_t)o->stride, index,
					    (uint32_t)o->readers);
		return 0;
	}
	if (!records_fit(f, o))
		return -1;
	if (o->work == WORK_RECORDS)
		return order_records(f, o);
	f->blocks = pattern_tiles(f->order, f->blocks, (uint32_t)(o->every / o->request),
				  (uint32_t)o->tiles);
	return 0;
}

static int order_passes(struct flow *f, uint64_t passes)
{
	uint32_t blocks = block_count(f);

	if (order_allocate(f, passes * blocks))
		return -1;
	for (uint32_t i = 0; i < f->blocks; i++)
		f->order[i] = i % blocks;
	return 0;
}

/* The order of reader number `index` of the work itself. */
static int order_flow(struct flow *f, const struct options *o, unsigned int index,
		      struct prng *prng)
{
	if (o->work == WORK_RANDOM)
		return order_random(f, o, o->count, prng);
	if (o->work == WORK_SEQ)
		return order_passes(f, o->passes);
	if (order_allocate(f, block_count(f)))
		return -1;
	if (o->work == WORK_STRIDE)
		return order_stride(f, o);
	if (o->work >= WORK_BACKWARD && o->work <= WORK_CURSORS)
		return order_within(f, o, index);
	if (o->work == WORK_REORDER)
		pattern_reorder(f->order, f->blocks, (uint32_t)o->percent, (uint32_t)o->distance,
				prng);
	else if (o->work == WORK_SHARED && o->spread)
		pattern_sequential(f->order, f->blocks,
				   (uint32_t)(index * (uint64_t)f->blocks / o->readers));
	else
		pattern_sequential(f->order, f->blocks, 0);
	return 0;
}

static void make_writer(struct flow *f, const struct options *o)
{
	f->op = FLOW_WRITE;
	f->creates = true;
	f->commit = o->commit;
}

static int plan_main(struct load *load, struct flow *f, unsigned int index)
{
	const struct options *o = load->options;
	bool one = o->work == WORK_SHARED || o->work == WORK_CURSORS;
	bool whole = one || o->work == WORK_RANDOM;
	struct prng prng;

	prng_init(&prng, o->order_seed * 1024 + index);
	f->group = 0;
	if (o->work == WORK_WRITE)
		make_writer(f, o);
	f->background = o->writers > 0;
	f->file = (uint32_t)(o->first_file + (one ? 0 : index));
	f->size = whole ? o->size : o->size / o->readers / 8 * 8;
	f->request = (uint32_t)o->request;
	f->outstanding = (uint32_t)o->outstanding;
	return order_flow(f, o, index, &prng);
}

/* A random reader beside the others: on a file of the same size, as long as they run. */
static int plan_random(struct load *load, struct flow *f, unsigned int index)
{
	const struct options *o = load->options;
	struct prng prng;

	prng_init(&prng, o->order_seed * 1024 + index);
	f->group = 1;
	f->background = !o->random_finish;
	f->file = (uint32_t)(o->first_file + index);
	f->size = o->random_size ? o->random_size : o->size / o->readers / 8 * 8;
	f->request = (uint32_t)o->random_request;
	f->outstanding = (uint32_t)o->random_outstanding;
	return order_random(f, o, o->count, &prng);
}

/* A writer beside streams, which stop when it is done. */
static int plan_writer(struct load *load, struct flow *f, unsigned int index)
{
	const struct options *o = load->options;

	f->group = 2;
	make_writer(f, o);
	f->file = (uint32_t)(o->first_file + index);
	f->size = o->write_size / 8 * 8;
	f->request = (uint32_t)o->write_request;
	f->outstanding = (uint32_t)o->write_outstanding;
	if (order_allocate(f, block_count(f)))
		return -1;
	pattern_sequential(f->order, f->blocks, 0);
	return 0;
}

/* Of a client: its random reads, its random writes of the same file, its log. */
static int plan_oltp(struct load *load, struct flow *f, unsigned int index)
{
	const struct options *o = load->options;
	uint64_t transactions = o->count ? o->count : 10000;
	struct client *c = &load->clients[index / 3];
	struct prng prng;
	bool log = index % 3 == 2;

	prng_init(&prng, o->order_seed * 1024 + index);
	f->group = index % 3;
	f->client = c;
	f->op = f->group ? FLOW_WRITE : FLOW_READ;
	f->creates = f->stable = log;
	f->commit = f->group == 1 && o->commit;
	f->file = (uint32_t)(o->first_file + index / 3);
	f->request = (uint32_t)(log ? o->log_request : o->request);
	f->size = (log ? o->log_size : o->size / o->readers) / f->request * f->request;
	f->outstanding = log ? 1 : (uint32_t)o->outstanding;
	f->per_transaction = (uint32_t)(log ? 1 : f->group ? o->txn_writes : o->txn_reads);
	if (f->size / f->request < (log ? 1 : 64) || f->size / f->request > MAX_BLOCKS) {
		fprintf(stderr,
			"nfsbench: --size, --log-size: a client's file must have 64 to %u "
			"requests, "
			"its log 1\n",
			MAX_BLOCKS);
		return -1;
	}
	if (order_allocate(f, transactions * f->per_transaction))
		return -1;
	if (!log)
		pattern_random_repeat(f->order, f->blocks, block_count(f), &prng);
	for (uint32_t i = 0; log && i < f->blocks; i++)
		f->order[i] = i % block_count(f);
	return f->group ? 0 : blocks_init(&c->blocks, block_count(f));
}

/* FSSTAT carries no bytes: its order is only as long as there are calls. */
static int plan_fsstat(struct load *load, struct flow *f)
{
	const struct options *o = load->options;

	f->op = FLOW_FSSTAT;
	f->outstanding = (uint32_t)o->outstanding;
	if (order_allocate(f, o->count ? o->count : 10000))
		return -1;
	memset(f->order, 0, f->blocks * sizeof(*f->order));
	return 0;
}

/* Its share of all files: of each a LOOKUP and the pieces, which are what `order` numbers. */
static int plan_ends(struct load *load, struct flow *f, unsigned int index)
{
	const struct options *o = load->options;
	uint32_t calls = 1 + o->pieces.count;
	struct prng prng;

	/* One order for all readers, who divide it. */
	prng_init(&prng, o->order_seed * 1024);
	f->pieces = &o->pieces;
	f->outstanding = 1;
	if (order_allocate(f, o->files * calls))
		return -1;
	f->blocks = pattern_files(f->order, (uint32_t)o->files, calls, index, (uint32_t)o->readers,
				  &prng);
	return f->blocks ? 0 : -1;
}

static int plan_flow(struct load *load, unsigned int index)
{
	const struct options *o = load->options;
	struct flow *f = &load->flows[index];

	if (o->work == WORK_OLTP)
		return plan_oltp(load, f, index);
	if (o->work == WORK_FSSTAT)
		return plan_fsstat(load, f);
	if (o->work == WORK_ENDS)
		return plan_ends(load, f, index);
	if (o->work == WORK_CLIENTS)
		return clients_plan_flow(load, f, index);
	if (index < o->readers)
		return plan_main(load, f, index);
	if (index < o->readers + o->random_readers)
		return plan_random(load, f, index);
	return plan_writer(load, f, index);
}

static const char *first_group(enum work work)
{
	if (work == WORK_WRITE)
		return "writers";
	if (work == WORK_MIXED)
		return "streams";
	if (work == WORK_FSSTAT)
		return "fsstat";
	return work == WORK_RANDOM ? "random" : "readers";
}

/* The names of the work's groups; how many there are. */
static unsigned int name_groups(struct load *load)
{
	static const char *const oltp[] = {"reads", "writes", "log"};
	const struct options *o = load->options;

	load->groups[0].name = first_group(o->work);
	load->groups[1].name = "random";
	load->groups[2].name = "writers";
	for (unsigned int i = 0; i < 3 && o->work == WORK_OLTP; i++)
		load->groups[i].name = oltp[i];
	if (o->work == WORK_OLTP || o->writers)
		return 3;
	return o->random_readers ? 2 : 1;
}

/* The file's first word: as it was laid out or, of what a client writes anew, of this run. */
static uint64_t content_of(const struct options *o, const struct flow *f)
{
	bool anew = f->op == FLOW_WRITE && !f->creates;

	return content_generation(o->seed, f->file, anew ? o->generation : 0);
}

static int allocate(struct load *load, const struct options *o)
{
	load->client_count = o->work == WORK_OLTP ? (unsigned int)o->readers : 0;
	load->flow_count = (unsigned int)(o->readers + o->random_readers + o->writers);
	if (o->work == WORK_OLTP)
		load->flow_count = 3 * load->client_count;
	if (o->work == WORK_CLIENTS)
		load->flow_count = clients_flows(o);
	load->flows = calloc(load->flow_count, sizeof(*load->flows));
	load->clients = calloc(load->client_count + 1, sizeof(*load->clients));
	if (!load->flows || !load->clients)
		return -1;
	for (unsigned int i = 0; i < load->client_count; i++) {
		load->clients[i].first = 3 * i;
		load->clients[i].flows = 3;
	}
	return 0;
}

static uint64_t flow_bytes(const struct flow *f)
{
	uint64_t bytes = (uint64_t)f->blocks * f->request;

	if (!bytes)
		return 0;
	/* The last block of the file may be short. */
	return f->blocks == block_count(f) ? f->size : bytes;
}

int load_plan(struct load *load, const struct options *o)
{
	int rc = 0;

	*load = (struct load){.options = o, .adapts = o->adapt_request};
	read_size_init(&load->read_size, (uint32_t)o->request);
	if (allocate(load, o))
		return -1;
	if (o->work == WORK_CLIENTS)
		rc = clients_plan_groups(load);
	else
		load->group_count = name_groups(load);
	load->main_group = o->writers ? 2 : 0;
	for (unsigned int i = 0; i < load->flow_count && !rc; i++) {
		struct flow *f = &load->flows[i];

		rc = plan_flow(load, i);
		if (!f->unit)
			f->unit = f->request;
		f->content = content_of(o, f);
		f->interval = o->rate ? 1000000000u / o->rate : 0;
		if (!rc && !f->background)
			load->planned_bytes += flow_bytes(f);
	}
	return rc;
}

void load_free(struct load *load)
{
	for (unsigned int i = 0; load->flows && i < load->flow_count; i++)
		free(load->flows[i].order);
	for (unsigned int i = 0; load->clients && i < load->client_count; i++)
		blocks_free(&load->clients[i].blocks);
	free(load->flows);
	free(load->clients);
	load->flows = NULL;
	load->clients = NULL;
}

uint64_t load_errors(const struct load *load)
{
	uint64_t n = load->timed_out ? 1 : 0;

	for (unsigned int i = 0; i < load->flow_count; i++)
		n += load->flows[i].errors;
	return n;
}

uint64_t load_mismatches(const struct load *load)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < load->flow_count; i++)
		n += load->flows[i].mismatches;
	return n;
}
