/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Clients as a configuration names them: which addresses each form has. */
#include "fake_names.h"
#include "shares/rules.h"
#include "shares/system_names.h"

static struct client_list list_of(const char *pattern)
{
	struct client_list l = {0};
	char why[256];

	if (!client_list_add(&l, pattern, &fake_names, why, sizeof(why)))
		fail_msg("%s: %s", pattern, why);
	return l;
}

static bool list_has(const struct client_list *l, const char *address)
{
	struct client_address a;
	struct client_query q = {.address = &a, .names = &fake_names};

	assert_true(client_address_parse(address, &a));
	return client_list_has(l, &q);
}

static bool has(const char *pattern, const char *address)
{
	struct client_list l = list_of(pattern);
	bool found = list_has(&l, address);

	client_list_free(&l);
	return found;
}

static void test_addresses_and_networks(void **state)
{
	(void)state;
	assert_true(has("10.1.2.3", "10.1.2.3"));
	assert_true(has("10.1.2.3", "::ffff:10.1.2.3"));
	assert_false(has("10.1.2.3", "10.1.2.4"));
	assert_true(has("10.1.0.0/16", "10.1.255.1"));
	assert_false(has("10.1.0.0/16", "10.2.0.1"));
	assert_true(has("10.1.2.0/23", "10.1.3.9"));
	assert_false(has("10.1.2.0/23", "10.1.4.9"));
	assert_true(has("10.1.2.77/23", "10.1.3.9")); /* what is behind the prefix does not count */
	assert_true(has("0.0.0.0/0", "192.0.2.1"));
	assert_false(has("0.0.0.0/0", "2001:db8::1"));
	assert_true(has("::/0", "192.0.2.1"));
	assert_true(has("2001:db8::/33", "2001:db8:7fff::1"));
	assert_false(has("2001:db8::/33", "2001:db8:8000::1"));
}

static void test_names(void **state)
{
	(void)state;
	assert_true(has("*", "10.0.0.1"));
	assert_true(has("@lab", "10.0.0.7"));
	assert_false(has("@lab", "10.0.0.8"));
	assert_false(has("@office", "10.0.0.7"));
	assert_true(has("*.example.org", "10.0.0.8"));
	assert_false(has("*.example.org", "10.0.0.200")); /* has no name */
	assert_true(has("10.0.0.*", "10.0.0.200"));
	assert_true(has("lab[78].example.org", "10.0.0.8"));
	assert_false(has("lab[78].example.org", "10.0.0.9"));
	assert_true(has("pair", "10.9.9.1"));
	assert_true(has("pair", "2001:db8::9"));
	assert_false(has("pair", "10.9.9.2"));
}

static void test_what_names_nobody(void **state)
{
	static const char *const wrong[] = {"",
					    "@",
					    "10.1.0.0/33",
					    "10.1.0.0/",
					    "10.1.0.0/-1",
					    "10.1.0.0/16x",
					    "10.1.0.0/ 16",
					    "10.1.2.300",
					    "-x.example.org",
					    "a host",
					    "2001:db8::/129"};
	struct client_list l = {0};
	char why[256], longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(client_list_add(&l, wrong[i], &fake_names, why, sizeof(why)));
		assert_non_null(strstr(why, wrong[i]));
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(client_list_add(&l, longest, &fake_names, why, sizeof(why)));
	assert_int_equal(l.n, 0);
}

/* The server starts before the name server does, and the rule holds all the same. */
static void test_a_host_without_a_known_address_is_asked_for_again(void **state)
{
	struct client_address a;
	struct client_query q = {.address = &a};
	struct client_list l = {0};
	char why[256];

	(void)state;
	names_silent = true;
	assert_true(client_list_add(&l, "pair", &fake_names, why, sizeof(why)));
	assert_string_equal(why, "no address of pair is known (no answer): "
				 "it is asked for again when clients come, unless it had one "
				 "before");
	assert_true(client_list_needs_names(&l));
	assert_false(client_list_is_addresses(&l));
	assert_int_equal(client_list_least(&l), 1);
	assert_true(client_list_add(&l, "else", &fake_names, why, sizeof(why)));
	assert_string_equal(why, ""); /* a thousand of them are no thousand lines */
	assert_int_equal(client_list_hosts(&l), 2);
	assert_false(list_has(&l, "10.9.9.1"));
	client_address_parse("10.9.9.1", &a);
	q.names = &fake_names;
	assert_false(client_list_has(&l, &q));
	assert_true(q.open); /* it may be later */
	q = (struct client_query){.address = &a};
	names_silent = false;
	assert_true(list_has(&l, "10.9.9.1"));
	assert_true(list_has(&l, "2001:db8::9"));
	assert_false(list_has(&l, "10.9.9.2"));
	client_address_parse("10.9.9.1", &a);
	assert_false(client_list_has(&l, &q)); /* nobody may be asked */
	assert_true(q.open);
	assert_true(client_list_add(&l, "pair", &fake_names, why, sizeof(why)));
	assert_string_equal(why, "");
	assert_true(client_list_add(&l, "host.example.org.", &fake_names, why, sizeof(why)));
	client_list_free(&l);
}

