/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Datagrams to the service manager. See notify.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "notify.h"

/* A path, or a name behind an '@'. */
static int connect_to(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const size_t length = strlen(name);
	int fd;

	if ((*name != '/' && *name != '@') || length >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, name, length);
	if (*name == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* $WATCHDOG_USEC, where $WATCHDOG_PID is us or nobody. */
static double watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return (double)strtoull(usec, NULL, 10) / 1e6;
}

void notify_init(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");

	n->fd = name ? connect_to(name) : -1;
	n->watchdog = n->fd < 0 ? 0 : watchdog();
}

__attribute__((format(printf, 2, 3))) static void tell(const struct notify *n, const char *format,
						       ...)
{
	char text[128];
	va_list args;
	int length;

	if (n->fd < 0)
		return;
	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)!send(n->fd, text, (size_t)length, MSG_NOSIGNAL);
}

void notify_ready(const struct notify *n, unsigned int mounts)
{
	tell(n, "READY=1\nSTATUS=mounts: %u\n", mounts);
}

void notify_reloading(const struct notify *n)
{
	tell(n, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", clock_now() / 1000);
}

void notify_stopping(const struct notify *n)
{
	tell(n, "STOPPING=1\n");
}

void notify_alive(const struct notify *n)
{
	if (n->watchdog > 0)
		tell(n, "WATCHDOG=1\n");
}
