/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The server's one set of shares. See shares.h.
 *
 * The lock covers what is in force. Rules are replaced whole: whoever matches a client by the old ones
 * may go on, and what it finds does not count (client_table.h).
 */
#include "shares/shares.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/lock.h"
#include "common/log.h"
#include "shares/name_ask.h"
#include "shares/name_thread.h"

/* A round of those who were asked for in vain is so many times of shares_watch(), which are seconds. */
#define ASK_AGAIN 30

/* Sums of the same floors in another order differ by less. */
#define ROUNDED 1e-9

static struct {
	struct lock lock;
	const struct shares_ops *ops; /* NULL: not started */
	struct client_table *clients;
	struct name_thread *names; /* NULL: no rule has needed names yet */
	struct share_rules *rules; /* NULL: before the first are set */
	struct sched_shares shares;
	struct shares_export *exports; /* those that are there, as they came */
	uint64_t told;		       /* disks of which was told that they cannot keep these */
	unsigned int watched;	       /* times since clients were last asked for again */
} state = {.lock = LOCK_INITIALIZER(LOCK_SHARES)};

/* The rules, to be dropped; NULL: none have been set yet. */
static struct share_rules *in_force(void)
{
	struct share_rules *rules;

	lock_take(&state.lock);
	rules = state.rules != NULL ? share_rules_use(state.rules) : NULL;
	lock_drop(&state.lock);
	return rules;
}

/* ---- clients ---------------------------------------------------------------------------- */

static bool match(const struct client_address *a, uint16_t *rule, void *arg)
{
	struct share_rules *rules = in_force();
	bool decided;

	(void)arg;
	decided = share_rules_match_address(rules, a, rule);
	share_rules_drop(rules);
	return decided;
}

/* On the thread that asks for names, and perhaps after the end: then nobody wants to know. */
static uint16_t match_by_name(const struct client_address *a, uint64_t *open)
{
	const struct client_names *names = NULL;
	struct share_rules *rules = NULL;
	uint16_t rule = 0;

	lock_take(&state.lock);
	if (state.ops != NULL) {
		names = state.ops->names;
		rules = share_rules_use(state.rules);
	}
	lock_drop(&state.lock);
	if (rules != NULL)
		rule = share_rules_match(rules, a, names, open);
	share_rules_drop(rules);
	return rule;
}

struct flow_id shares_flow(const struct sockaddr *addr, uint16_t export_id, uint64_t now)
{
	struct flow_id flow = {.export_id = export_id};
	struct client_address a;
	struct client c;

	if (!client_address_of(addr, &a))
		return flow;
	c = client_table_find(state.clients, &a, now);
	flow.client = c.number;
	flow.rule = c.rule;
	return flow;
}

void shares_refresh(struct flow_id *flow)
{
	(void)client_table_rule(state.clients, flow->client, &flow->rule);
}

uint64_t shares_known_client(const struct sockaddr *addr)
{
	struct client_address a;

	return client_address_of(addr, &a) ? client_table_number(state.clients, &a) : 0;
}

bool shares_client_text(uint64_t client, char text[CLIENT_TEXT_MAX])
{
	struct client_address a;

	if (state.clients == NULL || !client_table_address(state.clients, client, &a))
		return false;
	client_address_text(&a, text);
	return true;
}

/* ---- what is in force; with the lock ----------------------------------------------------- */

/* Where nothing CHANGED, a reload does not disturb those who have something queued. */
static void publish(bool changed)
{
	lock_assert_held(&state.lock);
	if (state.ops == NULL || !changed)
		return;
	state.told = 0;
	state.ops->publish(&state.shares);
}

static const struct client_address *address_of(const struct share_rule *rule)
{
	return &rule->clients.pattern[0].address;
}

/*
 * RULES instead of OLD: whose rule may have become another. An operator's change leaves whom rules name as it is, or
 * adds one for an address, perhaps in another's place. In a configuration that is read again a netgroup may have become
 * another.
 */
