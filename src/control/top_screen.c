/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rows -> lines. See top_screen.h. */
#include "control/top_screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CELL_MAX 80
/* A name is not shown shorter: an IPv4 address. */
#define NAME_MIN 15

#define HELP "q quit | s share b MB/s i IOPS l p99 | c client e export d disk f flow F file"

/* ---- lines ------------------------------------------------------------------------------ */

static unsigned int lines_left(const struct screen *s)
{
	return s->height - s->lines;
}

/* Adds a line, or as much of it as fits; beyond the height nothing. */
__attribute__((format(printf, 2, 3))) static void add_line(struct screen *s, const char *format,
							   ...)
{
	char *line = s->line[s->lines];
	va_list args;
	size_t n;

	if (!lines_left(s))
		return;
	va_start(args, format);
	vsnprintf(line, s->width + 1, format, args);
	va_end(args);
	for (n = strlen(line); n && line[n - 1] == ' '; n--)
		line[n - 1] = '\0';
	s->lines++;
}

/* TEXT in WIDTH cells: its end, which tells addresses of one network apart. */
static void fit(char *cell, const char *text, unsigned int width)
{
	size_t n = strlen(text);

	if (n <= width)
		snprintf(cell, CELL_MAX, "%s", text);
	else
		snprintf(cell, CELL_MAX, "~%s", text + n - width + 1);
}

/* ---- title and devices ------------------------------------------------------------------ */

static void add_title(struct screen *s, const struct screen_view *v, const struct client_rows *rows,
		      const struct use_sample *now)
{
	static const char *const of[ROWS_BY] = {"clients", "exports", "devices", "flows", "files"};
	uint64_t up = now->uptime_s;
	unsigned int total = 0;
	char last[32], listed[32] = "";

	for (unsigned int i = 0; i < now->devices; i++)
		total += now->device[i].flows_total;
	snprintf(last, sizeof(last), "last %.1f s", rows->seconds);
	if (total > now->flows && rows->by != ROWS_FILE)
		snprintf(listed, sizeof(listed), "%u of ", now->flows);
	add_line(s, "%s  up %" PRIu64 " d %02d:%02d  %s by %s, %s, %s%u flow%s%s", v->title,
		 up / 86400, (int)(up / 3600 % 24), (int)(up / 60 % 60), of[rows->by],
		 rows_order_names[v->order], rows->from_start ? "since the start" : last, listed,
		 total, total == 1 ? "" : "s", rows->idle && v->active_only ? ", active" : "");
}

static void percent(char text[CELL_MAX], double part)
{
	if (part >= 0)
		snprintf(text, CELL_MAX, "%.1f", 100 * part);
	else
		snprintf(text, CELL_MAX, "-");
}

/* What READs of all exports found in memory, and what became of what was fetched ahead. */
static void add_reads(struct screen *s, const struct client_rows *rows)
{
	char hit[CELL_MAX], waste[CELL_MAX];

	percent(hit, rows->hit);
	percent(waste, rows->waste);
	if (rows->counted)
		add_line(s, "%.0f READs/s, %s %% in memory; %.1f MB/s fetched ahead, %s %% wasted",
			 rows->reads_per_s, hit, rows->fetched_per_s / 1e6, waste);
}

static void price(char text[CELL_MAX], bool priced, double value, const char *by)
{
	if (priced)
		snprintf(text, CELL_MAX, "%.3f %s", value, by);
	else
		snprintf(text, CELL_MAX, "-");
}

static void add_device(struct screen *s, const struct sample_device *d, double busy)
{
	char name[CELL_MAX], reads[16], write[CELL_MAX], readahead[CELL_MAX];

	fit(name, d->name[0] ? d->name : d->number, 9);
	snprintf(reads, sizeof(reads), "%" PRIu32, d->queued[SAMPLE_DEMAND]);
	price(write, d->priced, d->write_price, d->write_by);
	price(readahead, d->priced, d->readahead_price, d->readahead_by);
	add_line(s, "%-9s %5.1f %6s %8" PRIu32 " %6" PRIu32 " %7" PRIu32 "  %-14s %s", name,
		 100 * busy, d->demand_queued ? reads : "direct", d->queued[SAMPLE_PREFETCH],
		 d->queued[SAMPLE_WRITEBACK], d->running, write, readahead);
}

/* At most half of the height that is left. */
static void add_devices(struct screen *s, const struct client_rows *rows,
			const struct use_sample *now)
{
	unsigned int most = lines_left(s) / 2, n = now->devices;

	if (!n)
		add_line(s, "no device is in use: no export is on a local file system");
	if (!n || most < 2)
		return;
	add_line(s, "%-9s %5s %6s %8s %6s %7s  %-14s %s", "DEVICE", "BUSY%", "READS", "PREFETCH",
		 "WRITES", "RUNNING", "WRITE PRICE", "READ-AHEAD PRICE");
	if (n > most - 1)
		n = most - 2;
	for (unsigned int i = 0; i < n; i++)
		add_device(s, &now->device[i], rows->busy[i]);
	if (n < now->devices)
		add_line(s, "... %u more", now->devices - n);
}

