/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The works. Sizes and counts are those of bench/workloads.py. */
#include "works.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define STREAM(mib)  {SIM_STREAM, 32 * KIB, (mib)*MIB, 4, (mib)*MIB / (32 * KIB), 0, 0, 0}
#define ENDLESS(mib) {SIM_STREAM, 32 * KIB, (mib)*MIB, 4, 0, 0, 0, 0}
#define WRITER(mib)  {SIM_WRITE, 256 * KIB, (mib)*MIB, 4, (mib)*MIB / (256 * KIB), 0, 0, 0}
#define LARGE(n)     {SIM_STREAM, MIB, 192 * MIB, n, 192, 0, 0, 0}
#define RANDOM(n)    {SIM_RANDOM, 8 * KIB, 128 * MIB, n, 0, 0, 0, 0}
#define CLOSE(n)     {SIM_RANDOM, 8 * KIB, 2 * MIB, n, 0, 0, 0, 0}
#define NEAR(n)      {SIM_RANDOM, 8 * KIB, 8 * MIB, 1, n, 0, 0, 0}
#define COUNTED(n)   {SIM_RANDOM, 8 * KIB, 256 * MIB, 1, n, 0, 0, 0}
#define SAVER(mib)   {SIM_WRITE, 256 * KIB, (mib)*MIB, 4, (mib)*MIB / (256 * KIB), 0, 0, 0, true}
#define THINKER(ms)  {SIM_RANDOM, 8 * KIB, 512 * MIB, 1, 0, (ms)*MS, 0, 0}
#define USER(ms)     {SIM_RANDOM, 8 * KIB, 32 * MIB, 1, 0, (ms)*MS, 0, 0}
#define ORDER(w, n)  {w, 32 * KIB, 256 * MIB, 4, 0, 0, 0, n}