static unsigned int looked_for;

static const struct client_list *in_this(const char *host, const void *list)
{
	const struct client_list *l = list;

	looked_for++;
	for (unsigned int i = 0; i < l->n; i++)
		if (!strcmp(l->pattern[i].text, host))
			return l;
	return NULL;
}

static void recall(struct client_list *l, const struct client_list *known)
{
	client_list_recall(l, in_this, known);
}

/* Read again while the name server is silent: what was known before is still. */
static void test_hosts_that_were_known_are_recalled(void **state)
{
	struct client_list before = {0}, l = {0}, other = {0};
	char why[256];

	(void)state;
	assert_true(client_list_add(&before, "10.1.0.0/16", &fake_names, why, sizeof(why)));
	assert_true(client_list_add(&before, "pair", &fake_names, why, sizeof(why)));
	names_silent = true;
	assert_true(client_list_add(&l, "10.1.0.0/16", &fake_names, why, sizeof(why)));
	assert_true(client_list_add(&l, "pair", &fake_names, why, sizeof(why)));
	assert_true(client_list_add(&other, "else", &fake_names, why, sizeof(why)));
	names_silent = false;
	assert_int_equal(client_list_hosts(&l), 1);
	recall(&l, &other);
	assert_int_equal(client_list_hosts(&l), 1);
	recall(&l, &before);
	assert_int_equal(client_list_hosts(&l), 0);
	assert_true(client_list_equals(&l, &before));
	recall(&other, &before);
	assert_int_equal(client_list_hosts(&other), 1);
	assert_int_equal(other.n, 1);
	looked_for = 0;
	recall(&l, &before);
	recall(&before, &l);
	assert_int_equal(looked_for, 0); /* nothing is to be recalled */
	client_list_free(&before);
	client_list_free(&other);
	client_list_free(&l);
}

/* ... but not of one that the name server says has no address any more. */
static void test_a_host_that_has_none_is_not_recalled(void **state)
{
	struct client_list before = {0}, l = {0}, copy;
	char why[256];

	(void)state;
	assert_true(client_list_add(&before, "pair", &fake_names, why, sizeof(why)));
	names_gone = true;
	assert_true(client_list_add(&l, "pair", &fake_names, why, sizeof(why)));
	names_gone = false;
	assert_string_equal(why, "no address of pair is known (no answer): "
				 "it is asked for again when clients come");
	assert_true(client_list_copy(&copy, &l));
	recall(&l, &before);
	assert_int_equal(client_list_hosts(&l), 1);
	assert_true(client_list_equals(&l, &copy));
	client_list_free(&before);
	client_list_free(&copy);
	client_list_free(&l);
}

/* ... nor any for which there is no room. */
static void test_what_is_recalled_is_bounded(void **state)
{
	struct client_list before = {0}, l = {0};
	char why[256];

	(void)state;
	assert_true(client_list_add(&before, "pair", &fake_names, why, sizeof(why)));
	names_silent = true;
	assert_true(client_list_add(&l, "pair", &fake_names, why, sizeof(why)));
	names_silent = false;
	while (l.n < CLIENT_PATTERNS_MAX)
		assert_true(client_list_add(&l, "10.1.0.0/16", &fake_names, why, sizeof(why)));
	recall(&l, &before);
	assert_int_equal(l.n, CLIENT_PATTERNS_MAX);
	assert_int_equal(client_list_hosts(&l), 1);
	client_list_free(&before);
	client_list_free(&l);
}

/* "N.host" is the Nth address of 10.0.0.0/8. */
static int numbered(const char *name, struct client_address *a, unsigned int max,
		    const char **reason)
{
	uint32_t n = htonl(10U << 24 | (uint32_t)strtoul(name, NULL, 10));

	(void)max;
	*reason = "no answer";
	if (names_silent)
		return NAMES_LATER;
	*a = (struct client_address){{[10] = 0xff, [11] = 0xff}};
	memcpy(&a->byte[12], &n, sizeof(n));
	return 1;
}

/* The largest configuration. */
static struct share_rules *largest(void)
{
	static const struct client_names names = {.addresses_of = numbered};
	struct share_rules *rules = share_rules_new();
	char name[32], why[256];

	for (unsigned int i = 1; i < SHARE_RULES_MAX; i++) {
		struct share_rule rule = {.share.weight = i};

		for (unsigned int n = 0; n < CLIENT_PATTERNS_MAX; n++) {
			snprintf(name, sizeof(name), "%u.host",
				 (SHARE_RULES_MAX - i) * CLIENT_PATTERNS_MAX + n);
			assert_true(client_list_add(&rule.clients, name, &names, why, sizeof(why)));
		}
		assert_true(share_rules_add(rules, &rule));
	}
	return rules;
}

