/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is in force: rules and shares of exports, changed by the configuration and by operators. */
#include <pthread.h>
#include <sched.h>

#include "common/clock.h"
#include "common/lock.h"
#include "common/log.h"
#include "fake_names.h"
#include "shares/shares.h"

static struct {
	struct sched_shares shares; /* published last */
	unsigned int published, logged;
	struct share_disk disk[2];
	unsigned int disks;
	uint64_t disks_of[16];
	char log[512], why[SHARES_WHY];
} world;

static void publish(const struct sched_shares *shares)
{
	world.shares = *shares;
	world.published++;
}

static unsigned int disks(struct share_disk *d)
{
	memcpy(d, world.disk, sizeof(world.disk));
	return world.disks;
}

static uint64_t disks_of(uint16_t export_id)
{
	return world.disks_of[export_id];
}

static const struct shares_ops ops = {
	.names = &fake_names,
	.publish = publish,
	.disks = disks,
	.disks_of = disks_of,
};

static struct shares_export exports[2048];

static bool set_export(uint16_t id, const struct share *share)
{
	exports[id].id = id;
	return shares_set_export(&exports[id], share, world.why);
}

static void keep_log(enum log_level level, const char *format, va_list args)
{
	(void)level;
	world.logged++;
	vsnprintf(world.log, sizeof(world.log), format, args);
}

static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	log_set_writer(keep_log);
	return shares_start(&ops, 64);
}

static int end(void **state)
{
	(void)state;
	shares_stop();
	return 0;
}

/* One more rule for these clients. */
static void add(struct share_rules *rules, const char *clients, struct share share)
{
	struct share_rule rule = {.share = share};

	assert_true(client_list_add(&rule.clients, clients, &fake_names, world.why, SHARES_WHY));
	assert_true(share_rules_add(rules, &rule));
}

/* 1: 10.1.0.0/16, weight 200; 2: the netgroup lab; 3: 10.1.2.3, never reached. */
static void set_three(void)
{
	struct share_rules *rules = share_rules_new();

	add(rules, "10.1.0.0/16", (struct share){.weight = 200});
	add(rules, "@lab", (struct share){.ceiling.time = 50});
	add(rules, "10.1.2.3", (struct share){.weight = 7});
	assert_true(shares_set_rules(rules, world.why));
}

static struct flow_id flow(const char *address)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct client_address a;

	assert_true(client_address_parse(address, &a));
	memcpy(&in.sin_addr, &a.byte[12], 4);
	return shares_flow((struct sockaddr *)&in, 7, 1000);
}

/* The same, once the name server has answered; within a minute. */
static uint16_t rule_of(const char *address, uint16_t expected)
{
	uint64_t until = clock_now() + 60 * CLOCK_SECOND;

	while (flow(address).rule != expected && clock_now() < until)
		sched_yield();
	return flow(address).rule;
}

static void test_the_first_rule_that_names_a_client_holds(void **state)
{
	struct flow_id f;
	char text[CLIENT_TEXT_MAX];

	(void)state;
	assert_int_equal(world.shares.n_rules, 1);
	assert_int_equal(world.shares.rules[0].weight, SHARE_WEIGHT_DEFAULT);
	f = flow("10.1.2.3");
	assert_int_equal(f.rule, 0);
	set_three();
	assert_int_equal(world.shares.n_rules, 4);
	assert_int_equal(world.shares.rules[1].weight, 200);
	assert_int_equal(world.shares.rules[2].weight, SHARE_WEIGHT_DEFAULT);
	assert_int_equal(flow("10.1.2.3").rule, 1);
	assert_int_equal(flow("10.1.2.3").client, f.client);
	assert_int_equal(rule_of("10.2.0.7", 2), 2);
	assert_int_equal(flow("10.2.0.8").rule, 0);
	assert_int_equal(f.export_id, 7);
	assert_true(shares_client_text(f.client, text));
	assert_string_equal(text, "10.1.2.3");
	assert_false(shares_client_text(0, text));
	assert_int_equal(shares_flow(NULL, 7, 1000).client, 0);
}

