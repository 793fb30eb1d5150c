/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control channel's server: no peer harms it or another one: malformed, oversized, slow, greedy, many. Real sockets in a directory of their own; nothing
 * sleeps, every wait is a poll() that ends when what it waits for happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_table.h"

#define WAIT_MS 20000 /* longest wait for what must happen */

struct place {
	char dir[64], path[96];
	struct control *control;
};

static char logged[1024];
static atomic_int ticks, threads;

static void note_log(const char *line)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

static void note_tick(void)
{
	atomic_fetch_add(&ticks, 1);
}

static void note_thread(void)
{
	atomic_fetch_add(&threads, 1);
}

static int releases[2] = {-1, -1}; /* a pipe: a byte for each */

static void note_release(void)
{
	assert_int_equal(write(releases[1], "r", 1), 1);
}

static struct control_settings settings_of(const struct place *p, unsigned int peers,
					   unsigned int timeout_ms)
{
	return (struct control_settings){.path = p->path,
					 .peers = peers,
					 .timeout_ms = timeout_ms,
					 .commands = commands,
					 .log = note_log,
					 .thread_start = note_thread,
					 .tick = note_tick,
					 .released = note_release};
}

static int start(struct place *p, unsigned int peers, unsigned int timeout_ms)
{
	struct control_settings settings = settings_of(p, peers, timeout_ms);

	logged[0] = '\0';
	return control_start(&settings, &p->control);
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->dir, sizeof(p->dir), "/tmp/ra-control-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/ra.sock", p->dir);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	control_stop(p->control);
	unlink(p->path);
	assert_int_equal(rmdir(p->dir), 0); /* nothing else is left behind */
	free(p);
	return 0;
}

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static int dial(const struct place *p)
{
	struct sockaddr_un address = address_of(p->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

/* One line into TEXT; false at the end of the connection. */
static bool read_line(int fd, char *text, size_t size)
{
	for (size_t len = 0; len + 1 < size; len++) {
		ssize_t n;

		wait_readable(fd);
		n = recv(fd, text + len, 1, 0);
		if (n <= 0)
			return false;
		if (text[len] == '\n') {
			text[len] = '\0';
			return true;
		}
	}
	fail_msg("a line longer than %zu bytes", size);
	return false;
}

static void send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		assert_true(n > 0);
		text += n;
		len -= (size_t)n;
	}
}

/* Echoes N over FD and back. */
static void echo_once(int fd, int n)
{
	char line[128], want[128];

	snprintf(line, sizeof(line), "{\"command\":\"echo\",\"text\":\"t\",\"n\":%d}\n", n);
	snprintf(want, sizeof(want), "{\"ok\":true,\"text\":\"t\",\"n\":%d,\"flag\":false}", n);
	send_all(fd, line, strlen(line));
	assert_true(read_line(fd, line, sizeof(line)));
	assert_string_equal(line, want);
}

static void assert_serves(const struct place *p)
{
	int fd = dial(p);

	echo_once(fd, 1);
	close(fd);
}

