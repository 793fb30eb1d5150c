/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See script.h. One command at a time, with the clients' other doings going on. */
#include "script.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 256

struct named {
	struct client *client;
	struct file *file;
};
static struct named names[NAMES_MAX];

static struct file *file_by_name(struct client *c, const char *name)
{
	for (int i = 0; i < NAMES_MAX; i++) {
		if (names[i].client == c && strcmp(names[i].file->name, name) == 0)
			return names[i].file;
		if (!names[i].client) {
			names[i] = (struct named){c, file_new(c, &c->root, name)};
			return names[i].file;
		}
	}
	return NULL;
}

static void turn(struct run *run, uint64_t *ticked)
{
	uint64_t now = nfs_now();

	if (now - *ticked >= CLIENT_TICK) {
		for (uint64_t i = 0; i < run->o->clients; i++)
			client_tick(&run->members[i].client, now);
		*ticked = now;
	}
	run_turn(run, 2000000);
}

static void done(struct op *op, uint64_t now)
{
	op->owner = NULL;
}

static void perform(struct run *run, struct client *c, struct op *op)
{
	static uint64_t ticked;

	op->done = done;
	op->owner = op;
	op->verify = true;
	client_submit(c, op, nfs_now());
	while (op->owner)
		turn(run, &ticked);
	if (op->status != ANSWER_OK)
		printf("failed\n");
	else if (op->kind == OP_READ)
		printf("ok %llu %llu\n", (unsigned long long)op->length,
		       (unsigned long long)op->wrong);
	else
		printf("ok %llu\n", (unsigned long long)op->length);
}

static void counts(const struct client *c)
{
	printf("ok %llu %llu %llu %u %llu %s %.5f %.5f\n",
	       (unsigned long long)c->n.calls[CALL_READ],
	       (unsigned long long)c->n.calls[CALL_WRITE],
	       (unsigned long long)c->n.calls[CALL_COMMIT], cache_unsaved(c->cache.count),
	       (unsigned long long)c->n.pages_hit, auction_way_names[c->way], c->price, c->bid);
}

static void wait_ms(struct run *run, unsigned long ms)
{
	uint64_t end = nfs_now() + ms * 1000000, ticked = 0;

	while (nfs_now() < end)
		turn(run, &ticked);
	printf("ok\n");
}

static void command(struct run *run, char *line)
{
	unsigned long long offset = 0, length = 0, content = 0;
	char verb[16], name[128] = "";
	unsigned int which;
	struct op op = {0};

	if (sscanf(line, "wait %u", &which) == 1) {
		wait_ms(run, which);
		return;
	}
	if (sscanf(line, "%u %15s %127s %llu %llu %llx", &which, verb, name, &offset, &length,
		   &content) < 2 ||
	    which >= run->o->clients) {
		printf("bad command\n");
		return;
	}
	if (strcmp(verb, "counts") == 0) {
		counts(&run->members[which].client);
		return;
	}
	op = (struct op){.kind = OP_KINDS, .offset = offset, .length = length, .content = content};
	for (int k = 0; k < OP_KINDS; k++)
		if (strcmp(verb, op_kind_names[k]) == 0)
			op.kind = (enum op_kind)k;
	op.file = file_by_name(&run->members[which].client, name);
	if (op.kind == OP_KINDS || !op.file)
		printf("bad command\n");
	else
		perform(run, &run->members[which].client, &op);
}

int script(struct run *run, const struct run_options *o)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	uint64_t ticked = 0;
	char line[256];

	memset(run, 0, sizeof(*run));
	run->o = o;
	if (run_connect(run))
		return 1;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		if (poll(&in, 1, 0) <= 0) {
			turn(run, &ticked);
			continue;
		}
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		command(run, line);
	}
}
