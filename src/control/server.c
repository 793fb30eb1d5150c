/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server's thread: one poll() over the listening socket, the peers and an event that says stop.
 *
 * A peer is either read from or written to, never both: while an answer is waiting to be taken, no
 * further request is read, so that a peer holds one line and one answer and no more. Its deadline
 * moves with each whole request answered and each whole answer taken, not with each byte, so that
 * a slow peer loses its place. One peer too many is told so and closed.
 */
#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control/listener.h"
#include "control/protocol.h"

#define TICK_MS 1000
/* Pause of accepting when the process has no descriptor left. */
#define ACCEPT_PAUSE_MS 1000
#define TOO_LONG	"the request is longer than 4096 bytes"
_Static_assert(CONTROL_LINE_MAX == 4096, "TOO_LONG says so");

struct peer {
	int fd;		   /* -1: a free place */
	bool read_only;	   /* it may look, and change nothing */
	bool last;	   /* closes when its answer is taken */
	bool held;	   /* what a command of its switched on stays on until it goes */
	uint64_t deadline; /* ms */
	char in[CONTROL_LINE_MAX];
	size_t in_len;
	char *out; /* NULL: reading */
	size_t out_len, out_sent;
};

/* The first entries of polls; the peers' follow in their order. */
enum { POLL_WAKE, POLL_LISTEN, POLL_PEERS };

