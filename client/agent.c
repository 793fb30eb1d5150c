/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ca-nfs-agent: makes an unpatched Linux client obey the congestion prices that its NFSv3 servers
 * state in FSSTAT (doc/fsstat-prices.md), by the kernel's own knobs.
 *
 *   agent.c     the loop: a signal, a helper thread's result (eventfd), or time to ask
 *   watch.c     one mount: ask, believe, judge, act     decide.c    the judgement, pure
 *   machine.c   what mounts share: memory               knob.c      numbers in /sys, put back
 *   state.c     what survives us in /run                async_call.c calls that may hang
 *   settings.c  options                                 mounts.c    mountinfo
 *
 * It never blocks on a mount, and it leaves every knob as it found it.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "log_sink.h"
#include "settings.h"
#include "state.h"
#include "watch.h"

/*
 * --once: more replies than that do not help (one in four million servers with prices needs more).
 */
#define ONCE_REPLIES 40

enum { EXIT_USAGE = 2, EXIT_NO_PRICES = 3 };

static struct agent {
	struct settings settings;
	struct machine machine;
	struct watch watch[MOUNTS_MAX];
	int wake, signals;
} agent;

static double clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fail(int status, const char *text)
{
	fflush(stdout);
	fprintf(stderr, "ca-nfs-agent: %s\n", text);
	return status;
}

/* ---- what is left in /run ---------------------------------------------------------------- */

static void save(void *arg)
{
	const char *root = agent.settings.root;
	FILE *out;

	if (agent.settings.dry_run || !(out = state_begin(root)))
		return;
	for (unsigned int i = 0; i < agent.settings.mount_count; i++) {
		watch_show(&agent.watch[i], out);
		state_knob(out, &agent.watch[i].ratio);
		state_knob(out, &agent.watch[i].readahead);
	}
	state_knob(out, &agent.machine.background);
	state_knob(out, &agent.machine.limit);
	state_end(root, out);
}

static int take_lock(void)
{
	int err = state_lock(agent.settings.root);
	char text[128];

	if (err == 0)
		return 0;
	snprintf(text, sizeof(text), "%s: %s", STATE_LOCK,
		 err == EWOULDBLOCK ? "another agent is running (--status shows it)"
				    : strerror(err));
	return fail(EXIT_FAILURE, text);
}

static int restore(void)
{
	int status = take_lock();

	if (status == 0)
		log_line(LOG_LEVEL_EVENT, "%u knobs put back", state_restore(agent.settings.root));
	return status;
}

static int show_status(void)
{
	int err = state_lock(agent.settings.root);

	if (err == EWOULDBLOCK && state_print(agent.settings.root))
		return 0;
	return fail(EXIT_FAILURE, err && err != EWOULDBLOCK ? strerror(err) : "is not running");
}

/* ---- running ----------------------------------------------------------------------------- */

static int start(void)
{
	struct settings *s = &agent.settings;
	sigset_t set;
	char text[4352];

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	agent.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	agent.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent.signals < 0 || agent.wake < 0)
		return fail(EXIT_FAILURE, strerror(errno));
	machine_init(&agent.machine, s->root, (uint32_t)s->flush_point, s->dry_run);
	for (unsigned int i = 0; i < s->mount_count; i++) {
		struct watch *w = &agent.watch[i];
		int err = watch_init(w, agent.watch, s->mounts[i], s, &agent.machine, agent.wake);

		if (err)
			return fail(EXIT_FAILURE, strerror(err));
		w->held = save;
		watch_look(w, clock_now());
		if (watch_mount_error(w, text, sizeof(text)) &&
		    !(s->wait && w->mount.kind == MOUNT_NONE))
			return fail(EXIT_FAILURE, text);
	}
	return 0;
}

/* Until something comes, or the time UNTIL. False: a signal wants us to end. */
static bool sleep_until(double until)
{
	struct pollfd fds[] = {{.fd = agent.signals, .events = POLLIN},
			       {.fd = agent.wake, .events = POLLIN}};
	struct signalfd_siginfo info;
	uint64_t count;

	poll(fds, 2, (int)ceil(1000 * fmax(0, until - clock_now())));
	if (read(agent.wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return false;
	return read(agent.signals, &info, sizeof(info)) < 0;
}

static void run(void)
{
	const unsigned int count = agent.settings.mount_count;
	double next;

	do {
		double now = clock_now();
		bool defers = false;

		machine_look(&agent.machine);
		next = now + agent.settings.interval;
		for (unsigned int i = 0; i < count; i++) {
			struct watch *w = &agent.watch[i];

			watch_tick(w, now);
			defers |= w->decision.way == WRITE_DEFER;
			next = fmin(next, w->ask_at);
		}
		machine_flush_point(&agent.machine, defers, save, NULL);
		save(NULL);
	} while (sleep_until(next));
	for (unsigned int i = 0; i < count; i++)
		watch_release(&agent.watch[i]);
	machine_flush_point(&agent.machine, false, save, NULL);
	if (!agent.settings.dry_run)
		state_remove(agent.settings.root);
}

/* ---- --once ------------------------------------------------------------------------------ */

static bool find_out(struct watch *w)
{
	double end = clock_now() + agent.settings.answer;
	unsigned int replies = 0;

	agent.settings.interval = ASK_SOON;
	while (replies < ONCE_REPLIES && !w->detector.believed && !w->detector.disproofs &&
	       clock_now() < end) {
		watch_ask(w, clock_now());
		if (!sleep_until(fmin(end, w->ask_at)))
			break;
		replies += watch_feed(w, clock_now());
	}
	if (!w->detector.believed)
		log_line(LOG_LEVEL_EVENT, "%s: %s", w->path,
			 replies ? "the server states no prices" : "no answer");
	return w->detector.believed;
}

static int once(void)
{
	int status = 0;

	for (unsigned int i = 0; i < agent.settings.mount_count; i++) {
		struct watch *w = &agent.watch[i];

		if (!find_out(w)) {
			status = EXIT_NO_PRICES;
			continue;
		}
		machine_look(&agent.machine);
		w->answered = clock_now();
		w->ask_at = INFINITY;
		watch_tick(w, clock_now());
	}
	return status;
}

/* ------------------------------------------------------------------------------------------ */

static int watch_mounts(void)
{
	struct settings *s = &agent.settings;
	int status;

	if (!s->dry_run && !*s->root && geteuid() != 0)
		return fail(EXIT_FAILURE, "only root can turn the kernel's knobs (--dry-run says "
					  "what would be done)");
	if (!s->dry_run && (status = take_lock()) != 0)
		return status;
	status = start();
	if (status != 0)
		return status;
	if (!s->dry_run)
		state_restore(s->root);
	if (s->syslog)
		log_sink_syslog();
	run();
	return 0;
}

int main(int argc, char **argv)
{
	struct settings *s = &agent.settings;
	char error[SETTINGS_LINE + 512];

	log_sink_stdout();
	settings_init(s);
	if (!settings_parse(s, argc, argv, error, sizeof(error)))
		return fail(EXIT_USAGE, error);
	if (s->help) {
		settings_help("ca-nfs-agent");
		return 0;
	}
	if (s->status)
		return show_status();
	if (s->restore)
		return restore();
	if (!settings_check(s, error, sizeof(error)))
		return fail(EXIT_USAGE, error);
	if (s->once) {
		int status;

		s->dry_run = true;
		status = start();
		return status ? status : once();
	}
	return watch_mounts();
}