static void assert_closed(int fd)
{
	char byte;

	wait_readable(fd);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

static void test_life(void **state)
{
	struct place *p = *state;
	struct stat st;
	int seen = atomic_load(&threads);

	for (int round = 0; round < 3; round++) {
		assert_int_equal(start(p, 4, 10000), 0);
		assert_int_equal(stat(p->path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_serves(p);
		assert_int_equal(atomic_load(&threads), seen + round + 1);
		assert_true(atomic_load(&ticks) > 0);
		control_stop(p->control);
		p->control = NULL;
		assert_int_equal(stat(p->path, &st), -1);
	}
	control_stop(NULL);
}

static void hold_once(int fd)
{
	static const char ask[] = "{\"command\":\"hold\"}\n";
	char line[128];

	send_all(fd, ask, sizeof(ask) - 1);
	assert_true(read_line(fd, line, sizeof(line)));
	assert_string_equal(line, "{\"ok\":true}");
}

/* Told once, when the last of those that hold something is gone; not of others, nor before. */
static void test_released(void **state)
{
	struct place *p = *state;
	int first, second;
	char bytes[8];

	assert_int_equal(pipe(releases), 0);
	assert_int_equal(start(p, 4, 600000), 0);
	first = dial(p);
	second = dial(p);
	hold_once(first);
	hold_once(second);
	hold_once(second);
	assert_serves(p);
	close(first);
	echo_once(second, 7); /* by now the server may have seen the first go */
	close(second);
	wait_readable(releases[0]);
	first = dial(p);
	hold_once(first);
	control_stop(p->control); /* the end of the server is the end of them all */
	p->control = NULL;
	assert_int_equal(read(releases[0], bytes, sizeof(bytes)), 2);
	close(first);
	close(releases[0]);
	close(releases[1]);
}

static void test_stop_with_peers(void **state)
{
	struct place *p = *state;
	int silent, waiting;
	const char *ask = "{\"command\":\"big\",\"size\":1000000}\n";

	assert_int_equal(start(p, 4, 600000), 0);
	silent = dial(p);
	waiting = dial(p);
	send_all(silent, "{\"comm", 7);
	send_all(waiting, ask, strlen(ask));
	wait_readable(waiting);
	control_stop(p->control);
	p->control = NULL;
	assert_closed(silent);
	close(waiting);
}

static void test_stale_socket(void **state)
{
	struct place *p = *state;
	struct sockaddr_un address = address_of(p->path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(start(p, 4, 10000), 0);
	assert_serves(p);
}

static void test_live_socket(void **state)
{
	struct place *p = *state;
	struct place second = *p;

	assert_int_equal(start(p, 4, 10000), 0);
	second.control = NULL;
	assert_int_equal(start(&second, 4, 10000), EADDRINUSE);
	assert_null(second.control);
	assert_non_null(strstr(logged, "another server"));
	assert_non_null(strstr(logged, p->path));
	assert_serves(p);
}

/* The file that a stopped server finds in its socket's place is another's: it stays. */
static void test_stop_leaves_anothers(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(start(p, 4, 10000), 0);
	unlink(p->path);
	assert_int_equal(mknod(p->path, S_IFREG | 0600, 0), 0);
	control_stop(p->control);
	p->control = NULL;
	assert_int_equal(stat(p->path, &st), 0);
}

static void test_not_a_socket(void **state)
{
	struct place *p = *state;
	char target[128];
	struct stat st;

	snprintf(target, sizeof(target), "%s/target", p->dir);
	assert_int_equal(mknod(p->path, S_IFREG | 0600, 0), 0);
	assert_int_equal(start(p, 4, 10000), EEXIST);
	assert_non_null(strstr(logged, "not a socket"));
	assert_int_equal(lstat(p->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));

	/* Symlinks: to a file, to nothing, to a stale socket. */
	for (int kind = 0; kind < 3; kind++) {
		unlink(p->path);
		assert_int_equal(symlink(target, p->path), 0);
		if (kind)
			assert_int_equal(mknod(target, (kind == 1 ? S_IFREG : S_IFSOCK) | 0600, 0),
					 0);
		assert_int_equal(start(p, 4, 10000), EEXIST);
		assert_int_equal(lstat(p->path, &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		assert_int_equal(stat(target, &st), kind ? 0 : -1);
		unlink(target);
	}
}

static void test_paths(void **state)
{
	struct place *p = *state;
	struct place other = *p;
	char longest[200];
	struct control_settings settings = settings_of(p, 4, 10000);

	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	settings.path = longest;
	assert_int_equal(control_start(&settings, &other.control), ENAMETOOLONG);
	settings.path = "relative.sock";
	assert_int_equal(control_start(&settings, &other.control), EINVAL);
	settings.path = "/tmp/";
	assert_int_equal(control_start(&settings, &other.control), EINVAL);

	/* One level is made, two are somebody's mistake. */
	snprintf(other.path, sizeof(other.path), "%s/made/ra.sock", p->dir);
	assert_int_equal(start(&other, 4, 10000), 0);
	assert_serves(&other);
	control_stop(other.control);
	snprintf(longest, sizeof(longest), "%s/made", p->dir);
	assert_int_equal(rmdir(longest), 0);
	snprintf(other.path, sizeof(other.path), "%s/two/levels/ra.sock", p->dir);
	assert_int_equal(start(&other, 4, 10000), ENOENT);
}

/* ---- peers of all kinds ----------------------------------------------------------------- */

static void test_in_pieces(void **state)
{
	struct place *p = *state;
	const char *line = "{\"command\":\"echo\",\"text\":\"\xc3\xa9\"}\r\n";
	char answer[128];
	int fd;

	assert_int_equal(start(p, 4, 10000), 0);
	fd = dial(p);
	for (const char *c = line; *c; c++)
		send_all(fd, c, 1);
	assert_true(read_line(fd, answer, sizeof(answer)));
	assert_non_null(strstr(answer, "\"ok\":true"));
	close(fd);
}

static void test_sent_ahead(void **state)
{
	struct place *p = *state;
	char all[8192], line[256];
	size_t len = 0;
	int fd, n;

	assert_int_equal(start(p, 4, 10000), 0);
	fd = dial(p);
	for (n = 0; len + 100 < sizeof(all); n++)
		len += (size_t)snprintf(all + len, sizeof(all) - len,
					"{\"command\":\"echo\",\"text\":\"\",\"n\":%d}\n", n);
	send_all(fd, all, len);
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < n; i++) {
		snprintf(all, sizeof(all), "{\"ok\":true,\"text\":\"\",\"n\":%d,\"flag\":false}",
			 i);
		assert_true(read_line(fd, line, sizeof(line)));
		assert_string_equal(line, all);
	}
	assert_closed(fd);
}

static void test_malformed_peer_goes_on(void **state)
{
	static const char junk[] = "\n{\0}\nGET / HTTP/1.1\r\n";
	struct place *p = *state;
	char line[512];
	int fd;

	assert_int_equal(start(p, 4, 10000), 0);
	fd = dial(p);
	send_all(fd, junk, sizeof(junk) - 1);
	for (int i = 0; i < 3; i++) {
		assert_true(read_line(fd, line, sizeof(line)));
		assert_non_null(strstr(line, "\"ok\":false"));
	}
	echo_once(fd, 2);
	close(fd);
}

static void test_oversized(void **state)
{
	struct place *p = *state;
	char text[CONTROL_LINE_MAX], line[256];
	int fd, other;

	assert_int_equal(start(p, 4, 10000), 0);
	other = dial(p);

	/* The longest line is read, though it says nothing. */
	fd = dial(p);
	memset(text, ' ', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	send_all(fd, text, sizeof(text));
	assert_true(read_line(fd, line, sizeof(line)));
	assert_non_null(strstr(line, "ends early"));
	echo_once(fd, 3);

	/* One byte more is not. */
	text[sizeof(text) - 1] = ' ';
	send_all(fd, text, sizeof(text));
	assert_true(read_line(fd, line, sizeof(line)));
	assert_non_null(strstr(line, "longer than 4096 bytes"));
	assert_closed(fd);
	echo_once(other, 4);
	close(other);
}

/* A peer that sends a byte now and then, but never a line, loses its place in time. */
static void test_slow_sender(void **state)
{
	struct place *p = *state;
	int slow, other;
	char byte;

	assert_int_equal(start(p, 2, 100), 0);
	slow = dial(p);
	for (int i = 0; i < WAIT_MS / 10; i++) {
		struct pollfd wait = {.fd = slow, .events = POLLIN};

		if (poll(&wait, 1, 10))
			break;
		if (send(slow, "x", 1, MSG_NOSIGNAL) != 1)
			break;
		other = dial(p); /* ... and meanwhile others are served */
		echo_once(other, i);
		close(other);
	}
	wait_readable(slow);
	assert_true(recv(slow, &byte, 1, 0) <= 0);
	close(slow);
}

static void test_silent(void **state)
{
	struct place *p = *state;

	assert_int_equal(start(p, 2, 100), 0);
	assert_closed(dial(p));
	assert_serves(p);
}

/* A peer that asks and asks and takes no answer holds one of them, no more, and not for ever. */
static void test_greedy(void **state)
{
	struct place *p = *state;
	const char *ask = "{\"command\":\"big\",\"size\":1000000}\n";
	struct pollfd wait;
	int fd;

	assert_int_equal(start(p, 2, 200), 0);
	fd = dial(p);
	for (int i = 0; i < 100; i++)
		if (send(fd, ask, strlen(ask), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
	assert_serves(p);
	/* Nothing is read here: the end of the connection shows as POLLHUP. */
	wait = (struct pollfd){.fd = fd};
	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	assert_true(wait.revents & POLLHUP);
	close(fd);
	assert_serves(p);
}

/* A peer that takes a long answer in small bites gets all of it. */
static void test_long_answer(void **state)
{
	struct place *p = *state;
	const char *ask = "{\"command\":\"big\",\"size\":1000000}\n";
	size_t got = 0;
	char bite[999];
	int fd;

	assert_int_equal(start(p, 2, 10000), 0);
	fd = dial(p);
	send_all(fd, ask, strlen(ask));
	do {
		ssize_t n;

		wait_readable(fd);
		n = recv(fd, bite, sizeof(bite), 0);
		assert_true(n > 0);
		got += (size_t)n;
		if (bite[n - 1] == '\n')
			break;
	} while (got < 2000000);
	assert_int_equal(got, strlen("{\"ok\":true,\"text\":\"\"}\n") + 1000000);
	echo_once(fd, 5);
	close(fd);
}

static void test_too_many(void **state)
{
	struct place *p = *state;
	char line[256];
	int fd[4], more;

	assert_int_equal(start(p, 4, 60000), 0);
	for (int i = 0; i < 4; i++) {
		fd[i] = dial(p);
		echo_once(fd[i], i); /* has its place now */
	}
	for (int i = 0; i < 20; i++) {
		more = dial(p);
		assert_true(read_line(more, line, sizeof(line)));
		assert_non_null(strstr(line, "too many peers"));
		assert_closed(more);
	}
	for (int i = 0; i < 4; i++)
		echo_once(fd[i], 10 + i);
	/* A place is free when its peer has gone and the server has seen it. */
	close(fd[0]);
	more = -1;
	for (int i = 0; i < 1000 && more < 0; i++) {
		more = dial(p);
		send(more, "{\"command\":\"no\"}\n", 17, MSG_NOSIGNAL);
		if (read_line(more, line, sizeof(line)) && strstr(line, "no: 42"))
			break;
		close(more);
		more = -1;
	}
	assert_true(more >= 0);
	close(more);
	for (int i = 1; i < 4; i++)
		close(fd[i]);
}

static void test_come_and_go(void **state)
{
	struct place *p = *state;
	const char *ask = "{\"command\":\"big\",\"size\":100000}\n";

	assert_int_equal(start(p, 8, 60000), 0);
	for (int i = 0; i < 500; i++) {
		int fd = dial(p);

		/* Gone before, within or after a request, with the answer not taken. */
		send(fd, ask, i % 3 ? strlen(ask) : (size_t)i % 7, MSG_NOSIGNAL);
		close(fd);
	}
	/* All of them have left their places to us, whatever they left behind. */
	for (int i = 0; i < 1000; i++) {
		char line[256];
		int fd = dial(p);
		bool served;

		send(fd, "{\"command\":\"no\"}\n", 17, MSG_NOSIGNAL);
		served = read_line(fd, line, sizeof(line)) && strstr(line, "no: 42");
		close(fd);
		if (served)
			return;
	}
	fail_msg("no place became free");
}

static void *ask_often(void *arg)
{
	int fd = dial(arg);

	for (int i = 0; i < 300; i++)
		echo_once(fd, i);
	close(fd);
	return NULL;
}

static void test_many_at_once(void **state)
{
	struct place *p = *state;
	pthread_t thread[16];

	assert_int_equal(start(p, 16, 60000), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask_often, p), 0);
	for (int i = 0; i < 16; i++)
		pthread_join(thread[i], NULL);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(test_life),
		WITH_PLACE(test_released),
		WITH_PLACE(test_stop_with_peers),
		WITH_PLACE(test_stale_socket),
		WITH_PLACE(test_live_socket),
		WITH_PLACE(test_stop_leaves_anothers),
		WITH_PLACE(test_not_a_socket),
		WITH_PLACE(test_paths),
		WITH_PLACE(test_in_pieces),
		WITH_PLACE(test_sent_ahead),
		WITH_PLACE(test_malformed_peer_goes_on),
		WITH_PLACE(test_oversized),
		WITH_PLACE(test_slow_sender),
		WITH_PLACE(test_silent),
		WITH_PLACE(test_greedy),
		WITH_PLACE(test_long_answer),
		WITH_PLACE(test_too_many),
		WITH_PLACE(test_come_and_go),
		WITH_PLACE(test_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