struct control {
	struct control_settings settings;
	struct listener listener;
	int wake; /* eventfd */
	pthread_t thread;
	atomic_bool stopping;
	uint64_t accept_from, next_tick; /* ms */
	struct peer *peers;
	struct pollfd *polls;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- one peer --------------------------------------------------------------------------- */

static bool anybody_holds(const struct control *c)
{
	for (unsigned int i = 0; i < c->settings.peers; i++)
		if (c->peers[i].held)
			return true;
	return false;
}

static void peer_close(struct control *c, struct peer *p)
{
	bool held = p->held;

	close(p->fd);
	free(p->out);
	p->fd = -1;
	p->out = NULL;
	p->held = false;
	if (held && !anybody_holds(c) && c->settings.released)
		c->settings.released();
}

/* Sends what the socket takes now. */
static void peer_flush(struct control *c, struct peer *p, uint64_t now)
{
	ssize_t n = send(p->fd, p->out + p->out_sent, p->out_len - p->out_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		peer_close(c, p);
		return;
	}
	if (n > 0)
		p->out_sent += (size_t)n;
	if (p->out_sent < p->out_len)
		return;
	free(p->out);
	p->out = NULL;
	p->deadline = now + c->settings.timeout_ms;
	if (p->last)
		peer_close(c, p);
}

static void peer_send(struct control *c, struct peer *p, char *text, size_t len, uint64_t now)
{
	if (!text) {
		peer_close(c, p);
		return;
	}
	p->out = text;
	p->out_len = len;
	p->out_sent = 0;
	p->deadline = now + c->settings.timeout_ms;
	peer_flush(c, p, now);
}

static void refuse_long_line(struct control *c, struct peer *p, uint64_t now)
{
	size_t len;
	char *text = protocol_error(TOO_LONG, &len);

	p->last = true;
	p->in_len = 0;
	peer_send(c, p, text, len, now);
}

/* Answers the whole lines that are there, for as long as the peer takes the answers. */
static void peer_serve(struct control *c, struct peer *p, uint64_t now)
{
	while (p->fd >= 0 && !p->out) {
		char *end = memchr(p->in, '\n', p->in_len);
		size_t line = end ? (size_t)(end - p->in) : 0, len;
		char *text;

		if (!end)
			break;
		text = protocol_answer_as(c->settings.commands, p->in, line, &len, &p->held,
					  p->read_only);
		p->in_len -= line + 1;
		memmove(p->in, end + 1, p->in_len);
		peer_send(c, p, text, len, now);
	}
	if (p->fd >= 0 && !p->out && p->in_len == sizeof(p->in))
		refuse_long_line(c, p, now);
}

static void peer_receive(struct control *c, struct peer *p, uint64_t now)
{
	ssize_t n = recv(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);

	if (n > 0) {
		p->in_len += (size_t)n;
		peer_serve(c, p, now);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		peer_close(c, p);
	}
}

static void peer_ready(struct control *c, struct peer *p, uint64_t now)
{
	if (!p->out) {
		peer_receive(c, p, now);
		return;
	}
	peer_flush(c, p, now);
	if (p->fd >= 0)
		peer_serve(c, p, now);
}

/* ---- all of them ------------------------------------------------------------------------ */

static struct peer *free_place(struct control *c)
{
	for (unsigned int i = 0; i < c->settings.peers; i++)
		if (c->peers[i].fd < 0)
			return &c->peers[i];
	return NULL;
}

static void turn_away(int fd)
{
	size_t len;
	char *text = protocol_error("too many peers: try again later", &len);

	/* A new socket has room for it. */
	if (text && send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		len = 0;
	free(text);
	close(fd);
}

/* Root, and whoever the server runs as. */
static bool may_change(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* Who may only look keeps nobody out who may change: the one that would be given up first goes. */
static struct peer *place_of_looker(struct control *c)
{
	struct peer *first = NULL;

	for (unsigned int i = 0; i < c->settings.peers; i++)
		if (c->peers[i].read_only && (!first || c->peers[i].deadline < first->deadline))
			first = &c->peers[i];
	if (first)
		peer_close(c, first);
	return first;
}

static void accept_peer(struct control *c, uint64_t now)
{
	int fd = accept4(c->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct peer *p;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			c->accept_from = now + ACCEPT_PAUSE_MS;
		return;
	}
	p = free_place(c);
	if (!p && may_change(fd))
		p = place_of_looker(c);
	if (!p) {
		turn_away(fd);
		return;
	}
	p->fd = fd;
	p->read_only = !may_change(fd);
	p->last = false;
	p->in_len = 0;
	p->deadline = now + c->settings.timeout_ms;
}

/* Fills the poll set; returns how long poll() may wait (ms). */
static int prepare(struct control *c, uint64_t now)
{
	uint64_t until = c->next_tick;

	c->polls[POLL_WAKE] = (struct pollfd){.fd = c->wake, .events = POLLIN};
	c->polls[POLL_LISTEN] =
		(struct pollfd){.fd = now < c->accept_from ? -1 : c->listener.fd, .events = POLLIN};
	for (unsigned int i = 0; i < c->settings.peers; i++) {
		struct peer *p = &c->peers[i];

		c->polls[POLL_PEERS + i] =
			(struct pollfd){.fd = p->fd, .events = p->out ? POLLOUT : POLLIN};
		if (p->fd >= 0 && p->deadline < until)
			until = p->deadline;
	}
	return until > now ? (int)(until - now) : 0;
}

static void serve_peers(struct control *c, uint64_t now)
{
	for (unsigned int i = 0; i < c->settings.peers; i++) {
		struct peer *p = &c->peers[i];

		if (p->fd >= 0 && c->polls[POLL_PEERS + i].revents)
			peer_ready(c, p, now);
		if (p->fd >= 0 && now >= p->deadline)
			peer_close(c, p);
	}
}

static void *server_main(void *arg)
{
	struct control *c = arg;

	if (c->settings.thread_start)
		c->settings.thread_start();
	c->next_tick = now_ms();
	while (!atomic_load(&c->stopping)) {
		uint64_t now = now_ms();

		if (now >= c->next_tick) {
			if (c->settings.tick)
				c->settings.tick();
			c->next_tick = now + TICK_MS;
		}
		if (poll(c->polls, POLL_PEERS + c->settings.peers, prepare(c, now)) < 0)
			continue;
		now = now_ms();
		serve_peers(c, now);
		/* Last: a place taken now has no result of this poll. */
		if (c->polls[POLL_LISTEN].revents)
			accept_peer(c, now);
	}
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------- */

static void destroy(struct control *c)
{
	listener_close(&c->listener);
	if (c->wake >= 0)
		close(c->wake);
	free(c->peers);
	free(c->polls);
	free(c);
}

/* Signals are the host's business. */
static int start_thread(struct control *c)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&c->thread, NULL, server_main, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int control_start(const struct control_settings *settings, struct control **control)
{
	struct control *c = calloc(1, sizeof(*c));
	int err;

	*control = NULL;
	if (!c)
		return ENOMEM;
	c->settings = *settings;
	c->listener = (struct listener){.fd = -1, .dir = -1, .lock = -1};
	c->peers = calloc(settings->peers, sizeof(*c->peers));
	c->polls = calloc(POLL_PEERS + settings->peers, sizeof(*c->polls));
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!c->peers || !c->polls || c->wake < 0) {
		settings->log("no memory or descriptor left for the control channel");
		destroy(c);
		return ENOMEM;
	}
	for (unsigned int i = 0; i < settings->peers; i++)
		c->peers[i].fd = -1;
	err = listener_open(&c->listener, settings->path, settings->group, settings->log);
	if (!err) {
		c->settings.path = c->listener.path;
		err = start_thread(c);
		if (err)
			settings->log("the control channel's thread could not be started");
	}
	if (err) {
		destroy(c);
		return err;
	}
	*control = c;
	return 0;
}

void control_stop(struct control *c)
{
	if (!c)
		return;
	atomic_store(&c->stopping, true);
	eventfd_write(c->wake, 1);
	pthread_join(c->thread, NULL);
	for (unsigned int i = 0; i < c->settings.peers; i++)
		if (c->peers[i].fd >= 0)
			peer_close(c, &c->peers[i]);
	destroy(c);
}
