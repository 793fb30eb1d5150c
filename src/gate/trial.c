/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A trial in a child. What it says comes through a pipe, and the verdict with it, as the last line: the
 * host may ignore SIGCHLD, and then there is no exit status to be had.
 *
 *   host  fork --> child: body(says) --> "...what is wrong..." or "passed" --> _exit
 *    '--- reads until the end of the pipe, or for `ms`; then kills the child and waits for it
 */
#include "gate/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char passed[] = "\npassed\n";

/* It dies of what kills it: no handler of the host's, no core, not longer than the host. */
static void be_mortal(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGSYS};
	const struct rlimit none = {0, 0};
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_DFL);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

static void child(bool (*body)(FILE *, void *), void *arg, int fd)
{
	FILE *says = fdopen(fd, "w");

	be_mortal();
	if (says == NULL)
		_exit(1);
	setvbuf(says, NULL, _IOLBF, BUFSIZ); /* also what it says before a crash arrives */
	if (body(says, arg))
		fputs(passed, says);
	fflush(says);
	_exit(0);
}

static long left_ms(const struct timespec *began, unsigned int ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)ms - (now.tv_sec - began->tv_sec) * 1000 -
	       (now.tv_nsec - began->tv_nsec) / 1000000;
}

/* Reads to the end into text, a string of at most TRIAL_SAYS_MAX bytes. False: out of time, or of room. */
static bool hear(int fd, unsigned int ms, char *text)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timespec began;
	size_t length = 0;
	ssize_t n = 1;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while (n != 0 && length < TRIAL_SAYS_MAX) {
		long left = left_ms(&began, ms);

		if (left <= 0)
			break;
		n = -1;
		if (poll(&p, 1, (int)left) > 0)
			n = read(fd, text + length, TRIAL_SAYS_MAX - length);
		if (n > 0)
			length += (size_t)n;
	}
	text[length] = '\0';
	return n == 0;
}

/* The lines that are not "ok ...", in one line. */
static size_t complaints(const char *text, char *why, size_t size)
{
	size_t length = 0;

	why[0] = '\0';
	while (*text != '\0' && length + 1 < size) {
		int line = (int)strcspn(text, "\n");
		int skip = (int)strspn(text, " ");

		if (line > skip && strncmp(text, "ok ", 3) != 0)
			length +=
				(size_t)snprintf(why + length, size - length, "%s%.*s",
						 length != 0 ? "; " : "", line - skip, text + skip);
		text += line + (text[line] != '\0');
	}
	return length < size ? length : size - 1;
}

static bool judge(char *text, bool ended, int status, char *why, size_t size)
{
	size_t length = strlen(text), end = sizeof(passed) - 1;

	if (ended && length >= end && strcmp(text + length - end, passed) == 0)
		return true;
	length = complaints(text, why, size);
	if (!ended)
		snprintf(why + length, size - length, "%sthe check came to no end",
			 length != 0 ? "; " : "");
	else if (WIFSIGNALED(status))
		snprintf(why + length, size - length, "%sthe check was ended by signal %d (%s)",
			 length != 0 ? "; " : "", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (length == 0)
		snprintf(why, size, "the check said nothing");
	return false;
}

bool trial(bool (*body)(FILE *says, void *arg), void *arg, unsigned int ms, char *why, size_t size)
{
	char text[TRIAL_SAYS_MAX + 1];
	int ends[2], status = 0;
	bool ended;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		snprintf(why, size, "no pipe: %s", strerror(errno));
		return false;
	}
	pid = fork();
	if (pid == 0)
		child(body, arg, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		snprintf(why, size, "no process to try it in: %s", strerror(errno));
		close(ends[0]);
		return false;
	}
	ended = hear(ends[0], ms, text);
	close(ends[0]);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return judge(text, ended, status, why, size);
}
