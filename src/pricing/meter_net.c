/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Bytes through network interfaces against their speed. See meter_net.h. */
#include <string.h>

#include "pricing/meter.h"
#include "pricing/meter_net.h"

/* Names seen in one scan; those of a host with more (veth) come last and do not count anyway. */
#define NAMES_MAX 256
#define MBIT	  1e6

/* Numbers of a line of /proc/net/dev, behind the name. */
enum { RX_BYTES, RX_PACKETS, TX_BYTES = 8, TX_PACKETS, COLUMNS };

struct names {
	unsigned int n;
	char name[NAMES_MAX][NET_NAME];
};

void meter_net_init(struct meter_net *m, const struct net_limits *limits)
{
	memset(m, 0, sizeof(*m));
	m->limits = *limits;
}

static struct net_interface *interface_find(struct meter_net *m, const char *name)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (!strcmp(m->interfaces[i].name, name))
			return &m->interfaces[i];
	return NULL;
}

/* "  NAME: numbers": its name into NAME; returns the numbers, or NULL for another line. */
static const char *interface_line(const char *line, char name[NET_NAME])
{
	const char *at = line + strspn(line, " "), *colon = at + strcspn(at, ":\n");
	size_t len = (size_t)(colon - at);

	if (*colon != ':' || !len || len >= NET_NAME)
		return NULL;
	memcpy(name, at, len);
	name[len] = '\0';
	return colon + 1;
}

static void count(struct meter_net *m, struct net_interface *i, const uint64_t *column,
		  uint64_t now)
{
	uint64_t window = m->limits.window;

	i->present = true;
	rate_add(&i->received, window, now,
		 (double)column[RX_BYTES] + NET_FRAME * (double)column[RX_PACKETS]);
	rate_add(&i->sent, window, now,
		 (double)column[TX_BYTES] + NET_FRAME * (double)column[TX_PACKETS]);
}

/* Counters of the interfaces that count; the names of all. */
static bool read_counters(struct meter_net *m, struct price_source *s, uint64_t now,
			  struct names *names)
{
	names->n = 0;
	for (unsigned int i = 0; i < m->n; i++)
		m->interfaces[i].present = false;
	if (!source_read(s, "/proc/net/dev"))
		return false;
	for (const char *line = s->text; line; line = text_next_line(line)) {
		char *name = names->name[names->n];
		const char *numbers = interface_line(line, name);
		uint64_t column[COLUMNS];
		struct net_interface *i;

		if (!numbers || !text_numbers(numbers, column, COLUMNS))
			continue;
		i = interface_find(m, name);
		if (i)
			count(m, i, column, now);
		if (names->n < NAMES_MAX - 1)
			names->n++;
	}
	return names->n > 0;
}

/* 0: it does not say. */
static uint64_t speed_of(struct meter_net *m, struct price_source *s, const char *name)
{
	uint64_t speed;

	if (m->limits.capacity)
		return m->limits.capacity;
	if (!source_read(s, "/sys/class/net/%s/speed", name) || !text_numbers(s->text, &speed, 1))
		return 0; /* also "-1" */
	return speed;
}

static bool is_physical(struct price_source *s, const char *name)
{
	return source_read(s, "/sys/class/net/%s/device/uevent", name);
}

/* Counts it from now on, or with a new speed, or no longer. */
static void interface_set(struct meter_net *m, const char *name, uint64_t speed)
{
	struct net_interface *i = interface_find(m, name);

	if (!speed) {
		if (i)
			*i = m->interfaces[--m->n];
		return;
	}
	if (!i) {
		if (m->n == NET_INTERFACES_MAX)
			return;
		i = &m->interfaces[m->n++];
		memset(i, 0, sizeof(*i));
		memcpy(i->name, name, NET_NAME);
		i->present = true;
	}
	i->speed = speed;
}

static void drop_absent(struct meter_net *m)
{
	for (unsigned int i = m->n; i-- > 0;)
		if (!m->interfaces[i].present)
			m->interfaces[i] = m->interfaces[--m->n];
}

/* Decides anew which of NAMES count. */
static void scan(struct meter_net *m, struct price_source *s, struct names *names)
{
	bool physical[NAMES_MAX] = {0}, any = false;
	const char *chosen = m->limits.interface;

	drop_absent(m);
	for (unsigned int i = 0; i < names->n && !chosen[0]; i++)
		any |= physical[i] = is_physical(s, names->name[i]);
	for (unsigned int i = 0; i < names->n; i++) {
		const char *name = names->name[i];
		bool counts;

		if (chosen[0])
			counts = !strcmp(name, chosen);
		else if (any)
			counts = physical[i];
		else
			counts = m->limits.capacity && strcmp(name, "lo");
		interface_set(m, name, counts ? speed_of(m, s, name) : 0);
	}
}

static void find_busiest(struct meter_net *m)
{
	m->utilization = 0;
	m->busiest[0] = '\0';
	for (unsigned int i = 0; i < m->n; i++) {
		struct net_interface *in = &m->interfaces[i];
		double received = rate_per_second(&in->received, m->limits.window);
		double sent = rate_per_second(&in->sent, m->limits.window);
		double use = meter_share((received > sent ? received : sent) * 8,
					 (double)in->speed * MBIT * m->limits.full);

		if (!in->present || use <= m->utilization)
			continue;
		m->utilization = use;
		memcpy(m->busiest, in->name, NET_NAME);
	}
}

void meter_net_sample(struct meter_net *m, struct price_source *s, uint64_t now)
{
	struct names names;

	if (!read_counters(m, s, now, &names)) {
		m->unknown[0] = m->busiest[0] = '\0';
		m->utilization = 0;
		meter_unknown(m->unknown, s->name);
		return;
	}
	if (now >= m->next_scan) {
		scan(m, s, &names);
		m->next_scan = now + NET_RESCAN;
	}
	find_busiest(m);
	m->unknown[0] = '\0';
	if (!m->n)
		snprintf(m->unknown, sizeof(m->unknown), "/sys/class/net/%s/speed",
			 m->limits.interface[0] ? m->limits.interface : "*");
}
