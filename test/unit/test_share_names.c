/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A name server that answers late or never: no request waits for it, it is asked by one thread and no more often than
 * rules with names change, and the end does not wait for long.
 */
#include <pthread.h>
#include <sched.h>

#include "common/clock.h"
#include "common/log.h"
#include "shares/name_thread.h"
#include "shares/shares.h"
#include "support.h"

/* ...N is called N, and in the netgroup "lab" as long as LAB is N or more; "host9" is 10.9.0.1, and no other host is known. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool silent, fails; /* for all; at once, for hosts */
	unsigned int asked, waiting, at_once, lab;
	unsigned int looked_up; /* hosts; for which nobody waits while it is silent */
	unsigned int threads;	/* named */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* A minute at most, so that a test whose own thread asks fails instead of hanging. */
static bool name_of(const struct client_address *a, char *name, size_t size)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&server.lock);
	server.asked++;
	server.waiting++;
	if (server.waiting > server.at_once)
		server.at_once = server.waiting;
	pthread_cond_broadcast(&server.changed);
	while (server.silent)
		if (pthread_cond_timedwait(&server.changed, &server.lock, &until))
			break;
	server.waiting--;
	pthread_mutex_unlock(&server.lock);
	snprintf(name, size, "%u", a->byte[15]);
	return true;
}

static bool in_netgroup(const char *group, const char *name)
{
	bool in;

	pthread_mutex_lock(&server.lock);
	in = !strcmp(group, "lab") && strtoul(name, NULL, 10) <= server.lab;
	pthread_mutex_unlock(&server.lock);
	return in;
}

static int addresses_of(const char *name, struct client_address *a, unsigned int max,
			const char **reason)
{
	bool silent;

	(void)max;
	*reason = "no answer";
	pthread_mutex_lock(&server.lock);
	server.looked_up++;
	silent = server.silent || server.fails;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
	if (silent)
		return NAMES_LATER;
	if (strcmp(name, "host9") != 0)
		return 0;
	assert_true(client_address_parse("10.9.0.1", a));
	return 1;
}

static void answers(bool does)
{
	pthread_mutex_lock(&server.lock);
	server.silent = !does;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
}

static unsigned int asked(void)
{
	unsigned int n;

	pthread_mutex_lock(&server.lock);
	n = server.asked;
	pthread_mutex_unlock(&server.lock);
	return n;
}

static unsigned int looked_up(void)
{
	unsigned int n;

	pthread_mutex_lock(&server.lock);
	n = server.looked_up;
	pthread_mutex_unlock(&server.lock);
	return n;
}

static void wait_until_looked_up(unsigned int n)
{
	pthread_mutex_lock(&server.lock);
	while (server.looked_up < n)
		pthread_cond_wait(&server.changed, &server.lock);
	pthread_mutex_unlock(&server.lock);
}

static void wait_until_asked(unsigned int n)
{
	pthread_mutex_lock(&server.lock);
	while (server.asked < n)
		pthread_cond_wait(&server.changed, &server.lock);
	pthread_mutex_unlock(&server.lock);
}

static void name_thread(const char *name)
{
	assert_string_equal(name, "ra_names");
	pthread_mutex_lock(&server.lock);
	server.threads++;
	pthread_mutex_unlock(&server.lock);
}

static void publish(const struct sched_shares *shares)
{
	(void)shares;
}

static unsigned int disks(struct share_disk *d)
{
	(void)d;
	return 0;
}

static const struct client_names names = {name_of, in_netgroup, addresses_of};
static const struct shares_ops ops = {
	.names = &names,
	.name_thread = name_thread,
	.publish = publish,
	.disks = disks,
};

static int begin(void **state)
{
	(void)state;
	server.silent = server.fails = false;
	server.asked = server.waiting = server.at_once = server.threads = server.looked_up = 0;
	server.lab = 99;
	return shares_start(&ops, 64);
}

static int end(void **state)
{
	(void)state;
	answers(true);
	shares_stop();
	return 0;
}

/* Rules of the configuration for CLIENTS, in this order, up to NULL. */
static void configure(const char *const *clients)
{
	struct share_rules *rules = share_rules_new();
	char why[SHARES_WHY];

	for (; *clients != NULL; clients++) {
		struct share_rule rule = {.share.weight = 50};

		assert_true(client_list_add(&rule.clients, *clients, &names, why, SHARES_WHY));
		assert_true(share_rules_add(rules, &rule));
	}
	assert_true(shares_set_rules(rules, why));
}

static const char *const network_and_lab[] = {"10.1.0.0/16", "@lab", NULL};

