/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The loop of linkemu; see relay.h. */
#include "relay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* Through all hops: when it comes out, or false. */
static bool pass_all(struct relay_way *w, unsigned int hops, uint32_t length, uint64_t *at)
{
	for (unsigned int i = 0; i < hops; i++) {
		if (!hop_pass(&w->hops[i], length, *at, at))
			return false;
	}
	return true;
}

static int keep(struct relay_way *w, const unsigned char *bytes, uint32_t length, uint64_t leaves)
{
	struct relay_packet *p = &w->ring[(w->first + w->count) % PACKETS_MAX];

	if (w->count == PACKETS_MAX) {
		w->lost++;
		return 0;
	}
	*p = (struct relay_packet){.leaves = leaves, .length = length, .bytes = malloc(length)};
	if (!p->bytes)
		return -1;
	memcpy(p->bytes, bytes, length);
	w->count++;
	return 0;
}

static int take_in(struct relay_way *w, unsigned int hops)
{
	static unsigned char bytes[PACKET_MAX];
	ssize_t n;

	while ((n = read(w->from, bytes, sizeof(bytes))) > 0) {
		uint64_t at = now_ns();

		w->packets++;
		w->bytes += (uint64_t)n;
		if (!pass_all(w, hops, (uint32_t)n, &at))
			w->lost++;
		else if (keep(w, bytes, (uint32_t)n, at))
			return -1;
	}
	return n < 0 && errno != EAGAIN && errno != EINTR ? -1 : 0;
}

static void let_out(struct relay_way *w, uint64_t now)
{
	while (w->count && w->ring[w->first].leaves <= now) {
		struct relay_packet *p = &w->ring[w->first];

		/* A device without room loses it, as any device does. */
		w->lost += write(w->to, p->bytes, p->length) < 0;
		free(p->bytes);
		w->first = (w->first + 1) % PACKETS_MAX;
		w->count--;
	}
}

/* Until a packet is to come out, at most a second. */
static struct timespec until_next(const struct relay *r, uint64_t now)
{
	const struct relay_way *ways[] = {&r->up, &r->down};
	uint64_t wait = SECOND / 2;

	for (int i = 0; i < 2; i++) {
		const struct relay_way *w = ways[i];
		uint64_t at = w->count ? w->ring[w->first].leaves : now + wait;

		if (at < now + wait)
			wait = at > now ? at - now : 0;
	}
	return (struct timespec){.tv_nsec = (long)wait};
}

int relay_run(struct relay *r, const volatile int *stop)
{
	while (!*stop) {
		struct pollfd polls[2] = {{.fd = r->up.from, .events = POLLIN},
					  {.fd = r->down.from, .events = POLLIN}};
		struct timespec wait = until_next(r, now_ns());

		if (ppoll(polls, 2, &wait, NULL) < 0 && errno != EINTR)
			return -1;
		if (take_in(&r->up, r->hops) || take_in(&r->down, r->hops))
			return -1;
		let_out(&r->up, now_ns());
		let_out(&r->down, now_ns());
	}
	return 0;
}
