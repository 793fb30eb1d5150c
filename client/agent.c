/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ca-nfs-agent: makes an unpatched Linux client obey the congestion prices that its NFSv3 servers
 * state in FSSTAT (doc/fsstat-prices.md), by the kernel's own knobs. This file: its commands.
 *
 *   daemon.c       the loop                         settings*.c    options and files
 *    '- watch.c    one mount: ask, believe, judge, act
 *        |- mounts.c       mountinfo                mount_calls.c  statfs, syncfs
 *        |- decide.c       the table of decisions   async_call.c   calls that may hang
 *        |- mount_use.c    the kernel's counters    doubt.c        prices that cannot be
 *        |- halt.c         groups that halt         group_memory.c their limits
 *        |- keep.c         groups whose cached data is kept
 *        '- mount_knobs.c  what is turned           knob.c         a number in /sys, put back
 *   machine.c      what mounts share: memory        state.c        the record in /run
 *   wakeup.c       what it sleeps on                run_lock.c     there is one agent
 *   notify.c       tells the service manager        log_sink.c     where its lines go
 *   metrics.c      for Prometheus                   live.c         --watch
 *   history.c      the last decisions: --explain   tell.c         what is said of changes
 *
 * It never blocks on a mount, and it leaves every knob as it found it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon.h"
#include "history.h"
#include "live.h"
#include "log_sink.h"
#include "run_lock.h"
#include "settings.h"
#include "state.h"
#include "wakeup.h"

/* How long (s) --restore waits for an agent that is just ending, and --stop for one to end. */
#define RESTORE_WAIT 2
#define STOP_WAIT    15

enum { EXIT_USAGE = 2, EXIT_NO_PRICES = 3 };

__attribute__((format(printf, 2, 3))) static int fail(int status, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("ca-nfs-agent: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

static int take_lock(const char *root, double seconds, const char *if_held)
{
	char name[64];
	pid_t holder = 0;
	int err = run_lock_take(root, seconds, &holder);

	if (err == EWOULDBLOCK)
		return fail(EXIT_FAILURE, "%s: %s has it: %s", RUN_LOCK,
			    run_lock_name(holder, name, sizeof(name)), if_held);
	return err ? fail(EXIT_FAILURE, "%s: %s", RUN_LOCK, strerror(err)) : EXIT_SUCCESS;
}

static int restore(const char *root, double seconds, const char *if_held)
{
	int status = take_lock(root, seconds, if_held);
	unsigned int count;

	wakeup_hold_end();
	if (status != EXIT_SUCCESS)
		return status;
	count = state_restore(root);
	if (count == STATE_UNREAD)
		return EXIT_FAILURE;
	log_line(LOG_LEVEL_EVENT, "%u knobs put back", count);
	return knob_left(0) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int stop(const char *root)
{
	pid_t holder;
	int err = run_lock_holder(root, &holder);

	if (err)
		return fail(EXIT_FAILURE, "%s: %s", RUN_LOCK, strerror(err));
	if (holder > 0 && kill(holder, SIGTERM) && errno != ESRCH)
		return fail(EXIT_FAILURE, "process %d: %s", (int)holder, strerror(errno));
	return restore(root, STOP_WAIT, "it does not end: kill -9 it, then --restore");
}

static int show_status(const char *root)
{
	pid_t holder;
	int err = run_lock_holder(root, &holder);

	if (err)
		return fail(EXIT_FAILURE, "%s: %s", RUN_LOCK, strerror(err));
	if (!holder)
		return fail(EXIT_FAILURE, "is not running");
	if (!state_print(root))
		printf("agent %d\nnothing is known of it: it writes no %s\n", (int)holder,
		       STATE_FILE);
	return EXIT_SUCCESS;
}

static int explain(const char *root)
{
	pid_t holder;
	int err = run_lock_holder(root, &holder);
	char *text;

	if (err)
		return fail(EXIT_FAILURE, "%s: %s", RUN_LOCK, strerror(err));
	if (!holder)
		return fail(EXIT_FAILURE, "is not running");
	text = state_text(root);
	if (!text || !history_show(text, HISTORY_MAX, stdout))
		puts("no decision yet");
	free(text);
	return EXIT_SUCCESS;
}

static int once(struct settings *s)
{
	int err;

	s->dry_run = true;
	err = daemon_once(s);
	if (err > 0)
		return fail(EXIT_FAILURE, "%s", strerror(err));
	return err ? EXIT_NO_PRICES : EXIT_SUCCESS;
}

static int look_after_mounts(const struct settings *s, int argc, char **argv)
{
	int err;

	if (!s->dry_run && !*s->root && geteuid() != 0)
		return fail(EXIT_FAILURE, "only root can turn the kernel's knobs (--dry-run says "
					  "what would be done)");
	if (!s->dry_run) {
		err = take_lock(s->root, 0, "another agent is running (--status shows it)");
		if (err)
			return err;
		wakeup_hold_end();
		if (state_restore(s->root) == STATE_UNREAD)
			return EXIT_FAILURE; /* its own record would take that one's place */
	}
	err = daemon_run(s, argc, argv);
	return err ? fail(EXIT_FAILURE, "%s", strerror(err)) : EXIT_SUCCESS;
}

/* Not one of the commands that only say or end something. */
static bool looks_after(const struct settings *s)
{
	return !(s->help || s->status || s->explain || s->watch || s->stop || s->restore ||
		 s->once);
}

int main(int argc, char **argv)
{
	char error[SETTINGS_LINE + 512];
	struct settings s;

	wakeup_hold_reload(true);
	log_sink_stdout();
	settings_init(&s);
	if (!settings_parse(&s, argc, argv, error, sizeof(error)))
		return fail(s.unreadable ? EXIT_FAILURE : EXIT_USAGE, "%s", error);
	wakeup_hold_reload(looks_after(&s));
	if (s.help) {
		settings_help("ca-nfs-agent");
		return EXIT_SUCCESS;
	}
	if (s.status)
		return show_status(s.root);
	if (s.explain)
		return explain(s.root);
	if (s.watch) {
		live_watch(s.root, 0, isatty(STDOUT_FILENO), stdout);
		return EXIT_SUCCESS;
	}
	if (s.stop)
		return stop(s.root);
	if (s.restore)
		return restore(s.root, RESTORE_WAIT,
			       "an agent is running: --stop ends it and puts the knobs back");
	if (!settings_check(&s, error, sizeof(error)))
		return fail(EXIT_USAGE, "%s", error);
	return s.once ? once(&s) : look_after_mounts(&s, argc, argv);
}
