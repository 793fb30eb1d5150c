/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The control channel's server from its start to its end, and its place in the file system. Real
 * sockets in a directory of their own; nothing sleeps, every wait is a poll() that ends when what it
 * waits for happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "unit_cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "control_place.h"

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
	assert_string_equal(line, "{\"ok\":true,\"schema\":1}");
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

/* Any user may lock the directory; what is locked is a file that only the server may open. */
static void test_nobody_keeps_it_from_starting(void **state)
{
	struct place *p = *state;
	char lock[160];
	struct stat st;
	int dir = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(flock(dir, LOCK_EX), 0);
	assert_int_equal(start(p, 4, 10000), 0);
	control_stop(p->control);
	p->control = NULL;
	close(dir);
	snprintf(lock, sizeof(lock), "%s.lock", p->path);
	assert_int_equal(stat(lock, &st), -1);
	assert_int_equal(symlink("/etc/passwd", lock), 0);
	assert_int_equal(start(p, 4, 10000), ELOOP);
	unlink(lock);
	assert_int_equal(mknod(lock, S_IFREG | 0600, 0), 0);
	assert_int_equal(chmod(lock, 0644), 0);
	assert_int_equal(start(p, 4, 10000), EPERM);
	assert_int_equal(stat(lock, &st), 0);	/* it stays */
	assert_int_equal(chmod(lock, 0600), 0); /* as one who died leaves it */
	assert_int_equal(start(p, 4, 10000), 0);
	assert_int_equal(stat(lock, &st), -1);
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
		WITH_PLACE(test_nobody_keeps_it_from_starting),
		WITH_PLACE(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
