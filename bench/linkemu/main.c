/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * linkemu: a link between this network namespace and another one, as slow and lossy as told.
 *
 *	linkemu [--seed N] NAMESPACE NEAR FAR HOP [HOP…]
 *
 * makes the TUN device NEAR here and FAR in the namespace of that file (/run/netns/NAME), writes "up"
 * and carries packets between them until SIGTERM; then it writes what it counted as one line of JSON.
 * Both ways pass the same hops, each way with queues of its own:
 *
 *	rate=80M,delay=1ms,queue=64K,slots=24,loss=1%,cross=50%,burst=20
 *
 * Where the kernel has no netem this is what stands in for it: the packets are the kernel's own, IP
 * fragments and TCP segments, so that its reassembly, retransmission and congestion control meet what
 * they would on such a link. What comes in order goes out in order. A packet may come out later than it
 * should by what the scheduler keeps this process waiting (tens of microseconds on a quiet machine).
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;

static void on_signal(int sig)
{
	stop = sig;
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "linkemu: %s: %s\n", what, why);
	return 1;
}

/* ---- hops ---- */

struct unit {
	const char *suffix;
	double factor;
};

static const struct unit bits[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};
static const struct unit times[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const struct unit bytes[] = {{"", 1}, {"K", 1024}, {"M", 1 << 20}, {NULL, 0}};
static const struct unit shares[] = {{"%", 0.01}, {"", 1}, {NULL, 0}};
static const struct unit plain[] = {{"", 1}, {NULL, 0}};

enum { RATE, DELAY, QUEUE, SLOTS, LOSS, CROSS, BURST, KEYS };

static const struct key {
	const char *name;
	const struct unit *units;
	double least, most;
	const char *range;
} keys[KEYS] = {
	[RATE] = {"rate", bits, 1e3, 1e11, "bits a second, 1k to 100G"},
	[DELAY] = {"delay", times, 0, 1e10, "0ms to 10s"},
	[QUEUE] = {"queue", bytes, 1500, 1 << 30, "bytes, 1500 to 1024M"},
	[SLOTS] = {"slots", plain, 0, HOP_SLOTS_MAX, "packets, 0 to 256"},
	[LOSS] = {"loss", shares, 0, 1, "0% to 100%"},
	[CROSS] = {"cross", shares, 0, 0.95, "0% to 95%"},
	[BURST] = {"burst", plain, 1, 10000, "packets, 1 to 10000"},
};

static int value_of(const struct key *k, const char *text, double *value)
{
	char *end;
	double v = strtod(text, &end);

	for (const struct unit *u = k->units; end != text && u->suffix; u++) {
		if (strcmp(end, u->suffix) == 0 && v * u->factor >= k->least &&
		    v * u->factor <= k->most) {
			*value = v * u->factor;
			return 0;
		}
	}
	fprintf(stderr, "linkemu: %s=%s: must be %s\n", k->name, text, k->range);
	return -1;
}

static int set_key(double *values, char *pair)
{
	char *equals = strchr(pair, '=');

	for (int k = 0; equals && k < KEYS; k++) {
		if (strncmp(pair, keys[k].name, (size_t)(equals - pair)) == 0 &&
		    keys[k].name[equals - pair] == '\0')
			return value_of(&keys[k], equals + 1, &values[k]);
	}
	fprintf(stderr,
		"linkemu: %s: must be rate=, delay=, queue=, slots=, loss=, cross= or "
		"burst=\n",
		pair);
	return -1;
}

static int parse_hop(char *text, struct hop_params *hop)
{
	double values[KEYS] = {[QUEUE] = 64 * 1024, [BURST] = 10};
	char *rest = NULL;

	for (char *pair = strtok_r(text, ",", &rest); pair; pair = strtok_r(NULL, ",", &rest)) {
		if (set_key(values, pair))
			return -1;
	}
	*hop = (struct hop_params){
		.rate = values[RATE],
		.delay = (uint64_t)values[DELAY],
		.queue = (uint64_t)values[QUEUE],
		.slots = (uint32_t)values[SLOTS],
		.loss = values[LOSS],
		.cross = values[CROSS],
		.burst = (uint32_t)values[BURST],
	};
	return 0;
}

/* ---- devices ---- */

static int make_tun(const char *name)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (fd >= 0 && ioctl(fd, TUNSETIFF, &request)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A TUN device in another namespace; this process stays in its own. */
static int make_tun_in(const char *namespace, const char *name)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int there = open(namespace, O_RDONLY | O_CLOEXEC), fd = -1;

	if (here >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
		fd = make_tun(name);
		if (setns(here, CLONE_NEWNET))
			fd = -1;
	}
	return fd;
}

static void first_in_line(void)
{
	struct sched_param p = {.sched_priority = 1};

	/* Before the servers and clients that it stands between, where that is permitted. */
	if (sched_setscheduler(0, SCHED_FIFO, &p))
		fprintf(stderr, "linkemu: no SCHED_FIFO: packets may come out late\n");
}

static void count(const char *name, const struct relay_way *w, unsigned int hops, const char *after)
{
	uint64_t chance = 0, queue = 0, others = 0;

	for (unsigned int i = 0; i < hops; i++) {
		chance += w->hops[i].lost_by_chance;
		queue += w->hops[i].lost_in_queue;
		others += w->hops[i].others;
	}
	printf("\"%s\": {\"packets\": %llu, \"bytes\": %llu, \"lost\": %llu, \"lost_by_chance\": "
	       "%llu, \"lost_in_queue\": %llu, \"others\": %llu}%s",
	       name, (unsigned long long)w->packets, (unsigned long long)w->bytes,
	       (unsigned long long)w->lost, (unsigned long long)chance, (unsigned long long)queue,
	       (unsigned long long)others, after);
}

static int run(struct relay *r)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	first_in_line();
	puts("up");
	fflush(stdout);
	if (relay_run(r, &stop))
		return fail("relay", strerror(errno));
	printf("{");
	count("up", &r->up, r->hops, ", ");
	count("down", &r->down, r->hops, "}\n");
	return 0;
}

static int set_up(struct relay *r, char **names, char **hops, unsigned int count, uint64_t seed)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	for (r->hops = 0; r->hops < count; r->hops++) {
		struct hop_params params;

		if (parse_hop(hops[r->hops], &params))
			return 2;
		hop_init(&r->up.hops[r->hops], &params, seed * 100 + r->hops, now);
		hop_init(&r->down.hops[r->hops], &params, seed * 100 + 50 + r->hops, now);
	}
	r->up.from = r->down.to = make_tun(names[1]);
	if (r->up.from < 0)
		return fail(names[1], strerror(errno));
	r->down.from = r->up.to = make_tun_in(names[0], names[2]);
	if (r->down.from < 0)
		return fail(names[2], strerror(errno));
	return 0;
}

int main(int argc, char **argv)
{
	static struct relay relay; /* large */
	uint64_t seed = 1;
	int rc;

	if (argc > 2 && strcmp(argv[1], "--seed") == 0) {
		seed = strtoull(argv[2], NULL, 10);
		argc -= 2;
		argv += 2;
	}
	if (argc < 5 || argc > 4 + HOPS_MAX) {
		fprintf(stderr,
			"usage: linkemu [--seed N] NAMESPACE NEAR FAR HOP [HOP…], 1 to %d "
			"hops: rate=80M,delay=1ms,queue=64K,loss=1%%,cross=50%%,burst=20\n",
			HOPS_MAX);
		return 2;
	}
	rc = set_up(&relay, argv + 1, argv + 4, (unsigned int)argc - 4, seed);
	return rc ? rc : run(&relay);
}
