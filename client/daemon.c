/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The agent's loop. See daemon.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon.h"
#include "fstab.h"
#include "log_sink.h"
#include "metrics.h"
#include "notify.h"
#include "state.h"
#include "wakeup.h"
#include "watch.h"

/* --once: more replies than that do not help (one in four million servers with prices needs more).
 */
#define ONCE_REPLIES 40
/* However many mounts there are, and calls return: not sooner again (s) does a round begin (where mounts wait for
 * a place to ask: the second), is memory looked at, is the record written for what --status shows (for a knob it
 * is at once). */
#define ROUND_PACE    0.1
#define ROUND_CROWDED 0.02
#define ROUND_LONGEST 0.5 /* a burst of writes is seen so soon, or before the kernel sends it */
#define LOOK_PACE     0.25
#define RECORD_PACE   0.5
/* Nor is it tried sooner again (s) to put a knob back that could not be. */
#define LEFT_PACE 1

static struct daemon {
	struct watch_host host;
	struct wakeup wakeup;
	struct notify notify;
	char *recorded;		     /* the text that stands in /run; NULL: unknown */
	bool added;		     /* with lines of knobs behind it */
	double record_at;	     /* s: when the next one is due */
	double looked;		     /* s: when the machine was looked at */
	struct stat utab;	     /* of UTAB_FILE then; all zero: there was none */
	bool unfollowed;	     /* it could not be read, which was said */
	bool unrecorded;	     /* the last record could not be written, which was said */
	char metrics[SETTINGS_FILE]; /* stands there; "": none */
	double metered;		     /* s: when they were written */
	bool unmetered;		     /* they could not be, which was said */
	double left_at;		     /* s: when knobs that are left are tried again */
	bool left;		     /* there are some, which was said */
} agent;

/* ---- the record -------------------------------------------------------------------------- */

static void put_knob(const struct knob *k, bool turning, FILE *out)
{
	if (!turning || k->turning)
		state_knob(out, k);
}

/* The file that stands there, and the one that will. */
static void put_metrics(const struct daemon *d, FILE *out)
{
	state_metrics(out, d->metrics);
	if (strcmp(d->metrics, d->host.settings.metrics) != 0)
		state_metrics(out, d->host.settings.metrics);
}

/* All that are held, or only what is being turned now. */
static void put_knobs(const struct watch_host *h, bool turning, FILE *out)
{
	for (unsigned int i = 0; i < h->settings.mount_count; i++) {
		put_knob(&h->watches[i].knobs.ratio.knob, turning, out);
		put_knob(&h->watches[i].knobs.readahead.knob, turning, out);
	}
	put_knob(&h->machine.background, turning, out);
	put_knob(&h->machine.limit, turning, out);
	for (unsigned int i = 0; i < h->settings.halts.count; i++)
		put_knob(&h->groups[i].knob, turning, out);
	for (unsigned int i = 0; i < h->keep.count; i++)
		put_knob(&h->keep.at[i].knob, turning, out);
	if (!turning)
		state_left(out);
}

/* What comes before the knobs. */
static void put_head(const struct daemon *d, FILE *out)
{
	const struct watch_host *h = &d->host;

	state_head(out);
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		watch_show(h, &h->watches[i], out);
	watch_groups_show(h, out);
	watch_keep_show(h, out);
	put_metrics(d, out);
}