/* ---- columns ---------------------------------------------------------------------------- */

#define CLIENT (1u << ROWS_CLIENT)
#define EXPORT (1u << ROWS_EXPORT)
#define DEVICE (1u << ROWS_DEVICE)
#define FLOW   (1u << ROWS_FLOW)
#define FILES  (1u << ROWS_FILE)
#define DISK   (CLIENT | EXPORT | DEVICE | FLOW)
#define ALL    (DISK | FILES)

static void cell_client(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%s", r->client);
}

static void cell_export(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRId64, r->export_id);
}

static void cell_device(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%s", r->device);
}

static void cell_clients(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%u", r->clients);
}

static void cell_bandwidth(char *cell, const struct client_row *r)
{
	double all = 0;

	for (int c = 0; c < SAMPLE_CLASSES; c++)
		all += r->bytes_per_s[c];
	snprintf(cell, CELL_MAX, "%.1f", all / 1e6);
}

static void cell_written(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.1f", r->bytes_per_s[SAMPLE_WRITEBACK] / 1e6);
}

static void cell_iops(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.0f", r->requests_per_s);
}

static void cell_share(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.1f", 100 * r->share);
}

static void cell_fair(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.1f", 100 * r->fair_share);
}

static void cell_p50(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.1f", r->p50_us / 1e3);
}

static void cell_p99(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.1f", r->p99_us / 1e3);
}

static void cell_queue(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRIu64, r->queued + r->running);
}

static void cell_held(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRIu64, r->held / 1024);
}

static void cell_refused(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.0f", r->refused_per_s);
}

static void cell_weight(char *cell, const struct client_row *r)
{
	if (r->weight)
		snprintf(cell, CELL_MAX, "%" PRIu32, r->weight);
	else
		snprintf(cell, CELL_MAX, "-");
}

static void cell_waits_for(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%s", r->throttled ? "its ceiling" : r->waited_for);
}

static void cell_hit(char *cell, const struct client_row *r)
{
	percent(cell, r->hit);
}

static void cell_waste(char *cell, const struct client_row *r)
{
	percent(cell, r->waste);
}

static void cell_file(char *cell, const struct client_row *r)
{
	if (r->path[0])
		snprintf(cell, CELL_MAX, "%s", r->path);
	else
		snprintf(cell, CELL_MAX, "inode %" PRIu64, r->file);
}

static void cell_streams(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRIu32, r->streams);
}

static void cell_count(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRIu32, r->count);
}

static void cell_window(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRIu64, r->window >> 10);
}

static void cell_unread(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%" PRIu64, r->unread >> 10);
}

static void cell_idle(char *cell, const struct client_row *r)
{
	snprintf(cell, CELL_MAX, "%.1f", (double)r->idle_ms / 1e3);
}