static void change(const char *who)
{
	char why[SHARES_WHY];

	assert_true(shares_change_client(who, SHARE_WEIGHT, 70, why));
}

/* Of 10.NETWORK.0.HOST */
static uint16_t rule(unsigned int network, unsigned int host)
{
	struct sockaddr_in in = {.sin_family = AF_INET};

	in.sin_addr.s_addr = htonl(10U << 24 | network << 16 | host);
	return shares_flow((struct sockaddr *)&in, 7, 1000).rule;
}

/* The same, once the name server has answered; within a minute. */
static uint16_t rule_then(unsigned int network, unsigned int host, uint16_t expected)
{
	uint64_t until = clock_now() + 60 * CLOCK_SECOND;

	while (rule(network, host) != expected && clock_now() < until)
		sched_yield();
	return rule(network, host);
}

static void test_no_request_waits_for_a_name_server(void **state)
{
	(void)state;
	configure(network_and_lab);
	answers(false);
	for (unsigned int host = 1; host <= 9; host++)
		assert_int_equal(rule(2, host), 0);
	assert_int_equal(rule(1, 1), 1); /* its address says so */
	answers(true);
	for (unsigned int host = 1; host <= 9; host++)
		assert_int_equal(rule_then(2, host, 2), 2);
	assert_int_equal(asked(), 9);
	assert_int_equal(server.at_once, 1);
}

static void test_nobody_is_asked_where_addresses_decide(void **state)
{
	static const char *const before[] = {"10.1.0.0/16", "@lab", "*", NULL};
	static const char *const only[] = {"10.1.0.0/16", "10.3.0.1", NULL};

	(void)state;
	configure(only);
	assert_int_equal(rule(1, 1), 1);
	assert_int_equal(rule(3, 1), 2);
	assert_int_equal(rule(3, 2), 0);
	shares_stop();
	assert_int_equal(server.threads, 0);
	assert_int_equal(asked(), 0);
	assert_int_equal(begin(state), 0);
	configure(before);
	assert_int_equal(rule(1, 1), 1);
	assert_int_equal(asked(), 0);
	assert_int_equal(rule_then(3, 1, 2), 2);
	assert_int_equal(asked(), 1);
}

/* One rule with both: whoever has the address is named, whatever he is called. */
static void test_a_rule_that_names_an_address_and_names(void **state)
{
	struct share_rules *rules = share_rules_new();
	struct share_rule both = {.share.weight = 50};
	char why[SHARES_WHY];

	(void)state;
	assert_true(client_list_add(&both.clients, "@lab", &names, why, SHARES_WHY));
	assert_true(client_list_add(&both.clients, "10.1.0.0/16", &names, why, SHARES_WHY));
	assert_true(share_rules_add(rules, &both));
	assert_true(shares_set_rules(rules, why));
	assert_int_equal(rule(1, 1), 1);
	assert_int_equal(asked(), 0);
	assert_int_equal(rule(2, 1), 0);
	assert_int_equal(rule_then(2, 1, 1), 1);
}

/* A configuration that is read again: the netgroup has become another, but until that is known ... */
static void test_the_rule_that_it_had_holds_until_the_answer(void **state)
{
	(void)state;
	configure(network_and_lab);
	assert_int_equal(rule_then(2, 7, 2), 2);
	server.lab = 5;
	answers(false);
	configure(network_and_lab);
	assert_int_equal(rule(2, 7), 2);
	wait_until_asked(2);
	assert_int_equal(rule(2, 7), 2);
	answers(true);
	assert_int_equal(rule_then(2, 7, 0), 0);
	assert_int_equal(asked(), 2);
}

static void test_a_number_that_names_others_now_does_not_hold(void **state)
{
	static const char *const other[] = {"10.1.0.0/16", "10.3.0.0/16", "@lab", NULL};

	(void)state;
	configure(network_and_lab);
	assert_int_equal(rule_then(2, 7, 2), 2);
	answers(false);
	configure(other);
	assert_int_equal(rule(2, 7), 0);
	answers(true);
	assert_int_equal(rule_then(2, 7, 3), 3);
}

static void test_an_operator_does_not_make_names_be_asked_again(void **state)
{
	(void)state;
	configure(network_and_lab);
	for (unsigned int host = 1; host <= 3; host++)
		assert_int_equal(rule_then(2, host, 2), 2);
	assert_int_equal(asked(), 3);
	change("2");	    /* a rule's weight */
	change("10.1.0.9"); /* an address, decided without a name */
	assert_int_equal(rule(1, 9), 3);
	assert_int_equal(asked(), 3);
	change("10.2.0.2");
	assert_int_equal(asked(), 4); /* as what it begins: on the operator's thread */
	assert_int_equal(rule(2, 2), 4);
	change("10.2.0.2");
	for (unsigned int host = 1; host <= 3; host++)
		assert_int_equal(rule(2, host), host == 2 ? 4 : 2);
	assert_int_equal(asked(), 4);
	configure(network_and_lab); /* which puts back what it says */
	assert_int_equal(rule(2, 2), 0);
	assert_int_equal(rule_then(2, 2, 2), 2);
}

