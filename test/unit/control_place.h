/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A server of the control channel in a directory of its own, and peers that talk to it. */
#ifndef UNIT_CONTROL_PLACE_H
#define UNIT_CONTROL_PLACE_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static inline void note_log(const char *line)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

static inline void note_tick(void)
{
	atomic_fetch_add(&ticks, 1);
}

static inline void note_thread(void)
{
	atomic_fetch_add(&threads, 1);
}

static int releases[2] = {-1, -1}; /* a pipe: a byte for each */

static inline void note_release(void)
{
	assert_int_equal(write(releases[1], "r", 1), 1);
}

static inline struct control_settings settings_of(const struct place *p, unsigned int peers,
						  unsigned int timeout_ms)
{
	return (struct control_settings){.path = p->path,
					 .group = (gid_t)-1,
					 .peers = peers,
					 .timeout_ms = timeout_ms,
					 .commands = commands,
					 .log = note_log,
					 .thread_start = note_thread,
					 .tick = note_tick,
					 .released = note_release};
}

static inline int start(struct place *p, unsigned int peers, unsigned int timeout_ms)
{
	struct control_settings settings = settings_of(p, peers, timeout_ms);

	logged[0] = '\0';
	return control_start(&settings, &p->control);
}

static inline int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->dir, sizeof(p->dir), "/tmp/ra-control-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/ra.sock", p->dir);
	*state = p;
	return 0;
}

static inline int tear_down(void **state)
{
	struct place *p = *state;

	control_stop(p->control);
	unlink(p->path);
	assert_int_equal(rmdir(p->dir), 0); /* nothing else is left behind */
	free(p);
	return 0;
}

static inline struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static inline int dial(const struct place *p)
{
	struct sockaddr_un address = address_of(p->path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline void wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

/* One line into TEXT; false at the end of the connection. */
static inline bool read_line(int fd, char *text, size_t size)
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

static inline void send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		assert_true(n > 0);
		text += n;
		len -= (size_t)n;
	}
}

/* Echoes N over FD and back. */
static inline void echo_once(int fd, int n)
{
	char line[128], want[128];

	snprintf(line, sizeof(line), "{\"command\":\"echo\",\"text\":\"t\",\"n\":%d}\n", n);
	snprintf(want, sizeof(want),
		 "{\"ok\":true,\"schema\":1,\"text\":\"t\",\"n\":%d,\"flag\":false}", n);
	send_all(fd, line, strlen(line));
	assert_true(read_line(fd, line, sizeof(line)));
	assert_string_equal(line, want);
}

static inline void assert_serves(const struct place *p)
{
	int fd = dial(p);

	echo_once(fd, 1);
	close(fd);
}

static inline void assert_closed(int fd)
{
	char byte;

	wait_readable(fd);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
