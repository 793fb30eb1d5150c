/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How a client of its own reads the prices of a mount, and what it does by them: says both each time the server
 * of PATH has answered, until it is interrupted. It is a client with memory to spare, of whose read-ahead a
 * fifth is for nothing.
 *
 *   cc example.c $(pkg-config --cflags --libs fsstat_price) -o example && ./example /mnt
 */
#include <errno.h>
#include <fsstat_price/auction_ahead.h>
#include <fsstat_price/auction_writes.h>
#include <fsstat_reader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#define SECOND UINT64_C(1000000000) /* ns */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void sleep_for(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / SECOND), (long)(ns % SECOND)};

	nanosleep(&t, NULL);
}

/* What it knows from one question to the next. */
struct client {
	struct fsstat_reader reader;
	struct auction_writes writes;
	struct auction_ahead ahead;
};

static const struct auction_terms terms = AUCTION_TERMS_USUAL;

/* At each answer, and when there was none; in a client that does something by it, at auction_writes_due() too. */
static void judge(struct client *c)
{
	const struct auction_may may = {true, true, AUCTION_DEFER_MOST};
	const struct auction_ahead_limits limits = {16, 1024}; /* KiB */
	const struct auction_state memory = {0}; /* nothing is dirty, nothing cached */
	struct auction_ahead_state reads = {.price = -1, .used = AUCTION_USED, .found = 128};
	struct fsstat_prices p;
	const bool priced = fsstat_reader_prices(&c->reader, now(), &p);
	const double seconds = (double)now() / SECOND;

	auction_writes_hear(&c->writes, &terms, &memory, priced ? p.write : -1, seconds);
	auction_writes_judge(&c->writes, &terms, &may, seconds);
	if (priced)
		reads.price = p.readahead;
	auction_ahead_hear(&c->ahead, &terms, &reads);
	auction_ahead_judge(&c->ahead, &terms, &limits, &reads, seconds);
	if (priced)
		printf("writes %.3g: %s; read-ahead %.3g: %u KiB\n", p.write,
		       auction_way_names[c->writes.way], p.readahead,
		       c->ahead.size ? c->ahead.size : reads.found);
	else
		puts("no prices, or none yet");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct client client = {0};
	struct statvfs fs;

	if (argc != 2) {
		fprintf(stderr, "usage: %s PATH\n", argv[0]);
		return 2;
	}
	srandom((unsigned int)now());
	for (;;) {
		const uint64_t asked = now();

		/* One FSSTAT. It hangs while the server does; here there is nothing else to do. */
		if (statvfs(argv[1], &fs) == 0)
			fsstat_reader_reply(&client.reader, asked, fs.f_files, fs.f_favail);
		else
			fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		judge(&client);
		sleep_for(
			fsstat_reader_wait(&client.reader, FSSTAT_WAIT_USUAL, (uint16_t)random()));
	}
}
