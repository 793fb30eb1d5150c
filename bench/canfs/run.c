/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loop of run.h. */
#include "run.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "tasks.h"

#define SECOND	     UINT64_C(1000000000)
#define PATIENCE     20.0 /* seconds for an answer before the load */
#define DRAIN	     (60 * SECOND)
#define TURN	     (SECOND / 1000) /* at most, until threads and ticks are looked at again */
#define STEPS_A_TURN 256	     /* of threads, before the sockets are looked at again */

static void next_address(char *address)
{
	struct in_addr a;

	inet_pton(AF_INET, address, &a);
	a.s_addr = htonl(ntohl(a.s_addr) + 1);
	inet_ntop(AF_INET, &a, address, 32);
}

static int connect_one(struct run *run, struct member *m, const char *from,
		       const struct handle *root)
{
	const struct run_options *o = run->o;

	m->edge.client = &m->client;
	m->samples = calloc(RUN_SECONDS, sizeof(*m->samples));
	if (!m->samples ||
	    connection_open(&m->edge.nfs, o->server, o->port, *from ? from : NULL, NULL,
			    PATIENCE) ||
	    client_init(&m->client, &o->settings, &nfs_ops, &m->edge, nfs_now()))
		return 1;
	m->client.root.len = root->len;
	memcpy(m->client.root.data, root->data, root->len);
	return 0;
}

int run_connect(struct run *run)
{
	const struct run_options *o = run->o;
	struct handle root;
	char from[32];

	run->members = calloc(o->clients, sizeof(*run->members));
	if (!run->members || session_mount(o->server, o->mount_port, o->path, PATIENCE, &root))
		return 1;
	strcpy(from, o->from);
	for (uint64_t i = 0; i < o->clients; i++) {
		if (connect_one(run, &run->members[i], from, &root))
			return 1;
		if (*from)
			next_address(from);
	}
	return 0;
}

void run_turn(struct run *run, uint64_t wait)
{
	const struct timespec most = {.tv_sec = (time_t)(wait / SECOND),
				      .tv_nsec = (long)(wait % SECOND)};
	static struct pollfd polls[RUN_CLIENTS][CONNECTION_POLLS];
	uint64_t n = run->o->clients;

	for (uint64_t i = 0; i < n; i++)
		connection_polls(&run->members[i].edge.nfs, polls[i]);
	if (ppoll(polls[0], n * CONNECTION_POLLS, &most, NULL) <= 0)
		return;
	for (uint64_t i = 0; i < n; i++) {
		struct connection *c = &run->members[i].edge.nfs;

		if (connection_service(c, polls[i], nfs_now()) < 0) {
			fprintf(stderr, "canfs: client %llu: %s\n", (unsigned long long)i,
				connection_problem(c));
			exit(1);
		}
	}
}

static void tick(struct run *run, uint64_t now)
{
	for (uint64_t i = 0; i < run->o->clients; i++)
		client_tick(&run->members[i].client, now);
}

static void note(struct member *m, uint32_t second, const struct client_counts *last)
{
	struct client *c = &m->client;

	m->samples[second] = (struct sample){
		.price = (float)c->price,
		.price_ahead = (float)c->price_ahead,
		.bid = (float)c->bid,
		.worth = (float)c->worth,
		.unsaved_mb = (float)cache_unsaved(c->cache.count) * PAGE_BYTES / 1e6f,
		.limit_mb = (float)c->limit * PAGE_BYTES / 1e6f,
		.read_mb = (float)(c->n.bytes[CALL_READ] - last->bytes[CALL_READ]) / 1e6f,
		.written_mb = (float)(c->n.written - last->written) / 1e6f,
		.saved_mb = (float)(c->n.saved - last->saved) / 1e6f,
		.blocked_s = (float)(c->n.blocked_ns - last->blocked_ns) / 1e9f,
		.ops = m->ops,
		.blocked = (uint32_t)(c->n.blocked - last->blocked),
		.way = (uint8_t)c->way,
	};
	m->ops = 0;
}

static void note_all(struct run *run, struct client_counts *last)
{
	if (run->seconds == RUN_SECONDS)
		return;
	for (uint64_t i = 0; i < run->o->clients; i++) {
		note(&run->members[i], run->seconds, &last[i]);
		last[i] = run->members[i].client.n;
	}
	run->seconds++;
}

static void begin_counting(struct run *run, uint64_t now)
{
	run->counted.from = now;
	memset(run->groups, 0, sizeof(run->groups));
	for (uint64_t i = 0; i < run->o->clients; i++) {
		struct client *c = &run->members[i].client;

		run->members[i].counted_from = c->n;
		memset(&c->write_back, 0, sizeof(c->write_back));
	}
}

static void end_counting(struct run *run, uint64_t now)
{
	run->counted.until = now;
	tasks_stop(run, now);
	for (uint64_t i = 0; i < run->o->clients; i++) {
		run->members[i].counted_until = run->members[i].client.n;
		client_end_times(&run->members[i].client, now);
	}
	if (run->o->tell) {
		printf("over\n");
		fflush(stdout);
	}
}

static bool over(const struct run *run, uint64_t now)
{
	uint64_t limit = (uint64_t)((run->o->seconds + run->o->warmup) * 1e9);

	return !run->foreground || (run->o->seconds > 0 && now - run->began >= limit);
}

static void loop(struct run *run, struct client_counts *last)
{
	uint64_t ticked = run->began, noted = run->began, ended = 0, now;

	while ((now = nfs_now()) && (!ended || (run->busy && now - ended < DRAIN))) {
		if (run->counted.from == 0 && now - run->began >= (uint64_t)(run->o->warmup * 1e9))
			begin_counting(run, now);
		if (!ended && over(run, now)) {
			ended = now;
			end_counting(run, now);
		}
		if (!ended && now - noted >= SECOND) {
			note_all(run, last);
			noted += SECOND;
		}
		if (now - ticked >= CLIENT_TICK) {
			tick(run, now);
			ticked = now;
		}
		run_turn(run, tasks_run(run, STEPS_A_TURN) ? 0 : tasks_wait(run, TURN));
	}
	if (run->busy)
		fprintf(stderr, "canfs: %u operations without an end\n", run->busy);
}

int run_load(struct run *run, const struct run_options *o)
{
	struct client_counts *last = calloc(o->clients, sizeof(*last));
	int bad;

	memset(run, 0, sizeof(*run));
	run->o = o;
	bad = !last || run_connect(run) || tasks_init(run);
	if (!bad) {
		run->began = nfs_now();
		tasks_start(run);
		loop(run, last);
		bad = run->busy != 0;
	}
	free(last);
	return bad;
}
