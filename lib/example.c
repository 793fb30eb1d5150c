/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How a client of its own reads the prices of a mount: says those that the server of PATH states, each
 * time it has answered, until it is interrupted.
 *
 *   cc example.c $(pkg-config --cflags --libs fsstat_price) -o example && ./example /mnt
 */
#include <errno.h>
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

int main(int argc, char **argv)
{
	struct fsstat_reader reader = {0};
	struct fsstat_prices prices;
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
			fsstat_reader_reply(&reader, asked, fs.f_files, fs.f_favail);
		else
			fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		if (fsstat_reader_prices(&reader, now(), &prices))
			printf("writes %.3g, read-ahead %.3g\n", prices.write, prices.readahead);
		else
			puts("no prices, or none yet");
		fflush(stdout);
		sleep_for(fsstat_reader_wait(&reader, FSSTAT_WAIT_USUAL, (uint16_t)random()));
	}
}
