/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The screen of `ractl top` and the text of `ractl clients`: rows laid out in lines of a given width.
 *
 *   title    ractl top  up 3 d 04:05  clients by share  last 1.0 s  12 flows
 *   reads    1234 READs/s, 93.1 % in memory; 40.2 MB/s fetched ahead, 0.4 % wasted
 *   devices  DEVICE   BUSY%  READS PREFETCH WRITES RUNNING  WRITE PRICE    READ-AHEAD PRICE
 *            sdb       97.1     12        4      1       1  0.31 disk      0.31 disk
 *
 *   heading  CLIENT            MB/s   IOPS SHARE% FAIR%  p50ms  p99ms QUEUE WAITS FOR
 *   rows     10.0.0.17         43.1   1234   45.0  33.3    8.2   33.0     4 10.0.0.18
 *   help     q quit  sort: s share ...
 *
 * Where a screen is too narrow for all columns, the least important are left out; where it is too low,
 * the last devices and rows, and a line says how many. READS is "direct" where they go to the device
 * past the queue: then they are in no row. Lines have no more cells than the width, no
 * blanks at their end, and nothing but printable ASCII.
 */
#ifndef CONTROL_TOP_SCREEN_H
#define CONTROL_TOP_SCREEN_H

#include "control/client_rows.h"

#define SCREEN_WIDTH_MAX 256
/* All devices and rows, and the lines around them. */
#define SCREEN_LINES_MAX (SAMPLE_DEVICES_MAX + SAMPLE_FLOWS_MAX + 9)

struct screen {
	unsigned int width, height; /* cells; wanted, and at most the two above */
	unsigned int lines;	    /* used */
	unsigned int heading;	    /* the line of the rows' columns; lines, where there is none */
	char line[SCREEN_LINES_MAX][SCREEN_WIDTH_MAX + 1];
};

struct screen_view {
	const char *title; /* begins the first line */
	enum rows_order order;
	bool help;	  /* the last line says which key does what */
	bool active_only; /* rows that are idle are left out */
};

/* Lays ROWS and the devices of NOW out in S, whose width and height are set. */
void screen_draw(struct screen *s, const struct screen_view *view, const struct client_rows *rows,
		 const struct use_sample *now);

#endif
