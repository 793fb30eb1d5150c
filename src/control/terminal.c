/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See terminal.h. Signals are blocked, and a thread of their own takes them one by one, so that no code
 * runs in the midst of other code:
 *
 *   main      keys, size -- poll() <-- a pipe -- the terminal is as it was again, or has another size
 *                                        ^
 *   watcher   sigwaitinfo() --> WINCH, CONT     TSTP: restores the terminal, stops; INT, ...: restores it, ends
 *
 * Who writes a frame or changes the terminal has the mutex. A terminal that takes no bytes (Ctrl-S) may
 * keep it for good: the watcher waits for either only for PATIENCE, and goes on without.
 */
#include "control/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ENTER	 "\033[?1049h\033[?25l" /* the alternate screen, no cursor */
#define LEAVE	 "\033[0m\033[?25h\033[?1049l"
#define HOME	 "\033[H"
#define REST	 "\033[K" /* of the line is blank */
#define BELOW	 "\033[J" /* is blank */
#define BAR	 "\033[7m"
#define PLAIN	 "\033[0m"
#define ESC	 '\033'
#define PATIENCE 1 /* s */

static struct {
	struct termios before, raw;
	sigset_t signals; /* the watcher's */
	pthread_t watcher;
	pthread_mutex_t mutex;
	int changed[2]; /* a pipe */
	bool open;	/* the mutex */
} terminal = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* False: it is gone. */
static bool put(const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		text += done;
		n -= (size_t)done;
	}
	return true;
}

/* Whether the terminal takes some bytes before long; no: another may be writing, or it is stopped. */
static bool is_writable(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&out, 1, PATIENCE * 1000) > 0 && (out.revents & POLLOUT);
}

static void enter(void)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.raw);
	if (is_writable())
		put(ENTER, strlen(ENTER));
}

static void leave(void)
{
	if (is_writable())
		put(LEAVE, strlen(LEAVE));
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
}

/* ---- signals ----------------------------------------------------------------------------- */

static void restore(void)
{
	if (terminal.open)
		leave();
}

/* Whether the watcher has the mutex; no: the terminal keeps it. */
static bool take(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	return pthread_mutex_timedlock(&terminal.mutex, &until) == 0;
}

/* As the signal does by itself, once the terminal is as it was. */
static void end(int signal)
{
	sigset_t one;

	(void)take();
	restore();
	sigemptyset(&one);
	sigaddset(&one, signal);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(signal);
}

/* The terminal's own state is the shell's while we are stopped. SIGCONT, which ends that, comes next. */
static void stop(void)
{
	bool mine = take();

	restore();
	if (mine)
		pthread_mutex_unlock(&terminal.mutex);
	raise(SIGSTOP);
}

static void go_on(void)
{
	bool mine = take();

	if (terminal.open)
		enter();
	if (mine)
		pthread_mutex_unlock(&terminal.mutex);
}

/* Full is as good: main has not looked yet. */
static void tell(void)
{
	ssize_t n = write(terminal.changed[1], "", 1);

	(void)n;
}

static void *watch(void *arg)
{
	int signal;

	while ((signal = sigwaitinfo(&terminal.signals, NULL)) > 0 || errno == EINTR) {
		if (signal == SIGTSTP)
			stop();
		else if (signal == SIGCONT)
			go_on();
		else if (signal > 0 && signal != SIGWINCH)
			end(signal);
		if (signal == SIGCONT || signal == SIGWINCH)
			tell();
	}
	return arg;
}

/* Signals go to the watcher from now on, to the program's end. */
static bool catch_all(void)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

	sigemptyset(&terminal.signals);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaddset(&terminal.signals, caught[i]);
	if (pipe2(terminal.changed, O_CLOEXEC | O_NONBLOCK))
		return false;
	pthread_sigmask(SIG_BLOCK, &terminal.signals, NULL);
	errno = pthread_create(&terminal.watcher, NULL, watch, NULL);
	return errno == 0;
}

/* ---- life -------------------------------------------------------------------------------- */

bool terminal_there(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && kind && kind[0] &&
	       strcmp(kind, "dumb") != 0;
}

bool terminal_open(void)
{
	if (tcgetattr(STDIN_FILENO, &terminal.before))
		return false;
	terminal.raw = terminal.before;
	terminal.raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	terminal.raw.c_cc[VMIN] = 1;
	terminal.raw.c_cc[VTIME] = 0;
	if (!catch_all())
		return false;
	pthread_mutex_lock(&terminal.mutex);
	terminal.open = true;
	enter();
	pthread_mutex_unlock(&terminal.mutex);
	return true;
}

void terminal_close(void)
{
	pthread_mutex_lock(&terminal.mutex);
	restore();
	terminal.open = false;
	pthread_mutex_unlock(&terminal.mutex);
}

void terminal_size(unsigned int *width, unsigned int *height)
{
	struct winsize size;
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;

	*width = known ? size.ws_col : 80;
	*height = known ? size.ws_row : 24;
}

/* ---- screen and keys --------------------------------------------------------------------- */

bool terminal_show(const struct screen *s)
{
	static char frame[SCREEN_LINES_MAX * (SCREEN_WIDTH_MAX + 16)];
	size_t n = (size_t)snprintf(frame, sizeof(frame), HOME);
	bool there;

	for (unsigned int i = 0; i < s->lines; i++) {
		bool bar = i == s->heading;

		n += (size_t)snprintf(frame + n, sizeof(frame) - n, "%s%s" REST "%s%s",
				      bar ? BAR : "", s->line[i], bar ? PLAIN : "",
				      i + 1 < s->lines ? "\r\n" : "");
	}
	n += (size_t)snprintf(frame + n, sizeof(frame) - n, BELOW);
	pthread_mutex_lock(&terminal.mutex);
	there = put(frame, n);
	pthread_mutex_unlock(&terminal.mutex);
	return there;
}

/*
 * Takes out what function keys send: ESC, then [ with numbers and a letter or ~, or O and a letter. As one
 * write of the terminal it comes whole; where it does not, what is left of it is no harm.
 */
static void drop_function_keys(char *keys)
{
	const char *from = keys;

	while (*from) {
		if (*from != ESC) {
			*keys++ = *from++;
			continue;
		}
		from++;
		if (*from == '[')
			from += 1 + strspn(from + 1, "0123456789;");
		else if (*from == 'O')
			from++;
		if (*from)
			from++;
	}
	*keys = '\0';
}

static enum terminal_event read_keys(char *keys, size_t size)
{
	ssize_t n = read(STDIN_FILENO, keys, size - 1);

	if (n <= 0)
		return n < 0 && errno == EINTR ? TERMINAL_CHANGED : TERMINAL_GONE;
	keys[n] = '\0';
	drop_function_keys(keys);
	return TERMINAL_KEYS;
}

enum terminal_event terminal_wait(int ms, char *keys, size_t size)
{
	struct pollfd in[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = terminal.changed[0], .events = POLLIN}};
	int n = poll(in, 2, ms);
	char said[16];

	keys[0] = '\0';
	if (n > 0 && in[1].revents) {
		while (read(terminal.changed[0], said, sizeof(said)) > 0)
			;
		return TERMINAL_CHANGED;
	}
	if (n > 0)
		return in[0].revents & POLLIN ? read_keys(keys, size) : TERMINAL_GONE;
	return n < 0 && errno != EINTR ? TERMINAL_GONE : TERMINAL_TIME;
}
