/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blocking I/O with time-outs on the socket itself. See client.h. */
#include "control/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "control/control.h"

static void explain_connect(const char *path, int err, char *error, size_t size)
{
	switch (err) {
	case ENOENT:
		snprintf(error, size,
			 "no server: %s does not exist (is nfs-ganesha running with an export of "
			 "FSAL RA, and is its Control_Socket this one?)",
			 path);
		break;
	case ECONNREFUSED:
		snprintf(error, size, "no server: nobody listens at %s (did it die?)", path);
		break;
	case EACCES:
	case EPERM:
		snprintf(error, size,
			 "no permission to connect to %s: it is root's, and of the group "
			 "Control_Group "
			 "if one is set",
			 path);
		break;
	case EAGAIN:
		snprintf(error, size, "%s: the server has too many peers", path);
		break;
	default:
		snprintf(error, size, "cannot connect to %s: %s", path, strerror(err));
	}
}

static int dial(const char *path, unsigned int timeout_s, char *error, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = timeout_s};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		snprintf(error, size, "the socket's path is longer than %zu bytes",
			 sizeof(address.sun_path) - 1);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		explain_connect(path, errno, error, size);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* A server that turns a peer away may close before the request is sent: its answer counts. */
static void send_line(int fd, const char *text, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		sent += (size_t)n;
	}
	if (send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
		return;
}

/* The line, without its newline, to be freed; NULL with errno, 0 when the server closed early. */
static char *receive_line(int fd, unsigned int timeout_s)
{
	char *line = malloc(CONTROL_ANSWER_MAX + 1);
	uint64_t until = clock_now() + timeout_s * CLOCK_SECOND;
	size_t len = 0;

	if (!line)
		return NULL;
	while (len < CONTROL_ANSWER_MAX) {
		ssize_t n = recv(fd, line + len, CONTROL_ANSWER_MAX - len, 0);
		char *end = n > 0 ? memchr(line + len, '\n', (size_t)n) : NULL;

		if (end) {
			*end = '\0';
			return line;
		}
		if (n <= 0 || clock_now() > until) {
			errno = n < 0 ? errno : n ? EAGAIN : 0;
			break;
		}
		len += (size_t)n;
	}
	free(line);
	return NULL;
}

bool client_open(struct client *c, const char *path, unsigned int timeout_s)
{
	*c = (struct client){.path = path, .timeout_s = timeout_s};
	c->fd = dial(path, timeout_s, c->error, sizeof(c->error));
	return c->fd >= 0;
}

void client_close(struct client *c)
{
	close(c->fd);
	c->fd = -1;
}

static void explain_silence(struct client *c)
{
	if (errno == EAGAIN)
		snprintf(c->error, sizeof(c->error), "%s: no answer within %u s", c->path,
			 c->timeout_s);
	else
		snprintf(c->error, sizeof(c->error), "%s: the server closed without an answer%s%s",
			 c->path, errno ? ": " : "", errno ? strerror(errno) : "");
}

struct json_object *client_ask(struct client *c, struct json_object *request)
{
	const char *text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
	struct json_object *answer;
	char *line;

	send_line(c->fd, text, strlen(text));
	line = receive_line(c->fd, c->timeout_s);
	if (!line) {
		explain_silence(c);
		return NULL;
	}
	answer = json_tokener_parse(line);
	free(line);
	if (json_object_is_type(answer, json_type_object))
		return answer;
	snprintf(c->error, sizeof(c->error), "%s: the answer is not a JSON object", c->path);
	json_object_put(answer);
	return NULL;
}
