/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which interfaces count, against which speed, in which direction. */
#include "fake_source.h"
#include "pricing/meter_net.h"

#define GBIT 125e6 /* bytes a second */

static struct fake_source fake;
static const struct net_limits limits = {.full = 0.95, .window = 500 * MS};

static const char *const head =
	"Inter-|   Receive                                                |  Transmit\n"
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
	"drop fifo colls carrier compressed\n";

struct traffic {
	const char *name;
	double rx, tx; /* bytes a second */
	double packet; /* bytes in one; 0: none is counted */
};

/* SECONDS of traffic on all of T, which ends with a NULL name. */
static void run(struct meter_net *m, uint64_t *now, const struct traffic *t, double seconds)
{
	for (int step = 0; step < seconds * 10; step++) {
		char text[4096];
		int len = snprintf(text, sizeof(text), "%s", head);

		*now += 100 * MS;
		for (const struct traffic *i = t; i->name; i++) {
			double s = (double)*now / 1e9, packets = i->packet > 0 ? 1 / i->packet : 0;

			len += snprintf(text + len, sizeof(text) - (size_t)len,
					"%6s: %.0f %.0f 0 0 0 0 0 0 %.0f %.0f 0 0 0 0 0 0\n",
					i->name, i->rx * s, i->rx * s * packets, i->tx * s,
					i->tx * s * packets);
		}
		fake_set(&fake, "/proc/net/dev", "%s", text);
		meter_net_sample(m, &fake.source, *now);
	}
}

static void physical(const char *name, const char *speed)
{
	char file[64];

	snprintf(file, sizeof(file), "/sys/class/net/%s/device/uevent", name);
	fake_set(&fake, file, "DRIVER=x\n");
	snprintf(file, sizeof(file), "/sys/class/net/%s/speed", name);
	fake_set(&fake, file, "%s\n", speed);
}

static void test_the_higher_direction(void **state)
{
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	physical("eth0", "1000");
	meter_net_init(&m, &limits);
	run(&m, &now, (struct traffic[]){{"eth0", 0.1 * GBIT, 0.3 * GBIT}, {0}}, 2);
	assert_near(m.utilization, 0.3 / 0.95, 1e-3);
	assert_string_equal(m.busiest, "eth0");
	assert_string_equal(m.unknown, "");
	run(&m, &now, (struct traffic[]){{"eth0", 5 * GBIT, 5 * GBIT}, {0}}, 1);
	assert_true(m.utilization == 1);
}

/* A wire full of frames of 1500 bytes shows 1514 of each 1538: that is full, and 95 % of it too. */
static void test_a_full_wire_is_full(void **state)
{
	struct net_limits l = limits;
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	physical("eth0", "1000");
	l.full = 1;
	meter_net_init(&m, &l);
	run(&m, &now, (struct traffic[]){{"eth0", 0, GBIT * 1514 / 1538, 1514}, {0}}, 1);
	assert_near(m.utilization, 1, 1e-3);
}

static void test_the_busiest_interface(void **state)
{
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	physical("eth0", "10000");
	physical("eth1", "1000");
	physical("eth2", "-1");				     /* virtio: does not know */
	fake_set(&fake, "/sys/class/net/br0/speed", "10\n"); /* virtual */
	meter_net_init(&m, &limits);
	run(&m, &now,
	    (struct traffic[]){{"lo", 9 * GBIT, 9 * GBIT},
			       {"eth0", GBIT, GBIT},
			       {"eth1", 0.2 * GBIT, 0},
			       {"eth2", 9 * GBIT, 0},
			       {"br0", 9 * GBIT, 0},
			       {0}},
	    2);
	assert_near(m.utilization, 0.2 / 0.95, 1e-3);
	assert_string_equal(m.busiest, "eth1");
}

static void test_nothing_that_counts(void **state)
{
	struct meter_net m;
	uint64_t now = SECOND;
	static const struct traffic t[] = {{"lo", GBIT, GBIT}, {"veth0", GBIT, 0}, {0}};

	fake_new(&fake);
	fake_set(&fake, "/sys/class/net/veth0/speed", "10000\n");
	meter_net_init(&m, &limits);
	run(&m, &now, t, 1);
	assert_true(m.utilization == 0);
	assert_string_equal(m.unknown, "/sys/class/net/*/speed");
}

/* In a container: the administrator knows what the link carries. */
static void test_capacity_for_virtual_ones(void **state)
{
	struct net_limits l = limits;
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	l.capacity = 1000;
	meter_net_init(&m, &l);
	run(&m, &now, (struct traffic[]){{"lo", 9 * GBIT, 0}, {"veth0", 0, 0.5 * GBIT}, {0}}, 1);
	assert_near(m.utilization, 0.5 / 0.95, 1e-3);
	assert_string_equal(m.busiest, "veth0");
	assert_string_equal(m.unknown, "");
}

static void test_capacity_overrides(void **state)
{
	struct net_limits l = limits;
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	physical("eth0", "10000");
	l.capacity = 100;
	meter_net_init(&m, &l);
	run(&m, &now, (struct traffic[]){{"eth0", 0.05 * GBIT, 0}, {"veth0", 9 * GBIT, 0}, {0}}, 1);
	assert_near(m.utilization, 0.5 / 0.95, 1e-3);
	assert_string_equal(m.busiest, "eth0");
}

