/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sleeping until a signal or a time. See wakeup.h. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "wakeup.h"

double wakeup_now(void)
{
	return (double)clock_now() / (double)CLOCK_SECOND;
}

void wakeup_hold_reload(bool hold)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void wakeup_hold_end(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int wakeup_init(struct wakeup *w)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;

	*w = (struct wakeup){0};
	sigemptyset(&set);
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		signal(signals[i], SIG_DFL); /* an ignored SIGCHLD would lose the children's ends */
		sigaddset(&set, signals[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->fd < 0 ? errno : 0;
}

static void take(struct wakeup *w, double until)
{
	struct pollfd fd = {.fd = w->fd, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&fd, 1, (int)ceil(1000 * fmax(0, until - wakeup_now())));
	while (read(w->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			w->reload = true;
		else if (info.ssi_signo == SIGCHLD)
			w->child = true;
		else
			w->end = true;
	}
}

void wakeup_wait(struct wakeup *w, double until)
{
	if (!w->child && !w->end && !w->reload)
		take(w, until);
	w->child = false;
}

void wakeup_rest(struct wakeup *w, double until)
{
	while (!w->end && !w->reload && wakeup_now() < until)
		take(w, until);
}
