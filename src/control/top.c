/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Two samples, of which the older one is replaced again and again:
 *
 *   ask --> sample[0]   sample[1] <-- ask           rows = between the two, by what is wanted
 *              `-- interval --'
 *
 * Each sample is taken over a connection of its own: the server closes one that says nothing for
 * Control_Timeout. A key, or another size of the terminal, shows the same two samples again.
 */
#include "control/top.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "control/client.h"
#include "control/terminal.h"
#include "control/top_screen.h"

/* Rows by file: of those read last. More cost the server more than looking is worth. */
#define FILES 40

static struct {
	struct use_sample sample[2];
	unsigned int last; /* the newer one */
	bool two;	   /* the other one is filled */
	struct client_rows rows;
	struct screen screen;
	char error[CLIENT_ERROR];
} top;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* When the interval after LAST ends. One that is over, for ractl was stopped meanwhile, begins anew. */
static int64_t next_end(const struct top_options *o, int64_t last)
{
	int64_t next = last + (int64_t)o->interval, now = now_ms();

	return next > now ? next : now + (int64_t)o->interval;
}

/* ---- samples ---------------------------------------------------------------------------- */

/* The answer to COMMAND, with LIMIT unless that is 0; to be put; NULL: top.error says why not. */
static struct json_object *ask(struct client *c, const char *command, unsigned int limit)
{
	struct json_object *request = json_object_new_object(), *answer;

	json_object_object_add(request, "command", json_object_new_string(command));
	if (limit)
		json_object_object_add(request, "limit", json_object_new_uint64(limit));
	answer = client_ask(c, request);
	memcpy(top.error, c->error, sizeof(top.error));
	json_object_put(request);
	return answer;
}

/* Adds what COMMAND says to the sample S; false: top.error says why not. */
static bool ask_for(struct client *c, const char *command, unsigned int limit, struct use_sample *s,
		    bool (*read)(struct use_sample *s, struct json_object *answer))
{
	struct json_object *answer = ask(c, command, limit), *error;
	bool done = answer && read(s, answer);

	if (answer && !done)
		snprintf(top.error, sizeof(top.error), "%s",
			 json_object_object_get_ex(answer, "error", &error)
				 ? json_object_get_string(error)
				 : "the answer is none that this ractl knows");
	json_object_put(answer);
	return done;
}

/* One more sample; false: top.error says why not. */
static bool take_sample(const struct top_options *o)
{
	unsigned int next = 1 - top.last;
	struct client c;
	bool done;

	if (!client_open(&c, o->socket, o->timeout_s)) {
		memcpy(top.error, c.error, sizeof(top.error));
		return false;
	}
	/* By file, of the clients only what all devices and exports together say. */
	done = ask_for(&c, "clients", o->by == ROWS_FILE, &top.sample[next], use_sample_read);
	if (done && o->by == ROWS_FILE)
		done = ask_for(&c, "files", FILES, &top.sample[next], use_sample_read_files);
	client_close(&c);
	if (done)
		top.last = next;
	return done;
}

static void make_rows(const struct top_options *o)
{
	client_rows_between(&top.rows, top.two ? &top.sample[1 - top.last] : NULL,
			    &top.sample[top.last], o->by);
	client_rows_sort(&top.rows, o->order);
}

/* ---- as text ---------------------------------------------------------------------------- */

static void print_json(void)
{
	struct json_object *o = client_rows_json(&top.rows, &top.sample[top.last]);

	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

static void print_screen(const struct top_options *o, bool active_only)
{
	char title[32];
	time_t now = time(NULL);
	struct screen_view view = {.title = title, .order = o->order, .active_only = active_only};
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(title, sizeof(title), "%F %T", &tm);
	top.screen.width = SCREEN_WIDTH_MAX;
	top.screen.height = SCREEN_LINES_MAX;
	screen_draw(&top.screen, &view, &top.rows, &top.sample[top.last]);
	for (unsigned int i = 0; i < top.screen.lines; i++)
		puts(top.screen.line[i]);
}

/* False: it could not be written. */
static bool print(const struct top_options *o, bool active_only)
{
	make_rows(o);
	if (o->json)
		print_json();
	else
		print_screen(o, active_only);
	if (!fflush(stdout))
		return true;
	snprintf(top.error, sizeof(top.error), "cannot write: %s", strerror(errno));
	return false;
}

static void pause_until(int64_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static bool complain(void)
{
	fprintf(stderr, "ractl: %s\n", top.error);
	return false;
}

bool top_clients(const struct top_options *o)
{
	int64_t begin = now_ms();

	if (!take_sample(o))
		return complain();
	if (o->interval) {
		pause_until(begin + (int64_t)o->interval);
		if (!take_sample(o))
			return complain();
		top.two = true;
	}
	return print(o, false) || complain();
}

bool top_batch(const struct top_options *o)
{
	int64_t next = now_ms();

	if (!take_sample(o))
		return complain();
	top.two = true;
	for (uint64_t n = 1; o->count == 0 || n <= o->count; n++) {
		next = next_end(o, next);
		pause_until(next);
		if (!take_sample(o) || !print(o, true))
			return complain();
		if (!o->json && n != o->count)
			puts("");
	}
	return true;
}

/* ---- live ------------------------------------------------------------------------------- */

/* Applies KEYS; false: it is to end. */
static bool apply_keys(struct top_options *o, const char *keys)
{
	static const char order[ORDERS + 1] = "sbil", by[ROWS_BY + 1] = "cedfF";

	for (; *keys; keys++) {
		const char *which = strchr(order, *keys);

		if (*keys == 'q')
			return false;
		if (which)
			o->order = (enum rows_order)(which - order);
		which = strchr(by, *keys);
		if (which)
			o->by = (enum rows_by)(which - by);
	}
	return true;
}

static bool show(const struct top_options *o)
{
	struct screen_view view = {.title = "ractl top", .order = o->order, .help = true};

	make_rows(o);
	terminal_size(&top.screen.width, &top.screen.height);
	screen_draw(&top.screen, &view, &top.rows, &top.sample[top.last]);
	return terminal_show(&top.screen);
}

/* Waits until NEXT, and shows what keys ask for; false: it is to end. */
static bool wait_and_show(struct top_options *o, int64_t next)
{
	char keys[32];
	int64_t left;

	while ((left = next - now_ms()) > 0)
		switch (terminal_wait((int)left, keys, sizeof(keys))) {
		case TERMINAL_TIME:
			break;
		case TERMINAL_GONE:
			return false;
		case TERMINAL_KEYS:
		case TERMINAL_CHANGED:
			if (!apply_keys(o, keys) || !show(o))
				return false;
			break;
		}
	return true;
}

/* False: top.error says why it ended. */
static bool run_live(struct top_options *o)
{
	int64_t next = now_ms();

	for (uint64_t n = 1;; n++) {
		next = next_end(o, next);
		if (!show(o) || !wait_and_show(o, next))
			return true;
		if (n == o->count)
			return true;
		if (!take_sample(o))
			return false;
		top.two = true;
	}
}

bool top_live(const struct top_options *options)
{
	struct top_options o = *options;
	bool done;

	if (!terminal_there()) {
		fprintf(stderr, "ractl: not a terminal: going on as with --batch\n");
		return top_batch(&o);
	}
	if (!take_sample(&o))
		return complain();
	if (!terminal_open()) {
		fprintf(stderr, "ractl: the terminal: %s\n", strerror(errno));
		return false;
	}
	done = run_live(&o);
	terminal_close();
	return done || complain();
}