static void test_a_named_interface(void **state)
{
	struct net_limits l = limits;
	struct meter_net m;
	uint64_t now = SECOND;
	static const struct traffic t[] = {{"lo", 0.1 * GBIT, 0.1 * GBIT},
					   {"eth0", GBIT, GBIT},
					   {"veth0", 0.5 * GBIT, 0},
					   {0}};

	fake_new(&fake);
	physical("eth0", "1000");
	fake_set(&fake, "/sys/class/net/veth0/speed", "1000\n");
	strcpy(l.interface, "veth0");
	meter_net_init(&m, &l);
	run(&m, &now, t, 1);
	assert_near(m.utilization, 0.5 / 0.95, 1e-3);

	strcpy(l.interface, "lo"); /* says no speed */
	meter_net_init(&m, &l);
	run(&m, &now, t, 1);
	assert_string_equal(m.unknown, "/sys/class/net/lo/speed");
	assert_true(m.utilization == 0);
	l.capacity = 1000;
	meter_net_init(&m, &l);
	run(&m, &now, t, 1);
	assert_near(m.utilization, 0.1 / 0.95, 1e-3);

	strcpy(l.interface, "eth9"); /* there is no such one */
	meter_net_init(&m, &l);
	run(&m, &now, t, 1);
	assert_string_equal(m.unknown, "/sys/class/net/eth9/speed");
}

/* Interfaces come and go, change their speed, and start counting anew. */
static void test_changes(void **state)
{
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	physical("eth0", "1000");
	meter_net_init(&m, &limits);
	run(&m, &now, (struct traffic[]){{"eth0", 0.5 * GBIT, 0}, {0}}, 1);
	physical("eth0", "10000");
	physical("eth1", "1000");
	run(&m, &now, (struct traffic[]){{"eth0", 0.5 * GBIT, 0}, {"eth1", 0.2 * GBIT, 0}, {0}}, 6);
	assert_string_equal(m.busiest, "eth1");
	assert_near(m.utilization, 0.2 / 0.95, 1e-3);
	run(&m, &now, (struct traffic[]){{"eth0", 0.5 * GBIT, 0}, {0}}, 0.1);
	assert_string_equal(m.busiest, "eth0"); /* at once */
	run(&m, &now, (struct traffic[]){{"eth0", 0.1 * GBIT, 0}, {0}}, 0.1);
	assert_true(m.utilization == 0); /* the counter went back */
	run(&m, &now, (struct traffic[]){{"eth0", 0.1 * GBIT, 0}, {0}}, 6);
	assert_near(m.utilization, 0.01 / 0.95, 1e-3);
	assert_int_equal(m.n, 1);
}

/* More of them than the table holds; names of any length. */
static void test_many(void **state)
{
	struct traffic t[40] = {0};
	char names[39][24];
	struct net_limits l = limits;
	struct meter_net m;
	uint64_t now = SECOND;

	fake_new(&fake);
	l.capacity = 1000;
	for (int i = 0; i < 39; i++) {
		snprintf(names[i], sizeof(names[i]), i == 20 ? "averyveryverylong%d" : "veth%d", i);
		t[i] = (struct traffic){names[i], 0.001 * i * GBIT, 0};
	}
	meter_net_init(&m, &l);
	run(&m, &now, t, 1);
	assert_int_equal(m.n, NET_INTERFACES_MAX);
	assert_near(m.utilization, 0.001 * NET_INTERFACES_MAX / 0.95, 1e-4);
}

static void test_unknown(void **state)
{
	struct meter_net m;

	fake_new(&fake);
	meter_net_init(&m, &limits);
	meter_net_sample(&m, &fake.source, SECOND);
	assert_string_equal(m.unknown, "/proc/net/dev");
	fake_set(&fake, "/proc/net/dev", "eth0: 1 2 3\nnothing: of\n: 1 2\n\nx\n");
	meter_net_sample(&m, &fake.source, 2 * SECOND);
	assert_string_equal(m.unknown, "/proc/net/dev");
	assert_true(m.utilization == 0);
}

static void test_damaged_texts(void **state)
{
	struct meter_net m;

	fake_new(&fake);
	physical("eth0", "1000");
	physical("eth1", "2500");
	fake_set(&fake, "/proc/net/dev",
		 "%s    lo: 3193 29 0 0 0 0 0 0 3193 29 0 0 0 0 0 0\n"
		 "  eth0: 217490379 4675 0 0 0 0 0 0 177573 2208 0 0 0 0 0 0\n"
		 "  eth1: 217490379 4675 0 0 0 0 0 0 177573 2208 0 0 0 0 0 0\n",
		 head);
	meter_net_init(&m, &limits);
	fake.noise = 1;
	for (uint64_t i = 1; i < 20000; i++) {
		m.next_scan = 0;
		meter_net_sample(&m, &fake.source, i * 100 * MS);
		assert_true(m.utilization >= 0 && m.utilization <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_higher_direction),
		cmocka_unit_test(test_a_full_wire_is_full),
		cmocka_unit_test(test_the_busiest_interface),
		cmocka_unit_test(test_nothing_that_counts),
		cmocka_unit_test(test_capacity_for_virtual_ones),
		cmocka_unit_test(test_capacity_overrides),
		cmocka_unit_test(test_a_named_interface),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_damaged_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