/* The text of the record, or what is to be added to it; NULL: no memory. To be freed. */
static char *record_text(const struct daemon *d, bool turning)
{
	const struct watch_host *h = &d->host;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!turning)
		put_head(d, out);
	put_knobs(h, turning, out);
	if (!turning)
		history_print(&h->history, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Only where it says something new. */
static int write_record(struct daemon *d)
{
	const char *root = d->host.settings.root;
	char *text = record_text(d, false);
	int err;

	if (!text)
		return ENOMEM;
	if (d->recorded && !d->added && strcmp(text, d->recorded) == 0 && state_stands(root)) {
		free(text);
		return 0;
	}
	err = state_write(root, text);
	free(d->recorded);
	d->recorded = err ? NULL : text;
	d->added = false;
	if (err)
		free(text);
	return err;
}

/* False: what is being turned could not be added to the record. */
static bool add_to_record(struct daemon *d)
{
	char *lines = d->recorded ? record_text(d, true) : NULL;
	const bool good = lines && state_add(d->host.settings.root, lines) == 0;

	d->added = true;
	free(lines);
	if (!good) { /* behind part of a line there is no room for another */
		free(d->recorded);
		d->recorded = NULL;
	}
	return good;
}

static bool told(struct daemon *d, int err)
{
	if (err && !d->unrecorded)
		log_line(LOG_LEVEL_WARN, "%s: no knob is turned: %s", STATE_FILE, strerror(err));
	d->unrecorded = err != 0;
	return err == 0;
}

static void record(struct daemon *d)
{
	if (!d->host.settings.dry_run)
		told(d, write_record(d));
}

/* Before a knob is turned. Where the last record could not be written the next one tells whether that is so
 * still, not each knob: there may be hundreds that are tried in each round. */
static bool record_knob(void *arg)
{
	struct daemon *d = arg;

	if (d->host.settings.dry_run)
		return true;
	return !d->unrecorded && (add_to_record(d) || told(d, write_record(d)));
}

/* ---- metrics ----------------------------------------------------------------------------- */

static void remove_metrics(struct daemon *d)
{
	if (*d->metrics && !mount_table_may_hang(&d->host.mounts, d->metrics))
		unlink(d->metrics);
	*d->metrics = '\0';
}

/* Once in each interval; what another setting names no more is removed. A dry run leaves them to the agent that
 * runs beside it. */
static void write_metrics(struct daemon *d, double now)
{
	const char *path = d->host.settings.metrics;
	int err;

	if (d->host.settings.dry_run)
		return;
	if (strcmp(path, d->metrics) != 0) {
		remove_metrics(d);
		strcpy(d->metrics, path);
		d->metered = -INFINITY;
		d->unmetered = false;
	}
	if (!*path || now - d->metered < d->host.settings.interval)
		return;
	d->metered = now;
	err = metrics_write(&d->host, now, path);
	if (err && !d->unmetered)
		log_line(LOG_LEVEL_WARN, "metrics %s: %s", path,
			 err == EREMOTE
				 ? "must lie on a local file system, which does not hang with "
				   "a server or a daemon: not written"
				 : strerror(err));
	d->unmetered = err != 0;
}

/* ---- running ----------------------------------------------------------------------------- */

static int start(struct daemon *d, const struct settings *s)
{
	struct watch_host *h = &d->host;

	machine_init(&h->machine, s->root, (uint32_t)s->flush_point, s->dry_run);
	h->draw = clock_now() ^ (uint64_t)getpid() << 32;
	h->hand = (struct knob_hand){{record_knob, d}, s->dry_run};
	watch_list(h, s);
	return wakeup_init(&d->wakeup);
}

static void sink(const struct settings *s)
{
	if (s->syslog)
		log_sink_syslog();
	else
		log_sink_stdout();
}

static void read_again(struct daemon *d, int argc, char **argv)
{
	struct settings old = d->host.settings, fresh;
	char error[SETTINGS_LINE + 512];

	settings_init(&fresh);
	if (!settings_parse(&fresh, argc, argv, error, sizeof(error)) ||
	    !settings_check(&fresh, error, sizeof(error))) {
		log_line(LOG_LEVEL_WARN, "SIGHUP: %s: the settings stay as they are", error);
		settings_free(&fresh);
		return;
	}
	watch_list(&d->host, &fresh);
	settings_free(&old);
	sink(&fresh);
	log_line(LOG_LEVEL_EVENT, "SIGHUP: settings read again; mounts: %u", fresh.mount_count);
}

static void reload(struct daemon *d, int argc, char **argv)
{
	d->wakeup.reload = false;
	notify_reloading(&d->notify);
	read_again(d, argc, argv);
	d->record_at = 0;
	notify_ready(&d->notify, d->host.settings.mount_count);
}

/* *NOW: of UTAB_FILE. True: it is not as it was when it was read last. */
static bool utab_changed(const struct daemon *d, struct stat *now)
{
	char path[KNOB_PATH];

	snprintf(path, sizeof(path), "%s" UTAB_FILE, d->host.settings.root);
	if (stat(path, now))
		*now = (struct stat){0};
	return now->st_ino != d->utab.st_ino || now->st_size != d->utab.st_size ||
	       now->st_mtim.tv_sec != d->utab.st_mtim.tv_sec ||
	       now->st_mtim.tv_nsec != d->utab.st_mtim.tv_nsec;
}

static void take_mounts(struct daemon *d, const struct settings *fresh)
{
	struct settings old = d->host.settings;

	watch_list(&d->host, fresh);
	settings_free(&old);
	log_line(LOG_LEVEL_EVENT, "%s: mounts: %u", UTAB_FILE, fresh->mount_count);
}

/* Mounts that were made with the option, or are no more, come and go as they do. What cannot be read is tried
 * again. */
static void follow_utab(struct daemon *d)
{
	struct settings fresh;
	struct stat now;
	char error[SETTINGS_LINE + 512];
	bool read;

	if (!d->host.settings.fstab || !utab_changed(d, &now))
		return;
	read = settings_follow(&d->host.settings, &fresh, error, sizeof(error));
	if (read)
		d->utab = now;
	else if (!d->unfollowed)
		log_line(LOG_LEVEL_WARN, "%s: the mounts stay as they are", error);
	d->unfollowed = !read;
	if (read && !settings_same_mounts(&fresh, &d->host.settings))
		take_mounts(d, &fresh);
	else
		settings_free(&fresh);
}

static void look(struct daemon *d, double now)
{
	struct watch_host *h = &d->host;

	async_pool_reap(&h->pool);
	if (now - d->looked < LOOK_PACE) {
		if (h->burst_time < LOOK_PACE)
			machine_glance(&h->machine);
		return;
	}
	d->looked = now;
	machine_look(&h->machine);
	follow_utab(d);
}

/* Those that could not be put back when they had to be. */
static void put_left_back(struct daemon *d, double now)
{
	const struct knob *k = knob_left(0);

	if (k && now >= d->left_at) {
		if (!d->left)
			log_line(LOG_LEVEL_WARN, "%s: not put back yet: %s", k->path,
				 strerror(k->error));
		d->left_at = now + LEFT_PACE;
		d->left = true;
		knob_left_restore();
	}
	if (d->left && !knob_left(0)) {
		log_line(LOG_LEVEL_EVENT, "no knob is left that has to be put back");
		d->left = false;
	}
}

/* When there is something to do again. */
static double look_after(struct daemon *d, double now)
{
	struct watch_host *h = &d->host;
	bool defers = false;
	double next;

	look(d, now);
	watch_round(h, now);
	next = now + fmin(h->settings.interval, fmin(ROUND_LONGEST, h->burst_time));
	next = fmin(next, watch_tick_all(h, now));
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		defers |= watch_way(h, &h->watches[i]) == WRITE_DEFER;
	machine_flush_follow(&h->machine, defers, &h->hand.recorder);
	put_left_back(d, now);
	return next;
}

/* Where mounts wait for a place to ask, whoever returns gives it to the next. */
static double pace(const struct daemon *d)
{
	return d->host.crowded ? ROUND_CROWDED : ROUND_PACE;
}

static void run(struct daemon *d, int argc, char **argv)
{
	/* Twice in the watchdog's time, also where the interval is longer. */
	const double longest = d->notify.watchdog > 0 ? d->notify.watchdog / 2 : INFINITY;

	notify_ready(&d->notify, d->host.settings.mount_count);
	while (!d->wakeup.end) {
		const double now = wakeup_now();
		double next = look_after(d, now);

		if (now >= d->record_at) {
			record(d);
			d->record_at = now + RECORD_PACE;
		} else {
			next = fmin(next, d->record_at);
		}
		write_metrics(d, now);
		notify_alive(&d->notify);
		wakeup_rest(&d->wakeup, now + fmin(pace(d), longest));
		wakeup_wait(&d->wakeup, fmin(next, now + longest));
		if (d->wakeup.reload)
			reload(d, argc, argv);
	}
	notify_stopping(&d->notify);
}

int daemon_run(const struct settings *settings, int argc, char **argv)
{
	struct daemon *d = &agent;
	struct watch_host *h = &d->host;
	int err = start(d, settings);

	if (err)
		return err;
	sink(settings);
	if (!settings->mount_count)
		log_line(LOG_LEVEL_EVENT, "no mount has the option %s yet", FSTAB_OPTION);
	notify_init(&d->notify);
	run(d, argc, argv);
	for (unsigned int i = 0; i < h->settings.mount_count; i++)
		watch_release(h, &h->watches[i]);
	watch_groups_release(h);
	watch_keep_release(h);
	machine_flush_point(&h->machine, false, &h->hand.recorder);
	knob_left_restore();
	if (!h->settings.dry_run)
		state_end(h->settings.root);
	remove_metrics(d); /* last: where a link leads it may hang all the same */
	return 0;
}

/* ---- --once ------------------------------------------------------------------------------ */

static bool find_out(struct daemon *d, struct watch *w)
{
	const double end = wakeup_now() + watch_answer(&d->host);
	unsigned int replies = 0;
	char obstacle[64];

	watch_look(&d->host, w, wakeup_now());
	if (*mount_obstacle(&w->mount, obstacle, sizeof(obstacle))) {
		log_line(LOG_LEVEL_EVENT, "%s: %s", w->path, obstacle);
		return false;
	}
	while (replies < ONCE_REPLIES && !w->detector.believed && !w->detector.disproofs &&
	       wakeup_now() < end && !d->wakeup.end) {
		watch_ask(&d->host, w, wakeup_now());
		wakeup_wait(&d->wakeup, fmin(end, watch_next(w, wakeup_now())));
		replies += watch_feed(w, wakeup_now());
	}
	if (w->detector.believed)
		return true;
	mount_calls_leave(&w->calls, &d->host.pool); /* a question that hangs has another's place */
	if (!d->wakeup.end)
		log_line(LOG_LEVEL_EVENT, "%s: %s", w->path,
			 replies ? "the server states no prices" : "no answer");
	return false;
}

int daemon_once(const struct settings *settings)
{
	struct daemon *d = &agent;
	int status = start(d, settings);

	if (status)
		return status;
	d->host.settings.interval = ASK_SOON;
	for (unsigned int i = 0; i < settings->mount_count && !d->wakeup.end; i++) {
		struct watch *w = &d->host.watches[i];

		if (!find_out(d, w)) {
			status = -1;
			continue;
		}
		machine_look(&d->host.machine);
		w->answered = wakeup_now();
		w->ask_at = INFINITY;
		watch_tick(&d->host, w, wakeup_now());
	}
	return d->wakeup.end ? EINTR : status;
}