/* What a name server says counts after an operator's change, and not for rules that are no more. */
static void test_rules_change_while_the_name_server_is_silent(void **state)
{
	static const char *const none[] = {"10.2.0.0/16", NULL};

	(void)state;
	configure(network_and_lab);
	answers(false);
	assert_int_equal(rule(2, 7), 0);
	wait_until_asked(1);
	change("1");
	change("10.1.0.7");
	answers(true);
	assert_int_equal(rule_then(2, 7, 2), 2);
	assert_int_equal(asked(), 1);
	answers(false);
	assert_int_equal(rule(2, 8), 0);
	wait_until_asked(2);
	configure(none);
	assert_int_equal(rule(2, 8), 1);
	answers(true);
	assert_int_equal(rule(2, 8), 1);
	assert_int_equal(rule(2, 7), 1);
}

static void half_a_minute(void)
{
	for (int i = 0; i < 30; i++)
		shares_watch();
}

static const char *const host_and_rest[] = {"host9", "*", NULL};

/* A name server that fails for a moment: a client that a rule's host may be has the next rule, but not for good. */
static void test_a_host_is_asked_for_again(void **state)
{
	uint64_t until;

	(void)state;
	answers(false);
	configure(host_and_rest);
	assert_int_equal(rule(9, 1), 0);
	assert_int_equal(rule_then(9, 1, 2), 2);
	half_a_minute();
	assert_int_equal(rule(9, 1), 2);
	wait_until_looked_up(3);
	answers(true);
	assert_int_equal(rule(9, 1), 2);
	assert_int_equal(looked_up(), 3); /* not with each request */
	until = clock_now() + 60 * CLOCK_SECOND;
	while (rule(9, 1) != 1 && clock_now() < until) {
		half_a_minute(); /* two or so: it was in vain twice */
		sched_yield();
	}
	assert_int_equal(rule(9, 1), 1);
	half_a_minute();
	assert_int_equal(rule(9, 1), 1);
	assert_int_equal(looked_up(), 4);
}

/* ... and one that it may be of has it meanwhile. */
static void test_who_is_a_host_keeps_its_rule_meanwhile(void **state)
{
	static const char *const hosts[] = {"host9", "gone", "*", NULL};

	(void)state;
	answers(false);
	configure(hosts);
	answers(true);
	assert_int_equal(rule_then(9, 1, 1), 1);
	server.fails = true;
	configure(hosts);
	assert_int_equal(rule(9, 1), 1);
	wait_until_looked_up(7); /* the question before, and both hosts of each time since */
	for (int i = 0; i < 100; i++) {
		sched_yield();
		assert_int_equal(rule(9, 1), 1);
	}
}

/* ... but no longer one that surely does not name it, whether it stands before the host's or after. */
static void test_a_rule_that_no_longer_names_it_is_not_kept(void **state)
{
	static const char *const before[] = {"@lab", "host9", "*", NULL};
	static const char *const after[] = {"host9", "@lab", "*", NULL};

	(void)state;
	server.fails = true;
	configure(before);
	assert_int_equal(rule_then(2, 7, 1), 1);
	server.lab = 5;
	configure(before);
	assert_int_equal(rule_then(2, 7, 3), 3);
	server.lab = 99;
	configure(after);
	assert_int_equal(rule_then(2, 7, 2), 2);
	server.lab = 5;
	configure(after);
	assert_int_equal(rule_then(2, 7, 3), 3);
}

/* It is no host of which no address is known, but one that has none: for good. */
static void test_a_host_without_addresses_is_not_asked_for_again(void **state)
{
	static const char *const gone[] = {"gone", "*", NULL};

	(void)state;
	configure(gone);
	assert_int_equal(rule_then(9, 1, 2), 2);
	half_a_minute();
	assert_int_equal(rule(9, 1), 2);
	assert_int_equal(looked_up(), 2);
}

/* The configuration is read again while the name server is silent: a host is who it was. */
static void test_hosts_are_who_they_were(void **state)
{
	(void)state;
	configure(host_and_rest);
	assert_int_equal(rule(9, 1), 1);
	answers(false);
	configure(host_and_rest);
	assert_int_equal(rule(9, 1), 1);
	assert_int_equal(rule(9, 2), 2);
	assert_int_equal(looked_up(), 2); /* by those who read it */
}

