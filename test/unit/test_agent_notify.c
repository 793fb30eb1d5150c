/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the service manager is told, on a socket of the test's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include "unit_cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

static char path[64];
static int manager = -1;

static void listen_at(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	memcpy(at.sun_path, name, strlen(name));
	if (*name == '@')
		at.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(manager, (struct sockaddr *)&at,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static const char *heard(void)
{
	static char text[256];
	ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int silence(void **state)
{
	if (manager >= 0)
		close(manager);
	manager = -1;
	unlink(path);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

static void test_a_life(void **state)
{
	struct notify n;

	listen_at(path);
	notify_init(&n);
	assert_true(n.fd >= 0 && n.watchdog == 0);
	notify_ready(&n, 3);
	assert_string_equal(heard(), "READY=1\nSTATUS=mounts: 3\n");
	notify_alive(&n);
	assert_string_equal(heard(), ""); /* it did not ask */
	notify_reloading(&n);
	assert_non_null(strstr(heard(), "RELOADING=1\nMONOTONIC_USEC="));
	notify_stopping(&n);
	assert_string_equal(heard(), "STOPPING=1\n");
	close(n.fd);
}

static void test_abstract_names(void **state)
{
	struct notify n;
	char name[64];

	snprintf(name, sizeof(name), "@ra-notify-%d", (int)getpid());
	listen_at(name);
	notify_init(&n);
	notify_ready(&n, 1);
	assert_string_equal(heard(), "READY=1\nSTATUS=mounts: 1\n");
	close(n.fd);
}

static void test_watchdog(void **state)
{
	struct notify n;
	char pid[16];

	listen_at(path);
	setenv("WATCHDOG_USEC", "60000000", 1);
	notify_init(&n);
	assert_true(n.watchdog == 60);
	notify_alive(&n);
	assert_string_equal(heard(), "WATCHDOG=1\n");
	close(n.fd);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	notify_init(&n);
	assert_true(n.watchdog == 60);
	close(n.fd);
	setenv("WATCHDOG_PID", "1", 1); /* meant for another process */
	notify_init(&n);
	assert_true(n.watchdog == 0);
	close(n.fd);
}

static void test_nobody_wants_to_know(void **state)
{
	static const char *const names[] = {"", "run/notify", "/nowhere/notify"};
	struct notify n;
	char longer[200];

	notify_init(&n);
	assert_int_equal(n.fd, -1);
	notify_ready(&n, 1);
	notify_stopping(&n);
	for (unsigned int i = 0; i < 3; i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		notify_init(&n);
		assert_int_equal(n.fd, -1);
	}
	memset(longer, '/', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	setenv("NOTIFY_SOCKET", longer, 1);
	notify_init(&n);
	assert_int_equal(n.fd, -1);
}

/* Who does not read does not hold us up. */
static void test_never_waits(void **state)
{
	struct notify n;

	listen_at(path);
	notify_init(&n);
	for (unsigned int i = 0; i < 10000; i++)
		notify_stopping(&n);
	close(manager);
	manager = -1;
	notify_stopping(&n);
	close(n.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_life, silence),
		cmocka_unit_test_teardown(test_abstract_names, silence),
		cmocka_unit_test_teardown(test_watchdog, silence),
		cmocka_unit_test_teardown(test_nobody_wants_to_know, silence),
		cmocka_unit_test_teardown(test_never_waits, silence),
	};

	snprintf(path, sizeof(path), "/tmp/ra-notify-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