static void test_rules_may_come_before_the_start(void **state)
{
	shares_stop();
	set_three();
	assert_int_equal(begin(state), 0);
	assert_int_equal(world.shares.n_rules, 4);
}

static void test_exports_are_listed_by_number_while_they_have_a_share(void **state)
{
	static const uint16_t ids[] = {7, 3, 9, 5};
	const struct share share = {.weight = 300}, none = {0};

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(set_export(ids[i], &share));
	assert_int_equal(world.shares.n_exports, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(world.shares.exports[i].export_id, 3 + 2 * i);
	assert_true(set_export(5, &none)); /* is there, without one */
	shares_drop_export(&exports[9]);
	assert_int_equal(world.shares.n_exports, 2);
	assert_int_equal(world.shares.exports[1].export_id, 7);
	assert_true(shares_change_export(5, SHARE_WEIGHT, 50, world.why));
	assert_int_equal(world.shares.exports[1].export_id, 5);
	assert_false(shares_change_export(9, SHARE_WEIGHT, 50, world.why));
	assert_string_equal(world.why, "no export 9 has FSAL RA");
	assert_true(shares_change_export(5, SHARE_WEIGHT, 0, world.why));
	assert_int_equal(world.shares.n_exports, 2);
}

/* Weight in force of export 7; 0: it has no share. */
static uint32_t weight_of_7(void)
{
	const struct sched_shares *s = &world.shares;

	return s->n_exports != 0 && s->exports[0].export_id == 7 ? s->exports[0].share.weight : 0;
}

static void test_of_two_exports_with_one_number_the_first_has_its_share(void **state)
{
	const struct share first = {.weight = 300}, second = {.weight = 50}, third = {.weight = 60};
	struct shares_export a = {.id = 7}, b = {.id = 7};

	(void)state;
	/* two blocks with one Export_Id: the server refuses the second once it is made */
	assert_true(shares_set_export(&a, &first, world.why));
	assert_true(shares_set_export(&b, &second, world.why));
	assert_int_equal(weight_of_7(), 300);
	shares_drop_export(&b);
	assert_int_equal(weight_of_7(), 300);
	shares_drop_export(&b); /* again, as at its release */
	assert_int_equal(weight_of_7(), 300);
	/* made anew before the old one is gone; SIGHUP comes meanwhile */
	assert_true(shares_set_export(&b, &second, world.why));
	assert_true(shares_set_export(&b, &third, world.why));
	assert_int_equal(weight_of_7(), 300);
	shares_drop_export(&a);
	assert_int_equal(weight_of_7(), 60);
	assert_true(shares_change_export(7, SHARE_WEIGHT, 70, world.why));
	assert_int_equal(weight_of_7(), 70);
	/* made anew after that */
	shares_drop_export(&b);
	assert_int_equal(world.shares.n_exports, 0);
	assert_false(shares_change_export(7, SHARE_WEIGHT, 70, world.why));
	assert_true(shares_set_export(&a, &first, world.why));
	assert_int_equal(weight_of_7(), 300);
	shares_drop_export(&a);
}

/* The one that goes had no share, and there is no room for the next one's: that is said. */
static void test_an_export_that_waits_for_its_number_and_finds_no_room(void **state)
{
	const struct share share = {.weight = 300}, none = {0};
	struct shares_export a = {.id = 2000}, b = {.id = 2000};

	(void)state;
	assert_true(shares_set_export(&a, &none, world.why));
	assert_true(shares_set_export(&b, &share, world.why));
	for (uint16_t id = 0; id < SHARE_EXPORTS_MAX; id++)
		assert_true(set_export(id, &share));
	shares_drop_export(&a);
	assert_int_equal(world.shares.n_exports, SHARE_EXPORTS_MAX);
	assert_int_equal(world.logged, 1);
	assert_non_null(strstr(world.log, "export 2000: 1024 exports have shares"));
	assert_false(shares_set_export(&b, &share, world.why));
	shares_drop_export(&b);
}

static void test_so_many_exports_can_have_shares(void **state)
{
	const struct share share = {.weight = 300}, none = {0};

	(void)state;
	for (uint16_t id = 0; id < SHARE_EXPORTS_MAX; id++)
		assert_true(set_export(id, &share));
	assert_true(set_export(3, &share));
	assert_true(set_export(2000, &none));
	assert_false(set_export(2000, &share));
	assert_non_null(strstr(world.why, "1024"));
	assert_false(shares_change_export(2000, SHARE_WEIGHT, 1, world.why));
	assert_int_equal(world.shares.n_exports, SHARE_EXPORTS_MAX);
}

static void test_what_does_not_change_is_not_published(void **state)
{
	const struct share share = {.weight = 300}, none = {0};
	unsigned int published;

	(void)state;
	published = world.published;
	assert_true(set_export(1, &none));
	shares_drop_export(&exports[1]);
	assert_int_equal(world.published, published);
	set_three();
	assert_true(set_export(1, &share));
	assert_int_equal(world.published, published + 2);
	set_three();
	assert_true(set_export(1, &share));
	assert_int_equal(world.published, published + 2);
	shares_drop_export(&exports[1]);
	assert_int_equal(world.published, published + 3);
}

/* As at SIGHUP, where the FSAL below may refuse: what an operator set holds. */
static void test_asking_for_a_share_changes_nothing(void **state)
{
	const struct share file = {.weight = 100}, asked = {.weight = 700};
	const struct share too_much = {.floor.time = 91};
	unsigned int published;

	(void)state;
	assert_true(set_export(5, &file));
	assert_true(shares_change_export(5, SHARE_WEIGHT, 300, world.why));
	published = world.published;
	assert_true(shares_may_set_export(&exports[5], &asked, world.why));
	assert_false(shares_may_set_export(&exports[5], &too_much, world.why));
	assert_non_null(strstr(world.why, "the floors come to 91 percent"));
	assert_int_equal(world.published, published);
	assert_int_equal(world.shares.exports[0].share.weight, 300);
	assert_int_equal(exports[5].share.weight, 100);
	for (uint16_t id = 1000; world.shares.n_exports < SHARE_EXPORTS_MAX; id++)
		assert_true(set_export(id, &file));
	assert_true(shares_may_set_export(&exports[5], &asked, world.why));
	exports[4].id = 4;
	assert_false(shares_may_set_export(&exports[4], &asked, world.why));
	assert_non_null(strstr(world.why, "1024"));
}

/* As where memory is missing for the other parameters that SIGHUP brought. */
static void test_a_share_that_is_undone(void **state)
{
	const struct share file = {.weight = 100}, fresh = {.weight = 700}, none = {0};

	(void)state;
	assert_true(set_export(5, &file));
	assert_true(shares_change_export(5, SHARE_WEIGHT, 300, world.why));
	assert_true(set_export(5, &fresh));
	assert_int_equal(world.shares.exports[0].share.weight, 700);
	shares_undo_export(&exports[5]);
	assert_int_equal(world.shares.exports[0].share.weight, 300);
	assert_int_equal(exports[5].share.weight, 100);
	/* none at all is a share to go back to as well */
	assert_true(shares_change_export(5, SHARE_WEIGHT, 0, world.why));
	assert_true(set_export(5, &fresh));
	shares_undo_export(&exports[5]);
	assert_int_equal(world.shares.n_exports, 0);
	assert_int_equal(exports[5].share.weight, 100);
	/* what it left another one has taken: it has none */
	assert_true(set_export(5, &file));
	assert_true(set_export(5, &none));
	for (uint16_t id = 1000; world.shares.n_exports < SHARE_EXPORTS_MAX; id++)
		assert_true(set_export(id, &file));
	shares_undo_export(&exports[5]);
	assert_int_equal(world.shares.n_exports, SHARE_EXPORTS_MAX);
	assert_int_equal(world.shares.exports[0].export_id, 1000);
	assert_non_null(strstr(world.log, "export 5: 1024 exports have shares"));
	/* one that is gone does not come back */
	shares_drop_export(&exports[5]);
	shares_drop_export(&exports[1000]);
	shares_undo_export(&exports[5]);
	assert_int_equal(world.shares.exports[0].export_id, 1001);
}

/* Of two with one number the one that waits goes back to its own, and not to what the first has in force. */
static void test_a_share_that_is_undone_of_one_that_waits(void **state)
{
	const struct share first = {.weight = 300}, second = {.weight = 50}, third = {.weight = 60};
	struct shares_export a = {.id = 7}, b = {.id = 7};

	(void)state;
	assert_true(shares_set_export(&a, &first, world.why));
	assert_true(shares_set_export(&b, &second, world.why));
	assert_true(shares_set_export(&b, &third, world.why));
	shares_undo_export(&b);
	assert_int_equal(weight_of_7(), 300);
	assert_true(shares_set_export(&b, &third, world.why));
	shares_drop_export(&a);
	assert_int_equal(weight_of_7(), 60);
	shares_undo_export(&b);
	assert_int_equal(weight_of_7(), 50);
	shares_drop_export(&b);
}

static void test_an_operator_changes_a_rule(void **state)
{
	(void)state;
	set_three();
	assert_true(shares_change_client("2", SHARE_CEILING_IOPS, 70, world.why));
	assert_int_equal(world.shares.rules[2].ceiling.iops, 70);
	assert_int_equal(world.shares.rules[2].ceiling.time, 50);
	assert_false(shares_change_client("2", SHARE_FLOOR_IOPS, 71, world.why));
	assert_int_equal(world.shares.rules[2].floor.iops, 0);
	assert_false(shares_change_client("4", SHARE_WEIGHT, 71, world.why));
	assert_string_equal(world.why,
			    "\"4\" is neither an address nor the number of a rule: there are 3");
	assert_false(shares_change_client("0", SHARE_WEIGHT, 71, world.why));
	set_three(); /* the configuration is read again */
	assert_int_equal(world.shares.rules[2].ceiling.iops, 0);
}

static void test_an_operator_changes_one_address(void **state)
{
	struct sched_shares *shares = calloc(1, sizeof(*shares));
	struct share_rules *rules;

	(void)state;
	set_three();
	assert_int_equal(flow("10.1.2.3").rule, 1);
	assert_true(shares_change_client("10.1.2.3", SHARE_FLOOR_TIME, 10, world.why));
	assert_true(shares_change_client("::ffff:10.1.2.3", SHARE_CEILING_TIME, 20, world.why));
	assert_int_equal(world.shares.n_rules, 5);
	assert_int_equal(world.shares.rules[4].weight, 200); /* as before */
	assert_int_equal(world.shares.rules[4].floor.time, 10);
	assert_int_equal(world.shares.rules[4].ceiling.time, 20);
	assert_int_equal(flow("10.1.2.3").rule, 4);
	assert_int_equal(flow("10.1.2.4").rule, 1); /* the others keep their numbers */
	rules = shares_look(shares);
	assert_int_equal(shares->n_rules, 5);
	assert_true(rules->rule[4].by_operator);
	assert_false(rules->rule[1].by_operator);
	share_rules_drop(rules);
	free(shares);
}

/* What a client has written goes by its rules of now; of one that made room for others by those that were known last. */
static void test_the_rule_of_a_request_that_came_before(void **state)
{
	struct lock dirty = LOCK_INITIALIZER(LOCK_DIRTY); /* as write-back does */
	struct flow_id before, nobody = {.rule = 0};
	char address[32];

	(void)state;
	before = flow("10.3.0.1");
	assert_int_equal(before.rule, 0);
	assert_true(shares_change_client("10.3.0.1", SHARE_CEILING_BANDWIDTH, 5, world.why));
	names_asked = 0;
	flow("10.3.0.1"); /* asks for something else */
	lock_take(&dirty);
	shares_refresh(&before);
	lock_drop(&dirty);
	assert_int_equal(before.rule, 1);
	assert_int_equal(names_asked, 0);
	for (int i = 2; i <= 100; i++) { /* 64 are known */
		snprintf(address, sizeof(address), "10.4.0.%d", i);
		flow(address);
	}
	shares_refresh(&before);
	assert_int_equal(before.rule, 1);
	shares_refresh(&nobody);
	assert_int_equal(nobody.rule, 0);
}

static void test_so_many_rules_can_be(void **state)
{
	char address[32];

	(void)state;
	for (int i = 1; i < SHARE_RULES_MAX; i++) {
		snprintf(address, sizeof(address), "10.3.0.%d", i);
		assert_true(shares_change_client(address, SHARE_WEIGHT, 50, world.why));
	}
	assert_false(shares_change_client("10.3.1.1", SHARE_WEIGHT, 50, world.why));
	assert_string_equal(world.why,
			    "there are 63 rules: no more can be; SIGHUP takes back those of ractl");
	assert_true(shares_change_client("10.3.0.1", SHARE_WEIGHT, 60, world.why));
}

/* A script that limits who is too greedy for an hour, for months. */
static void test_what_an_operator_put_back_makes_room(void **state)
{
	char address[32];

	(void)state;
	set_three();
	for (int i = 1; i <= 2 * SHARE_RULES_MAX; i++) {
		snprintf(address, sizeof(address), "10.1.0.%d", i);
		assert_true(shares_change_client(address, SHARE_CEILING_TIME, 20, world.why));
		assert_int_equal(world.shares.rules[flow(address).rule].ceiling.time, 20);
		assert_true(shares_change_client(address, SHARE_CEILING_TIME, 0, world.why));
	}
	assert_int_equal(world.shares.n_rules, SHARE_RULES_MAX);
	assert_int_equal(flow("10.1.2.3").rule, 1);
	assert_int_equal(flow("10.1.0.1").rule, 1);
}

/* 100 MB/s, 10 ms a seek; exports 1 and 2 on the first disk, 3 on the second, 4 nobody knows. */
static void give_disks(void)
{
	world.disks = 2;
	for (int i = 0; i < 2; i++)
		snprintf(world.disk[i].name, sizeof(world.disk[i].name), "8:%d", 16 * i);
	world.disk[0].ns_per_byte = 10;
	world.disk[0].seek = 10e6;
	world.disks_of[1] = world.disks_of[2] = 1;
	world.disks_of[3] = 2;
	for (uint16_t id = 1; id <= 4; id++)
		assert_true(set_export(id, &(struct share){0}));
}

static void test_floors_that_a_disk_cannot_keep_are_refused(void **state)
{
	(void)state;
	give_disks();
	assert_true(shares_change_export(1, SHARE_FLOOR_TIME, 50, world.why));
	assert_true(shares_change_export(3, SHARE_FLOOR_TIME, 50, world.why));
	assert_true(shares_change_export(4, SHARE_FLOOR_TIME, 90, world.why));
	assert_true(shares_change_export(2, SHARE_FLOOR_BANDWIDTH, 40, world.why));
	assert_false(shares_change_export(2, SHARE_FLOOR_BANDWIDTH, 41, world.why));
	assert_string_equal(world.why,
			    "the floors come to 91 percent of the disk's time (8:0, of 100 MB/s "
			    "and 10.0 ms a seek): 90 percent is the most");
	assert_int_equal(world.shares.exports[1].share.floor.bandwidth, 40000000);
	assert_false(shares_change_export(2, SHARE_FLOOR_IOPS, 41, world.why));
	assert_false(shares_change_client("10.0.0.1", SHARE_FLOOR_TIME, 1, world.why));
	assert_int_equal(world.shares.n_rules, 1);
	assert_true(shares_change_export(1, SHARE_FLOOR_TIME, 0, world.why));
	assert_true(shares_change_client("10.0.0.1", SHARE_FLOOR_TIME, 40, world.why));
}

/* The configuration may promise more than a disk turns out to have: what mends that, or has no part in it, is done. */
static void test_only_what_promises_more_is_refused(void **state)
{
	(void)state;
	give_disks();
	world.disk[0].ns_per_byte = 0; /* not known at the start */
	assert_true(set_export(1, &(struct share){.floor.bandwidth = 95000000}));
	world.disk[0].ns_per_byte = 10;
	assert_true(shares_change_export(1, SHARE_WEIGHT, 300, world.why));
	assert_true(shares_change_export(2, SHARE_WEIGHT, 50, world.why));
	assert_true(shares_change_export(2, SHARE_CEILING_TIME, 50, world.why));
	assert_true(shares_change_client("10.0.0.1", SHARE_WEIGHT, 50, world.why));
	assert_true(shares_change_export(1, SHARE_FLOOR_BANDWIDTH, 92, world.why));
	assert_false(shares_change_export(1, SHARE_FLOOR_BANDWIDTH, 93, world.why));
	assert_non_null(strstr(world.why, "the floors come to 93 percent"));
	assert_false(shares_change_export(2, SHARE_FLOOR_TIME, 1, world.why));
	assert_false(shares_change_client("10.0.0.1", SHARE_FLOOR_TIME, 1, world.why));
	assert_true(shares_change_export(1, SHARE_FLOOR_BANDWIDTH, 80, world.why));
	assert_true(shares_change_client("10.0.0.1", SHARE_FLOOR_TIME, 10, world.why));
}

static void test_floors_of_rules_count_for_each_address(void **state)
{
	struct share_rules *rules = share_rules_new();

	(void)state;
	add(rules, "pair", (struct share){.floor.time = 30});
	add(rules, "10.1.0.0/16", (struct share){.floor.time = 31});
	assert_false(shares_set_rules(rules, world.why));
	assert_string_equal(world.why, "the floors come to 91 percent of the disk's time: 90 "
				       "percent is the most");
	assert_int_equal(world.shares.n_rules, 1);
	rules = share_rules_new();
	add(rules, "pair", (struct share){.floor.time = 30});
	assert_true(shares_set_rules(rules, world.why));
	assert_false(shares_change_client("1", SHARE_FLOOR_TIME, 46, world.why));
}

static void set_floor(const char *clients, uint32_t percent)
{
	struct share_rules *rules = share_rules_new();

	add(rules, clients, (struct share){.floor.time = percent});
	assert_true(shares_set_rules(rules, world.why));
}

/*
 * At SIGHUP an export may come before the rules are read again, and it is not known yet which disk it is on: it is
 * not judged by others' floors. What all come to is told.
 */
static void test_an_export_is_judged_by_its_own_floors(void **state)
{
	(void)state;
	give_disks();
	set_floor("10.0.0.1", 80);
	assert_true(set_export(1, &(struct share){.floor.time = 60}));
	set_floor("10.0.0.1", 10);
	shares_watch();
	assert_int_equal(world.logged, 0);
	set_floor("10.0.0.1", 31);
	shares_watch();
	assert_int_equal(world.logged, 1);
	assert_non_null(strstr(world.log, "device 8:0: the floors come to 91 percent"));
	assert_false(set_export(1, &(struct share){.floor.time = 91}));
	assert_int_equal(world.shares.exports[0].share.floor.time, 60);
}

/* An address that a rule names, given a rule of its own: what it had is not promised twice. */
static void test_a_floor_that_is_inherited_counts_once(void **state)
{
	(void)state;
	set_floor("10.0.0.1", 50);
	assert_true(shares_change_client("10.0.0.1", SHARE_WEIGHT, 300, world.why));
	assert_true(shares_change_client("10.0.0.1", SHARE_FLOOR_TIME, 90, world.why));
	assert_false(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 1, world.why));
	assert_non_null(strstr(world.why, "the floors come to 91 percent"));
	assert_true(shares_change_client("10.0.0.1", SHARE_FLOOR_TIME, 10, world.why));
	assert_true(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 80, world.why));
	assert_false(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 81, world.why));
	/* of a pair the other one keeps its own */
	set_floor("pair", 30);
	assert_true(shares_change_client("10.9.9.1", SHARE_WEIGHT, 300, world.why));
	assert_true(shares_change_client("10.9.9.1", SHARE_FLOOR_TIME, 60, world.why));
	assert_false(shares_change_client("10.9.9.1", SHARE_FLOOR_TIME, 61, world.why));
	assert_true(shares_change_client("10.9.9.1", SHARE_FLOOR_TIME, 0, world.why));
	assert_true(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 60, world.why));
	assert_false(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 61, world.why));
}

