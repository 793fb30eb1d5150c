/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfswalk HOST:PORT:MOUNTPORT EXPORT [OPTIONS]: reads the files of a tree over NFSv3, whole, one after the
 * other, as backups, searches and copies do; prints what that came to as JSON.
 *
 *   --order readdir|name|inode  of a directory's entries; subdirectories where they stand
 *           random              the tree is listed, then its files are read in no order
 *   --clients N                 N walk together, each a part of every directory's files
 *   --one-in N                  only so many of the files are read
 *   --request BYTES             of a READ (32768)
 *   --list                      nothing is read
 *   --seconds S                 no file is begun later; --seed N
 *
 * A client lists a directory by READDIRPLUS; before a file is read it asks for its attributes.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tree.h"

#define CLIENTS_MAX 64

static struct {
	struct nfsc_server server;
	const char *export;
	enum order order;
	unsigned int clients, one_in;
	uint32_t request;
	bool list;
	double seconds;
	uint64_t seed;
	struct nfsc_fh root;
	double begun;
} o = {.clients = 1, .one_in = 1, .request = 32768, .seconds = 1e9, .seed = 1};

struct client {
	pthread_t thread;
	unsigned int n; /* which */
	struct rpc_context *rpc;
	uint64_t files, bytes, directories, number;
	double worst;
	int status; /* the first that was none of success */
	struct entries all;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool is_over(const struct client *c)
{
	return c->status != 0 || now() - o.begun > o.seconds;
}

static void read_file(struct client *c, const struct entry *e)
{
	double begun = now();
	bool eof = e->size == 0;

	c->status = ask_attributes(c->rpc, &e->fh);
	for (uint64_t at = 0; !eof && c->status == 0;) {
		uint32_t got = 0;

		c->status = read_part(c->rpc, &e->fh, at, o.request, &got, &eof);
		at += got;
		c->bytes += got;
		eof = eof || got == 0 || at >= e->size;
	}
	c->files++;
	if (now() - begun > c->worst)
		c->worst = now() - begun;
}

static void walk(struct client *c, const struct nfsc_fh *dir);

/* One entry, the Ith of N in its directory. */
static void visit(struct client *c, const struct entry *e, size_t i, size_t n)
{
	if (e->directory) {
		walk(c, &e->fh);
		return;
	}
	if (i * o.clients / n != c->n || c->number++ % o.one_in != 0 || o.list)
		return;
	if (o.order == ORDER_RANDOM)
		entries_add(&c->all, e);
	else
		read_file(c, e);
}

static void walk(struct client *c, const struct nfsc_fh *dir)
{
	struct entries list = {0};

	if (is_over(c))
		return;
	c->status = list_directory(c->rpc, dir, &list);
	c->directories++;
	entries_sort(&list, o.order == ORDER_RANDOM ? ORDER_READDIR : o.order, o.seed);
	for (size_t i = 0; i < list.n && !is_over(c); i++)
		visit(c, &list.at[i], i, list.n);
	entries_free(&list);
}

static void *run(void *arg)
{
	struct client *c = arg;

	walk(c, &o.root);
	entries_sort(&c->all, o.order, o.seed + c->n);
	for (size_t i = 0; i < c->all.n && !is_over(c); i++)
		read_file(c, &c->all.at[i]);
	entries_free(&c->all);
	return NULL;
}

static bool set_order(const char *name)
{
	static const char *const names[] = {"readdir", "name", "inode", "random"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i])) {
			o.order = (enum order)i;
			return true;
		}
	return false;
}

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {{"order", 1, NULL, 'o'},  {"clients", 1, NULL, 'c'},
						{"one-in", 1, NULL, 'i'}, {"request", 1, NULL, 'r'},
						{"list", 0, NULL, 'l'},	  {"seconds", 1, NULL, 't'},
						{"seed", 1, NULL, 's'},	  {NULL, 0, NULL, 0}};
	bool good = true;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (opt) {
		case 'o':
			good &= set_order(optarg);
			break;
		case 'c':
			o.clients = (unsigned int)atoi(optarg);
			break;
		case 'i':
			o.one_in = (unsigned int)atoi(optarg);
			break;
		case 'r':
			o.request = (uint32_t)atoi(optarg);
			break;
		case 'l':
			o.list = true;
			break;
		case 't':
			o.seconds = atof(optarg);
			break;
		case 's':
			o.seed = strtoull(optarg, NULL, 10);
			break;
		default:
			good = false;
		}
	if (!good || argc - optind != 2 || o.clients < 1 || o.clients > CLIENTS_MAX ||
	    o.one_in < 1 || o.request < 1 || !nfsc_parse_server(argv[optind], &o.server))
		return false;
	o.export = argv[optind + 1];
	return true;
}

/* The JSON; the exit status. */
static int report(const struct client *clients, double took)
{
	uint64_t files = 0, bytes = 0, directories = 0;
	double worst = 0;
	int status = 0;

	for (unsigned int i = 0; i < o.clients; i++) {
		files += clients[i].files;
		bytes += clients[i].bytes;
		directories += clients[i].directories;
		worst = clients[i].worst > worst ? clients[i].worst : worst;
		status = status ? status : clients[i].status;
	}
	printf("{\"files\": %lu, \"directories\": %lu, \"bytes\": %lu, \"elapsed_s\": %.4f, "
	       "\"files_s\": %.2f, \"worst_ms\": %.1f, \"status\": %d}\n",
	       files, directories, bytes, took, (double)files / took, worst * 1e3, status);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct client clients[CLIENTS_MAX] = {0};

	if (!parse(argc, argv)) {
		fprintf(stderr,
			"usage: nfswalk HOST:PORT:MOUNTPORT EXPORT [--order readdir|name|"
			"inode|random] [--clients 1..%d] [--one-in N] [--request BYTES] "
			"[--list] [--seconds S] [--seed N]\n",
			CLIENTS_MAX);
		return 2;
	}
	if (nfsc_mount(&o.server, o.export, &o.root) != 0) {
		fprintf(stderr, "nfswalk: cannot mount %s\n", o.export);
		return 1;
	}
	o.begun = now();
	for (unsigned int i = 0; i < o.clients; i++) {
		clients[i].n = i;
		clients[i].rpc = nfsc_connect(&o.server);
		if (!clients[i].rpc || pthread_create(&clients[i].thread, NULL, run, &clients[i]))
			return 1;
	}
	for (unsigned int i = 0; i < o.clients; i++)
		pthread_join(clients[i].thread, NULL);
	return report(clients, now() - o.begun);
}