static void rematch(const struct share_rules *rules, const struct share_rules *old,
		    bool by_operator)
{
	uint32_t kept = old != NULL ? share_rules_alike(rules, old) : 1;

	if (state.clients == NULL)
		return;
	if (!by_operator) {
		client_table_rematch(state.clients, kept);
		return;
	}
	if (kept < rules->n)
		client_table_rematch_one(state.clients, address_of(&rules->rule[kept]));
	if (kept < old->n)
		client_table_give_back(state.clients, address_of(&old->rule[kept]),
				       old->rule[kept].hides);
}

/* RULES, which it takes, instead of those in force. */
static void replace_rules(struct share_rules *rules, bool by_operator)
{
	struct share_rules *old = state.rules;

	state.rules = rules;
	rematch(rules, old, by_operator);
	share_rules_drop(old);
	publish(share_rules_give(rules, &state.shares));
}

/* Whether somebody asks for names, if RULES need any. */
static bool names_are_asked(const struct share_rules *rules, char *why)
{
	lock_assert_held(&state.lock);
	if (state.names != NULL || state.ops == NULL || !share_rules_need_names(rules))
		return true;
	state.names = name_thread_start(state.clients, match_by_name, state.ops->name_thread);
	if (state.names == NULL)
		snprintf(why, SHARES_WHY,
			 "no thread can be had that asks for the names of clients");
	return state.names != NULL;
}

static const struct shares_export *holder_of(uint16_t export_id)
{
	return export_holder(state.exports, export_id);
}

static bool has_room(uint16_t export_id, const struct share *share, char *why)
{
	return export_share_has_room(&state.shares, export_id, share, why, SHARES_WHY);
}

/* ---- admission; with the lock ------------------------------------------------------------ */

/* What FLOOR of an export comes to on the Nth disk, if it is on that. */
static double floor_on(unsigned int n, const struct share_disk *d, uint16_t export_id,
		       const struct share_limit *floor)
{
	double time = floor_time(floor, d);

	return time > 0 && state.ops->disks_of(export_id) >> n & 1 ? time : 0;
}

/* What those of all exports come to; SHARE in place of that of the export ID (< 0: of none). */
static double floors_of_exports(unsigned int n, const struct share_disk *d, int32_t id,
				const struct share *share)
{
	double sum = id >= 0 ? floor_on(n, d, (uint16_t)id, &share->floor) : 0;

	for (uint32_t i = 0; i < state.shares.n_exports; i++) {
		const struct export_share *e = &state.shares.exports[i];

		if (e->export_id != id)
			sum += floor_on(n, d, e->export_id, &e->share.floor);
	}
	return sum;
}

/* What all floors in force come to on the Nth disk. */
static double floors_now(unsigned int n, const struct share_disk *d)
{
	return floors_of_rules(state.rules, d) + floors_of_exports(n, d, -1, NULL);
}

/* Whether floors that come to SUM of D, and came to BEFORE, are more than it can keep, and more than there were. */
static bool made_too_much(double sum, double before, const struct share_disk *d, char *why)
{
	return sum > before + ROUNDED && floors_exceed(sum, d, why, SHARES_WHY);
}

/*
 * Whether all disks can keep the floors of RULES and of exports, with another SHARE of ID (< 0: none). Where
 * the configuration promised too much, whatever does not add to it is welcome: that is how it is mended.
 */
static bool admitted(const struct share_rules *rules, int32_t id, const struct share *share,
		     char *why)
{
	struct share_disk disk[SHARE_DISKS_MAX] = {0}, none = {0};
	unsigned int n = state.ops->disks(disk);

	if (made_too_much(floors_of_rules(rules, &none), floors_of_rules(state.rules, &none), &none,
			  why))
		return false;
	for (unsigned int i = 0; i < n; i++) {
		double sum = floors_of_rules(rules, &disk[i]) +
			     floors_of_exports(i, &disk[i], id, share);

		if (made_too_much(sum, floors_now(i, &disk[i]), &disk[i], why))
			return false;
	}
	return true;
}