static bool refused(const char *who)
{
	char why[SHARES_WHY] = "";
	bool done = shares_change_client(who, SHARE_WEIGHT, 70, why);

	if (!done)
		assert_string_equal(why, "the name server does not answer");
	return !done;
}

/* ... nor do the others on the channel, or a server that ends; and no more than one thread is left to its question. */
static void test_an_operator_does_not_wait_for_long(void **state)
{
	uint64_t begun = clock_now();

	(void)state;
	configure(network_and_lab);
	answers(false);
	assert_true(refused("10.2.0.7"));
	assert_true(clock_now() - begun < 20 * CLOCK_SECOND);
	assert_true(refused("10.2.0.8"));
	assert_int_equal(asked(), 1);
	change("10.1.0.7"); /* nobody has to be asked */
	shares_stop();
	answers(true);
	assert_int_equal(shares_start(&ops, 64), 0);
	configure(network_and_lab);
	while (refused("10.2.0.8") && clock_now() - begun < 60 * CLOCK_SECOND)
		sched_yield(); /* the thread may have its answer only now */
	assert_int_equal(rule(2, 8), 3);
}

/* What its rule would begin as would be a guess, which then stays. */
static void test_an_operator_is_told_that_a_host_is_not_known(void **state)
{
	(void)state;
	server.fails = true;
	configure(host_and_rest);
	assert_true(refused("10.9.0.1"));
	assert_int_equal(rule_then(9, 1, 2), 2);
	server.fails = false;
	assert_false(refused("10.9.0.1"));
	assert_int_equal(rule(9, 1), 3);
}

static uint16_t ask(const struct client_address *a, uint64_t *open)
{
	char name[64];

	(void)open;
	return name_of(a, name, sizeof(name)) ? 1 : 0;
}

static bool undecided(const struct client_address *a, uint16_t *rule, void *arg)
{
	(void)a;
	(void)rule;
	(void)arg;
	return false;
}

static void test_the_end_does_not_wait_for_long(void **state)
{
	struct client_table *t = client_table_new(16, undecided, NULL);
	struct name_thread *n = name_thread_start(t, ask, NULL);
	struct client_address a = {{1}}, b = {{2}};

	(void)state;
	answers(false);
	client_table_find(t, &a, 1);
	client_table_find(t, &b, 1);
	wait_until_asked(1);
	assert_false(name_thread_stop(n, 1)); /* ns */
	client_table_free(t);		      /* it is not touched any more */
	answers(true);
	t = client_table_new(16, undecided, NULL);
	n = name_thread_start(t, ask, NULL);
	assert_true(name_thread_stop(n, 1)); /* it is not away */
	client_table_free(t);
	assert_true(name_thread_stop(NULL, 1));
	assert_int_equal(asked(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_request_waits_for_a_name_server, begin,
						end),
		cmocka_unit_test_setup_teardown(test_nobody_is_asked_where_addresses_decide, begin,
						end),
		cmocka_unit_test_setup_teardown(test_a_rule_that_names_an_address_and_names, begin,
						end),
		cmocka_unit_test_setup_teardown(test_the_rule_that_it_had_holds_until_the_answer,
						begin, end),
		cmocka_unit_test_setup_teardown(test_a_number_that_names_others_now_does_not_hold,
						begin, end),
		cmocka_unit_test_setup_teardown(test_an_operator_does_not_make_names_be_asked_again,
						begin, end),
		cmocka_unit_test_setup_teardown(test_rules_change_while_the_name_server_is_silent,
						begin, end),
		cmocka_unit_test_setup_teardown(test_a_host_is_asked_for_again, begin, end),
		cmocka_unit_test_setup_teardown(
			test_a_host_without_addresses_is_not_asked_for_again, begin, end),
		cmocka_unit_test_setup_teardown(test_hosts_are_who_they_were, begin, end),
		cmocka_unit_test_setup_teardown(test_who_is_a_host_keeps_its_rule_meanwhile, begin,
						end),
		cmocka_unit_test_setup_teardown(test_a_rule_that_no_longer_names_it_is_not_kept,
						begin, end),
		cmocka_unit_test_setup_teardown(test_an_operator_does_not_wait_for_long, begin,
						end),
		cmocka_unit_test_setup_teardown(test_an_operator_is_told_that_a_host_is_not_known,
						begin, end),
		cmocka_unit_test_setup_teardown(test_the_end_does_not_wait_for_long, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