const struct sim_work_kind sim_works[] = {
	{"seq1", "one stream", 100, false, {{1, SIM_EACH, STREAM(256)}}},
	{"backward", "one from its file's end", 100, false, {{1, SIM_EACH, ORDER(SIM_BACKWARD, 0)}}},
	{"tiles8", "a matrix of 8 x 8 tiles, a request of each in turn", 100, false,
	 {{1, SIM_EACH, ORDER(SIM_TILES, 8)}}},
	{"cursors2000", "64 readers of 2,000 sequential parts of a file", 100, false,
	 {{64, SIM_ONE, ORDER(SIM_CURSORS, 2000)}}},
	{"shared8", "eight streams over one file, from eight places", 100, false,
	 {{8, SIM_EACH, ORDER(SIM_SHARED, 0)}}},
	{"seq8", "eight streams", 100, false, {{8, SIM_EACH, STREAM(32)}}},
	{"large2x16", "two streams of 1 MiB a request, 16 outstanding each", 100, false,
	 {{2, SIM_EACH, LARGE(16)}}},
	{"large1x16", "one such stream", 100, false, {{1, SIM_EACH, LARGE(16)}}},
	{"large8x4", "eight with four outstanding", 100, false, {{8, SIM_EACH, LARGE(4)}}},
	{"random1", "a random reader", 100, false, {{1, SIM_EACH, COUNTED(1500)}}},
	{"random2", "two random readers", 100, false, {{2, SIM_EACH, COUNTED(1500)}}},
	{"random2one", "the same, of one client", 100, false, {{2, SIM_ONE, COUNTED(1500)}}},
	{"random4", "four random readers", 100, false, {{4, SIM_EACH, COUNTED(1500)}}},
	{"random4one", "the same, of one client", 100, false, {{4, SIM_ONE, COUNTED(1500)}}},
	{"near4", "four in files of 8 MB behind one another", 100, false, {{4, SIM_EACH, NEAR(1500)}}},
	{"random16", "16 random readers", 20, false, {{16, SIM_EACH, RANDOM(1)}}},
	{"random16one", "the same, of one client", 20, false, {{16, SIM_ONE, RANDOM(1)}}},
	{"random8x4", "eight with four reads at a time each", 20, false, {{8, SIM_EACH, RANDOM(4)}}},
	{"random2x16", "two with 16 each", 20, false, {{2, SIM_EACH, RANDOM(16)}}},
	{"random32+4", "a client with 32 reads at a time beside four with one", 20, false,
	 {{1, SIM_EACH, RANDOM(32)}, {4, SIM_EACH, RANDOM(1)}}},
	{"oltp23", "23 clients, each with eight reads at a time of one place, six of another", 20, false,
	 {{23, SIM_EACH, {SIM_RANDOM, 4 * KIB, 48 * MIB, 8, 0, 0, 0, 0}},
	  {23, SIM_AGAIN, {SIM_RANDOM, 4 * KIB, 12 * MIB, 6, 0, 0, 0, 0}}}},
	{"mixed8+1", "eight streams, a random reader", 20, true,
	 {{8, SIM_EACH, STREAM(128)}, {1, SIM_EACH, RANDOM(1)}}},
	{"mixed8+4", "eight streams, four random readers", 20, true,
	 {{8, SIM_EACH, STREAM(128)}, {4, SIM_EACH, RANDOM(1)}}},
	{"mixed1+1", "a stream, a random reader", 20, true,
	 {{1, SIM_EACH, ENDLESS(2560)}, {1, SIM_EACH, RANDOM(1)}}},
	{"mixed1+4", "a stream, four random readers", 20, true,
	 {{1, SIM_EACH, ENDLESS(2560)}, {4, SIM_EACH, RANDOM(1)}}},
	{"close16", "16 reads outstanding of neighbouring small files", 20, true,
	 {{1, SIM_EACH, STREAM(128)}, {1, SIM_EACH, CLOSE(16)}}},
	{"mixed8+close16", "eight streams beside them", 20, true,
	 {{8, SIM_EACH, STREAM(128)}, {1, SIM_EACH, CLOSE(16)}}},
	{"write1", "a writer that commits", 300, false, {{1, SIM_EACH, WRITER(512)}}},
	{"write1+1", "the same beside a random reader", 300, false,
	 {{1, SIM_EACH, COUNTED(1500)}, {1, SIM_EACH, WRITER(512)}}},
	{"mixed4+1w2", "four streams, a random reader and two writers, all of one client", 300, false,
	 {{4, SIM_ONE, ENDLESS(512)}, {1, SIM_SAME, RANDOM(1)}, {2, SIM_SAME, WRITER(256)}}},
	{"write1+16", "a writer that commits beside 16 random readers of one other client", 60, true,
	 {{16, SIM_ONE, RANDOM(1)}, {1, SIM_EACH, WRITER(256)}}},
	{"think20", "a random reader that thinks for 20 ms after each answer", 20, false,
	 {{1, SIM_EACH, THINKER(20)}}},
	{"save", "a writer of files of 32 MB that commits each", 20, false, {{1, SIM_EACH, SAVER(32)}}},
	{"seq3+save4", "three streams, four writers of files of 1 MB that commit each", 20, true,
	 {{3, SIM_EACH, ENDLESS(1024)}, {4, SIM_EACH, SAVER(1)}}},
	{"save4+1", "these writers beside a random reader", 20, true,
	 {{4, SIM_EACH, SAVER(1)}, {1, SIM_EACH, RANDOM(1)}}},
	{"think20+save", "the two", 20, false, {{1, SIM_EACH, THINKER(20)}, {1, SIM_EACH, SAVER(32)}}},
	{"think20+saveone", "the two, of one client", 20, false,
	 {{1, SIM_ONE, THINKER(20)}, {1, SIM_SAME, SAVER(32)}}},
	{"save+1one", "such a writer and a random reader, of one client", 20, false,
	 {{1, SIM_ONE, RANDOM(1)}, {1, SIM_SAME, SAVER(32)}}},
	{"think5+save", "a reader that thinks for 5 ms", 20, false,
	 {{1, SIM_EACH, THINKER(5)}, {1, SIM_EACH, SAVER(32)}}},
	{"think50+save", "one that thinks for 50 ms", 20, false,
	 {{1, SIM_EACH, THINKER(50)}, {1, SIM_EACH, SAVER(32)}}},
	{"think20x4+save", "four readers that think for 20 ms", 20, false,
	 {{4, SIM_EACH, THINKER(20)}, {1, SIM_EACH, SAVER(32)}}},
	{"office", "six readers that think for half a second beside a stream", 20, false,
	 {{6, SIM_EACH, USER(500)}, {1, SIM_EACH, ENDLESS(2560)}}},
	{"office24", "24 of them", 20, false,
	 {{24, SIM_EACH, USER(500)}, {1, SIM_EACH, ENDLESS(2560)}}},
	{"officeone", "six, of one client", 20, false,
	 {{6, SIM_ONE, USER(500)}, {1, SIM_SAME, ENDLESS(2560)}}},
	{"office+8", "the six beside eight streams", 20, true,
	 {{6, SIM_EACH, USER(500)}, {8, SIM_EACH, STREAM(256)}}},
	{"flood", "4,000 reads outstanding beside one", 30, false,
	 {{1, SIM_EACH, RANDOM(4000)}, {1, SIM_EACH, RANDOM(1)}}},
	{"32+1", "32 streams of one client beside one of another", 30, true,
	 {{32, SIM_ONE, STREAM(64)}, {1, SIM_EACH, STREAM(256)}}},
	{NULL},
};
/* clang-format on */

const struct sim_work_kind *sim_work_find(const char *name)
{
	for (const struct sim_work_kind *w = sim_works; w->name; w++)
		if (!strcmp(w->name, name))
			return w;
	return NULL;
}

struct sim_client_kind *sim_work_clients(const struct sim_work_kind *w, unsigned int *n)
{
	struct sim_client_kind *kinds;
	unsigned int all = 0, at = 0, addresses = 0;

	for (int g = 0; g < WORK_GROUPS; g++)
		all += w->group[g].clients;
	kinds = calloc(all, sizeof(*kinds));
	for (int g = 0; kinds && g < WORK_GROUPS; g++) {
		addresses += w->group[g].clients && w->group[g].addresses == SIM_ONE;
		if (w->group[g].addresses == SIM_AGAIN)
			addresses = 0;
		for (unsigned int i = 0; i < w->group[g].clients; i++) {
			addresses += w->group[g].addresses == SIM_EACH ||
				     w->group[g].addresses == SIM_AGAIN;
			kinds[at] = w->group[g].kind;
			kinds[at++].address = addresses - 1;
		}
	}
	*n = all;
	return kinds;
}