static const struct column {
	const char *heading;
	unsigned int width; /* cells at least */
	unsigned int views; /* in which it is */
	unsigned int minor; /* where cells are short the highest leaves first; 0: never */
	bool is_text;	    /* to the left, and shortened where cells are short */
	void (*cell)(char *cell, const struct client_row *r);
} columns[] = {
	{"CLIENT", NAME_MIN, CLIENT | FLOW, 0, true, cell_client},
	{"EXPORT", 6, EXPORT | FLOW, 0, false, cell_export},
	{"FILE", NAME_MIN, FILES, 0, true, cell_file},
	{"DEVICE", 9, DEVICE | FLOW | FILES, 7, true, cell_device},
	{"CLIENTS", 7, EXPORT | DEVICE, 3, false, cell_clients},
	{"MB/s", 7, ALL, 0, false, cell_bandwidth},
	{"WRITTEN", 7, DISK, 11, false, cell_written},
	{"IOPS", 6, ALL, 4, false, cell_iops},
	{"SHARE%", 6, ALL, 0, false, cell_share},
	{"FAIR%", 5, CLIENT | EXPORT | FLOW, 2, false, cell_fair},
	{"HIT%", 5, CLIENT | EXPORT, 5, false, cell_hit},
	{"WASTE%", 6, CLIENT | EXPORT | FILES, 2, false, cell_waste},
	{"p50ms", 6, FLOW, 8, false, cell_p50},
	{"p50ms", 6, CLIENT | EXPORT | DEVICE, 7, false, cell_p50},
	{"p99ms", 6, DISK, 1, false, cell_p99},
	{"QUEUE", 5, DISK, 5, false, cell_queue},
	{"KiB HELD", 8, DISK, 10, false, cell_held},
	{"REFUSED/s", 9, DISK, 9, false, cell_refused},
	{"WEIGHT", 6, CLIENT | FLOW, 12, false, cell_weight},
	{"WAITS FOR", NAME_MIN, FLOW, 6, true, cell_waits_for},
	{"WAITS FOR", NAME_MIN, CLIENT | EXPORT, 8, true, cell_waits_for},
	{"STREAMS", 7, FILES, 3, false, cell_streams},
	{"COUNT", 5, FILES, 9, false, cell_count},
	{"WINDOW KiB", 10, FILES, 8, false, cell_window},
	{"UNREAD KiB", 10, FILES, 6, false, cell_unread},
	{"IDLE s", 6, FILES, 5, false, cell_idle},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* ---- widths ----------------------------------------------------------------------------- */

/* Cells of each column; 0: it is not shown. */
struct layout {
	unsigned int width[COLUMNS], content[COLUMNS];
};

static unsigned int layout_width(const struct layout *l)
{
	unsigned int sum = 0;

	for (size_t c = 0; c < COLUMNS; c++)
		sum += l->width[c] ? l->width[c] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* As wide as what is in it, but texts at their least. */
static void measure(struct layout *l, const struct client_rows *rows)
{
	char cell[CELL_MAX];

	memset(l, 0, sizeof(*l));
	for (size_t c = 0; c < COLUMNS; c++) {
		if (!(columns[c].views & 1u << rows->by))
			continue;
		l->content[c] = columns[c].width;
		for (unsigned int i = 0; i < rows->n; i++) {
			columns[c].cell(cell, &rows->row[i]);
			if (strlen(cell) > l->content[c])
				l->content[c] = (unsigned int)strlen(cell);
		}
		l->width[c] = columns[c].is_text ? columns[c].width : l->content[c];
	}
}

static bool drop_minor(struct layout *l)
{
	size_t minor = COLUMNS;

	for (size_t c = 0; c < COLUMNS; c++)
		if (l->width[c] && columns[c].minor &&
		    (minor == COLUMNS || columns[c].minor > columns[minor].minor))
			minor = c;
	if (minor < COLUMNS)
		l->width[minor] = 0;
	return minor < COLUMNS;
}

static void lay_out(struct layout *l, const struct client_rows *rows, unsigned int width)
{
	measure(l, rows);
	while (layout_width(l) > width && drop_minor(l))
		;
	for (size_t c = 0; c < COLUMNS; c++) /* what is left over is for texts */
		while (l->width[c] && l->width[c] < l->content[c] && layout_width(l) < width)
			l->width[c]++;
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The columns of ROW, or of NULL the headings. */
static void add_row(struct screen *s, const struct layout *l, const struct client_row *row)
{
	char line[COLUMNS * (CELL_MAX + 1)], text[CELL_MAX], cell[CELL_MAX];
	size_t n = 0;

	line[0] = '\0';
	for (size_t c = 0; c < COLUMNS; c++) {
		int width = (int)l->width[c];

		if (!width)
			continue;
		if (row)
			columns[c].cell(text, row);
		else
			snprintf(text, sizeof(text), "%s", columns[c].heading);
		fit(cell, text, l->width[c]);
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%*s", n ? " " : "",
				      columns[c].is_text ? -width : width, cell);
	}
	add_line(s, "%s", line);
}

static void add_rows(struct screen *s, const struct screen_view *v, const struct client_rows *rows,
		     unsigned int below)
{
	unsigned int n = v->active_only ? rows->n - rows->idle : rows->n, shown = 0, most;
	struct layout l;

	lay_out(&l, rows, s->width);
	s->heading = s->lines;
	add_row(s, &l, NULL);
	most = lines_left(s) > below ? lines_left(s) - below : 0;
	if (n > most) /* the last of them says so */
		most = most ? most - 1 : 0;
	for (unsigned int i = 0; i < rows->n && shown < most; i++)
		if (rows->row[i].active || !v->active_only) {
			add_row(s, &l, &rows->row[i]);
			shown++;
		}
	if (shown < n)
		add_line(s, "... %u more", n - shown);
	if (!rows->n)
		add_line(s, rows->by == ROWS_FILE ? "no file was read past the page cache yet"
						  : "no client has used a device yet");
}

void screen_draw(struct screen *s, const struct screen_view *v, const struct client_rows *rows,
		 const struct use_sample *now)
{
	if (s->width > SCREEN_WIDTH_MAX)
		s->width = SCREEN_WIDTH_MAX;
	if (s->height > SCREEN_LINES_MAX)
		s->height = SCREEN_LINES_MAX;
	s->lines = 0;
	add_title(s, v, rows, now);
	add_reads(s, rows);
	add_devices(s, rows, now);
	add_line(s, "%s", "");
	add_rows(s, v, rows, v->help);
	while (v->help && lines_left(s) > 1)
		add_line(s, "%s", "");
	if (v->help)
		add_line(s, "%s", HELP);
}