/* A rule of a network counts once in all: whoever of it has as much, or less, adds nothing, and takes nothing away. */
static void test_a_floor_inherited_from_a_network(void **state)
{
	(void)state;
	set_floor("10.1.0.0/16", 50);
	assert_true(shares_change_client("10.1.0.1", SHARE_WEIGHT, 300, world.why));
	assert_true(shares_change_client("10.1.0.1", SHARE_FLOOR_TIME, 90, world.why));
	assert_false(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 1, world.why));
	assert_non_null(strstr(world.why, "the floors come to 91 percent"));
	assert_true(shares_change_client("10.1.0.1", SHARE_FLOOR_TIME, 10, world.why));
	assert_true(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 40, world.why));
	assert_false(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 41, world.why));
	/* the rule that it hides may change, too */
	assert_true(shares_change_client("1", SHARE_FLOOR_TIME, 5, world.why));
	assert_true(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 80, world.why));
	assert_false(shares_change_client("10.0.0.2", SHARE_FLOOR_TIME, 81, world.why));
}

static void test_what_turns_out_to_be_too_much_is_told_once(void **state)
{
	(void)state;
	give_disks();
	world.disk[0].ns_per_byte = world.disk[0].seek = 0; /* not known at the start */
	assert_true(set_export(1, &(struct share){.floor.bandwidth = 95000000}));
	shares_watch();
	assert_int_equal(world.logged, 0);
	world.disk[0].ns_per_byte = 10;
	shares_watch();
	shares_watch();
	assert_int_equal(world.logged, 1);
	assert_non_null(strstr(world.log, "device 8:0: the floors come to 95 percent"));
	assert_true(set_export(1, &(struct share){.floor.bandwidth = 80000000}));
	shares_watch();
	assert_int_equal(world.logged, 1);
}