void shares_watch(void)
{
	struct share_disk disk[SHARE_DISKS_MAX] = {0};
	char why[SHARES_WHY];
	unsigned int n;

	lock_take(&state.lock);
	state.watched = (state.watched + 1) % ASK_AGAIN;
	if (state.watched == 0)
		client_table_ask_again(state.clients);
	n = state.ops->disks(disk);
	for (unsigned int i = 0; i < n; i++) {
		if (state.told >> i & 1 ||
		    !floors_exceed(floors_now(i, &disk[i]), &disk[i], why, sizeof(why)))
			continue;
		state.told |= UINT64_C(1) << i;
		log_line(LOG_LEVEL_WARN, "device %s: %s; they are kept in part only", disk[i].name,
			 why);
	}
	lock_drop(&state.lock);
}

/* ---- the configuration ------------------------------------------------------------------ */

bool shares_set_rules(struct share_rules *rules, char why[SHARES_WHY])
{
	struct share_rules *old = in_force();
	struct share_disk none = {0};
	bool done;

	share_rules_recall(rules, old);
	share_rules_drop(old);
	if (floors_exceed(floors_of_rules(rules, &none), &none, why, SHARES_WHY)) {
		share_rules_drop(rules);
		return false;
	}
	lock_take(&state.lock);
	done = names_are_asked(rules, why);
	if (done)
		replace_rules(rules, false);
	lock_drop(&state.lock);
	if (!done)
		share_rules_drop(rules);
	return done;
}

/* With the lock, as what follows. */
static bool may_set(const struct shares_export *e, const struct share *share, char *why)
{
	struct share_disk none = {0};

	/* the rules may be about to be read again, and which disks it is on is not known yet: see shares_watch() */
	return !floors_exceed(floor_time(&share->floor, &none), &none, why, SHARES_WHY) &&
	       has_room(e->id, share, why);
}

bool shares_set_export(struct shares_export *e, const struct share *share, char why[SHARES_WHY])
{
	bool done;

	lock_take(&state.lock);
	done = may_set(e, share, why);
	if (done)
		publish(export_take(&state.shares, &state.exports, e, share));
	lock_drop(&state.lock);
	return done;
}

bool shares_may_set_export(const struct shares_export *e, const struct share *share,
			   char why[SHARES_WHY])
{
	bool may;

	lock_take(&state.lock);
	may = may_set(e, share, why);
	lock_drop(&state.lock);
	return may;
}

/* The share of the number is this one from now on. */
static void put_into_force(uint16_t export_id, const struct share *share)
{
	char why[SHARES_WHY];

	if (has_room(export_id, share, why))
		publish(export_share_keep(&state.shares, export_id, share));
	else
		log_line(LOG_LEVEL_CRIT, "export %u: %s", export_id, why);
}

void shares_undo_export(struct shares_export *e)
{
	lock_take(&state.lock);
	e->share = e->before.configured;
	if (holder_of(e->id) == e)
		put_into_force(e->id, &e->before.in_force);
	lock_drop(&state.lock);
}

/* The export with this number has gone: the next one's share, if there is one, is in force. */
static void pass_on(uint16_t export_id)
{
	static const struct share none;
	const struct shares_export *next = holder_of(export_id);

	put_into_force(export_id, next != NULL ? &next->share : &none);
}

void shares_drop_export(struct shares_export *e)
{
	struct shares_export **at;
	bool held;

	lock_take(&state.lock);
	at = export_place(&state.exports, e);
	held = holder_of(e->id) == e;
	if (*at != NULL)
		*at = e->next;
	if (held)
		pass_on(e->id);
	lock_drop(&state.lock);
}

/* ---- operators -------------------------------------------------------------------------- */

