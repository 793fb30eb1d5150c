/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * See terminal.h. SIGWINCH and SIGCONT are let in only while terminal_wait() waits, so that none is
 * lost between a look and the wait; handlers call what POSIX allows in them: write(), tcsetattr(),
 * sigaction(), raise().
 */
#include "control/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l" /* the alternate screen, no cursor */
#define LEAVE "\033[0m\033[?25h\033[?1049l"
#define HOME  "\033[H"
#define REST  "\033[K" /* of the line is blank */
#define BELOW "\033[J" /* is blank */
#define BAR   "\033[7m"
#define PLAIN "\033[0m"
#define ESC   '\033'

static struct {
	struct termios before, raw;
	sigset_t waiting; /* signals that are blocked while terminal_wait() waits */
	volatile sig_atomic_t open, changed;
} terminal;

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

static void enter(void)
{
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.raw);
	put(ENTER, strlen(ENTER));
}

static void leave(void)
{
	put(LEAVE, strlen(LEAVE));
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
}

/* ---- signals ---------------------------------------------------------------------------- */

static void end(int signal)
{
	if (terminal.open)
		leave();
	terminal.open = 0;
	raise(signal); /* SA_RESETHAND: now it ends the program */
}

static void stop(int signal)
{
	int err = errno;

	(void)signal;
	if (terminal.open)
		leave();
	raise(SIGSTOP);
	errno = err;
}

static void go_on(int signal)
{
	int err = errno;

	(void)signal;
	if (terminal.open)
		enter();
	terminal.changed = 1;
	errno = err;
}

static void note_size(int signal)
{
	(void)signal;
	terminal.changed = 1;
}

static void on_signal(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

static void catch_all(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t blocked;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		on_signal(ends[i], end, (int)SA_RESETHAND | SA_NODEFER);
	on_signal(SIGTSTP, stop, SA_RESTART);
	on_signal(SIGCONT, go_on, SA_RESTART);
	on_signal(SIGWINCH, note_size, SA_RESTART);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCONT);
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, &terminal.waiting);
	sigdelset(&terminal.waiting, SIGCONT);
	sigdelset(&terminal.waiting, SIGWINCH);
}

/* ---- life ------------------------------------------------------------------------------- */

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
	catch_all();
	terminal.open = 1;
	enter();
	return true;
}

void terminal_close(void)
{
	if (!terminal.open)
		return;
	leave();
	terminal.open = 0;
}

void terminal_size(unsigned int *width, unsigned int *height)
{
	struct winsize size;
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;

	*width = known ? size.ws_col : 80;
	*height = known ? size.ws_row : 24;
}

/* ---- screen and keys -------------------------------------------------------------------- */

bool terminal_show(const struct screen *s)
{
	static char frame[SCREEN_LINES_MAX * (SCREEN_WIDTH_MAX + 16)];
	size_t n = (size_t)snprintf(frame, sizeof(frame), HOME);

	for (unsigned int i = 0; i < s->lines; i++) {
		bool bar = i == s->heading;

		n += (size_t)snprintf(frame + n, sizeof(frame) - n, "%s%s" REST "%s%s",
				      bar ? BAR : "", s->line[i], bar ? PLAIN : "",
				      i + 1 < s->lines ? "\r\n" : "");
	}
	n += (size_t)snprintf(frame + n, sizeof(frame) - n, BELOW);
	return put(frame, n);
}

/*
 * Takes out what function keys send: ESC, then [ with numbers and a letter or ~, or O and a letter. As
 * one write of the terminal it comes whole; where it does not, what is left of it is no harm.
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
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	int n = ppoll(&in, 1, &limit, &terminal.waiting);

	keys[0] = '\0';
	if (terminal.changed) {
		terminal.changed = 0;
		return TERMINAL_CHANGED;
	}
	if (n > 0)
		return in.revents & POLLIN ? read_keys(keys, size) : TERMINAL_GONE;
	return n < 0 && errno != EINTR ? TERMINAL_GONE : TERMINAL_TIME;
}