/* While rules come and go, clients are matched by one set or another, whole. */
static void *match_clients(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		uint16_t rule = flow(i % 2 ? "10.1.2.3" : "10.2.0.8").rule;

		if (rule != 0 && rule != 1 && rule < 4)
			return arg;
	}
	return NULL;
}

static void test_rules_change_while_clients_are_matched(void **state)
{
	pthread_t threads[4];
	void *wrong;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, match_clients, &world), 0);
	for (int i = 0; i < 50; i++) {
		set_three();
		assert_true(shares_change_client("10.1.2.3", SHARE_WEIGHT, 50, world.why));
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(flow("10.1.2.3").rule, 4);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_first_rule_that_names_a_client_holds),
		TEST(test_rules_may_come_before_the_start),
		TEST(test_exports_are_listed_by_number_while_they_have_a_share),
		TEST(test_of_two_exports_with_one_number_the_first_has_its_share),
		TEST(test_an_export_that_waits_for_its_number_and_finds_no_room),
		TEST(test_so_many_exports_can_have_shares),
		TEST(test_what_does_not_change_is_not_published),
		TEST(test_asking_for_a_share_changes_nothing),
		TEST(test_a_share_that_is_undone),
		TEST(test_a_share_that_is_undone_of_one_that_waits),
		TEST(test_an_operator_changes_a_rule),
		TEST(test_an_operator_changes_one_address),
		TEST(test_what_an_operator_put_back_makes_room),
		TEST(test_the_rule_of_a_request_that_came_before),
		TEST(test_so_many_rules_can_be),
		TEST(test_floors_that_a_disk_cannot_keep_are_refused),
		TEST(test_only_what_promises_more_is_refused),
		TEST(test_floors_of_rules_count_for_each_address),
		TEST(test_an_export_is_judged_by_its_own_floors),
		TEST(test_a_floor_that_is_inherited_counts_once),
		TEST(test_a_floor_inherited_from_a_network),
		TEST(test_what_turns_out_to_be_too_much_is_told_once),
		TEST(test_rules_change_while_clients_are_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