/* RULES, changed, instead of OLD, by which they were made; false: they are dropped. */
static bool install(struct share_rules *rules, const struct share_rules *old, char *why)
{
	bool done = false;

	lock_take(&state.lock);
	if (state.rules != old)
		snprintf(why, SHARES_WHY, "the rules have just become others: ask again");
	else
		done = admitted(rules, -1, NULL, why);
	if (done)
		replace_rules(rules, true);
	lock_drop(&state.lock);
	if (!done)
		share_rules_drop(rules);
	return done;
}

/* By the rules that are in force meanwhile: where those have become others, install() says so. */
static const char *ask_by_name(const struct client_address *a, uint16_t *rule)
{
	return name_ask(match_by_name, a, NAME_THREAD_WAIT, state.ops->name_thread, rule);
}

bool shares_change_client(const char *who, enum share_key key, uint64_t value, char why[SHARES_WHY])
{
	struct share_rules *old = in_force(), *rules = share_rules_copy(old);
	struct share_rule *rule;
	bool done = false;

	if (rules == NULL) {
		snprintf(why, SHARES_WHY, "no memory");
	} else {
		rule = share_rules_find(rules, who, ask_by_name, why, SHARES_WHY);
		if (rule != NULL && share_change(&rule->share, key, value, why, SHARES_WHY))
			done = install(rules, old, why);
		else
			share_rules_drop(rules);
	}
	share_rules_drop(old);
	return done;
}

bool shares_change_export(uint16_t export_id, enum share_key key, uint64_t value,
			  char why[SHARES_WHY])
{
	const struct share *now;
	struct share share = {0};
	bool done = false;

	lock_take(&state.lock);
	now = export_share_of(&state.shares, export_id);
	if (now != NULL)
		share = *now;
	if (holder_of(export_id) == NULL)
		snprintf(why, SHARES_WHY, "no export %u has FSAL RA", export_id);
	else
		done = share_change(&share, key, value, why, SHARES_WHY) &&
		       has_room(export_id, &share, why) &&
		       admitted(state.rules, export_id, &share, why);
	if (done)
		publish(export_share_keep(&state.shares, export_id, &share));
	lock_drop(&state.lock);
	return done;
}

struct share_rules *shares_look(struct sched_shares *shares)
{
	struct share_rules *rules = NULL;

	lock_take(&state.lock);
	if (state.ops != NULL) {
		rules = share_rules_use(state.rules);
		*shares = state.shares;
	}
	lock_drop(&state.lock);
	return rules;
}

/* ---- life ------------------------------------------------------------------------------- */

int shares_start(const struct shares_ops *ops, uint32_t clients_max)
{
	struct client_table *clients = client_table_new(clients_max, match, NULL);
	int err = clients != NULL ? 0 : ENOMEM;
	char why[SHARES_WHY];

	lock_take(&state.lock);
	if (state.rules == NULL)
		state.rules = share_rules_new();
	if (state.rules == NULL)
		err = ENOMEM;
	state.clients = clients;
	if (!err) {
		state.ops = ops;
		(void)share_rules_give(state.rules, &state.shares);
		publish(true);
		err = names_are_asked(state.rules, why) ? 0 : EAGAIN;
	}
	lock_drop(&state.lock);
	return err;
}

void shares_stop(void)
{
	/* A table that a name server's answer is still waited for stays: it is nobody's any more. */
	if (name_thread_stop(state.names, NAME_THREAD_WAIT))
		client_table_free(state.clients);
	else
		log_line(LOG_LEVEL_WARN,
			 "the name server does not answer: not waited for any more");
	lock_take(&state.lock);
	state.names = NULL;
	state.clients = NULL;
	share_rules_drop(state.rules);
	state.rules = NULL;
	state.ops = NULL;
	state.shares.n_exports = 0;
	state.exports = NULL;
	lock_drop(&state.lock);
}