/* It takes no minute: each host is looked for once, not in each list of 63. */
static void test_the_largest_configuration_is_recalled(void **state)
{
	struct share_rules *before = largest(), *rules;

	(void)state;
	names_silent = true;
	rules = largest();
	names_silent = false;
	assert_true(share_rules_need_names(rules));
	share_rules_recall(rules, NULL);
	assert_true(share_rules_need_names(rules));
	share_rules_recall(rules, before);
	assert_false(share_rules_need_names(rules));
	assert_int_equal(share_rules_alike(rules, before), SHARE_RULES_MAX);
	share_rules_drop(rules);
	share_rules_drop(before);
}

static void test_the_name_server_is_asked_once_and_only_where_it_matters(void **state)
{
	struct client_list l = list_of("10.0.0.1");
	struct client_address a;
	struct client_query q = {.address = &a, .names = &fake_names};
	char why[256];

	(void)state;
	assert_true(client_list_add(&l, "@office", &fake_names, why, sizeof(why)));
	assert_true(client_list_add(&l, "@home", &fake_names, why, sizeof(why)));
	names_asked = 0;
	client_address_parse("10.0.0.1", &a);
	assert_true(client_list_has(&l, &q));
	assert_int_equal(names_asked, 0);
	client_address_parse("10.0.0.2", &a);
	assert_false(client_list_has(&l, &q));
	assert_false(client_list_has(&l, &q));
	assert_int_equal(names_asked, 1);
	client_list_free(&l);
}

static void test_text_and_number(void **state)
{
	struct client_list l = list_of("pair"), copy;
	char why[256], text[64], tight[12];

	(void)state;
	assert_int_equal(client_list_least(&l), 2);
	client_list_add(&l, "10.1.0.0/16", &fake_names, why, sizeof(why));
	assert_int_equal(client_list_least(&l), 1);
	client_list_add(&l, "@lab", &fake_names, why, sizeof(why));
	client_list_text(&l, text, sizeof(text));
	assert_string_equal(text, "pair, 10.1.0.0/16, @lab");
	client_list_text(&l, tight, sizeof(tight));
	assert_string_equal(tight, "pair, 10...");
	assert_true(client_list_copy(&copy, &l));
	client_list_free(&l);
	client_list_text(&copy, text, sizeof(text));
	assert_string_equal(text, "pair, 10.1.0.0/16, @lab");
	client_list_free(&copy);
}

static void test_a_list_is_bounded(void **state)
{
	struct client_list l = {0};
	char why[256];

	(void)state;
	for (int i = 0; i < CLIENT_PATTERNS_MAX; i++)
		assert_true(client_list_add(&l, "@lab", &fake_names, why, sizeof(why)));
	assert_false(client_list_add(&l, "@lab", &fake_names, why, sizeof(why)));
	assert_non_null(strstr(why, "1024"));
	client_list_free(&l);
}

/* Whatever text is given, the list stays whole, and what it took it can be asked about. */
static void test_any_text(void **state)
{
	static const char letters[] = "0123456789abcdef:./@*?[]-x ";
	struct client_list l = {0};
	struct client_address a;
	struct client_query q = {.address = &a, .names = &fake_names};
	char text[40], why[64], all[4096];
	uint64_t seed = 9;

	(void)state;
	client_address_parse("10.1.2.3", &a);
	for (int i = 0; i < 20000; i++) {
		size_t n = random_below(&seed, sizeof(text));

		for (size_t at = 0; at < n; at++)
			text[at] = letters[random_below(&seed, sizeof(letters) - 1)];
		text[n] = '\0';
		if (!client_list_add(&l, text, &fake_names, why, sizeof(why)))
			assert_true(strlen(why) < sizeof(why));
	}
	assert_in_range(l.n, 100, CLIENT_PATTERNS_MAX);
	(void)client_list_has(&l, &q);
	client_list_text(&l, all, sizeof(all));
	assert_true(strlen(all) < sizeof(all));
	client_list_free(&l);
}

/* Only what no name server is asked for. */
static void test_names_of_this_machine(void **state)
{
	struct client_address a, wanted;
	const char *reason;

	(void)state;
	assert_int_equal(system_names.addresses_of("192.0.2.7", &a, 1, &reason), 1);
	assert_true(client_address_parse("192.0.2.7", &wanted));
	assert_memory_equal(&a, &wanted, sizeof(a));
	assert_int_equal(patient_names.addresses_of("192.0.2.7", &a, 1, &reason), 1);
	assert_memory_equal(&a, &wanted, sizeof(a));
	assert_false(system_names.in_netgroup("", "192.0.2.7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_and_networks),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_names_nobody),
		cmocka_unit_test(test_a_host_without_a_known_address_is_asked_for_again),
		cmocka_unit_test(test_hosts_that_were_known_are_recalled),
		cmocka_unit_test(test_a_host_that_has_none_is_not_recalled),
		cmocka_unit_test(test_what_is_recalled_is_bounded),
		cmocka_unit_test(test_the_largest_configuration_is_recalled),
		cmocka_unit_test(test_the_name_server_is_asked_once_and_only_where_it_matters),
		cmocka_unit_test(test_text_and_number),
		cmocka_unit_test(test_a_list_is_bounded),
		cmocka_unit_test(test_any_text),
		cmocka_unit_test(test_names_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
