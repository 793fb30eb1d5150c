/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * No peer of the control channel harms the server or another one: malformed, oversized, slow, greedy,
 * many. Every wait is a poll() that ends when what it waits for happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "unit_cmocka.h"

#include <errno.h>
#include <pthread.h>

#include "control_place.h"

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
		snprintf(all, sizeof(all),
			 "{\"ok\":true,\"schema\":1,\"text\":\"\",\"n\":%d,\"flag\":false}", i);
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
	assert_int_equal(got, strlen("{\"ok\":true,\"schema\":1,\"text\":\"\"}\n") + 1000000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
