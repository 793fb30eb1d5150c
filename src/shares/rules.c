/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Rules, tried in their order. See rules.h. */
#include "shares/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

_Static_assert(SHARE_RULES_MAX <= 64, "each has a bit of what is open");

struct share_rules *share_rules_new(void)
{
	struct share_rules *rules = calloc(1, sizeof(*rules));

	if (rules == NULL)
		return NULL;
	atomic_store(&rules->uses, 1);
	rules->n = 1;
	return rules;
}

struct share_rules *share_rules_use(struct share_rules *rules)
{
	atomic_fetch_add(&rules->uses, 1);
	return rules;
}

void share_rules_drop(struct share_rules *rules)
{
	if (rules == NULL || atomic_fetch_sub(&rules->uses, 1) != 1)
		return;
	for (uint32_t i = 0; i < rules->n; i++)
		client_list_free(&rules->rule[i].clients);
	free(rules);
}

bool share_rules_add(struct share_rules *rules, struct share_rule *rule)
{
	if (rules->n == SHARE_RULES_MAX)
		return false;
	rules->rule[rules->n++] = *rule;
	rule->clients = (struct client_list){0};
	return true;
}

struct share_rules *share_rules_copy(const struct share_rules *rules)
{
	struct share_rules *copy = share_rules_new();

	if (copy == NULL)
		return NULL;
	copy->rule[0].share = rules->rule[0].share;
	for (uint32_t i = 1; i < rules->n; i++) {
		copy->rule[i] = rules->rule[i];
		if (!client_list_copy(&copy->rule[i].clients, &rules->rule[i].clients)) {
			share_rules_drop(copy);
			return NULL;
		}
		copy->n++;
	}
	return copy;
}

bool share_rules_need_names(const struct share_rules *rules)
{
	for (uint32_t i = 1; i < rules->n; i++)
		if (client_list_needs_names(&rules->rule[i].clients))
			return true;
	return false;
}

/* A host of which addresses are known, and the list that has them. */
struct known_host {
	const char *name;
	const struct client_list *in;
};

/* Sorted by name; of one name that of the first rule comes first. */
struct known_hosts {
	struct known_host *at;
	size_t n;
};

static int compare_hosts(const void *a, const void *b)
{
	const struct known_host *one = a, *other = b;
	int names = strcmp(one->name, other->name);

	return names != 0 ? names : (one->in > other->in) - (one->in < other->in);
}

static void add_hosts(struct known_hosts *k, const struct client_list *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (l->pattern[i].kind == CLIENT_NETWORK)
			k->at[k->n++] = (struct known_host){l->pattern[i].text, l};
}

/* Without memory there are none. */
static struct known_hosts hosts_of(const struct share_rules *rules)
{
	struct known_hosts k = {0};
	size_t most = 0;

	for (uint32_t i = 1; i < rules->n; i++)
		most += rules->rule[i].clients.n;
	k.at = most != 0 ? malloc(most * sizeof(*k.at)) : NULL;
	if (k.at == NULL)
		return k;
	for (uint32_t i = 1; i < rules->n; i++)
		add_hosts(&k, &rules->rule[i].clients);
	qsort(k.at, k.n, sizeof(*k.at), compare_hosts);
	return k;
}

static const struct client_list *find_host(const char *name, const void *arg)
{
	const struct known_hosts *k = arg;
	size_t from = 0, to = k->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(k->at[middle].name, name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < k->n && !strcmp(k->at[from].name, name) ? k->at[from].in : NULL;
}

void share_rules_recall(struct share_rules *rules, const struct share_rules *old)
{
	struct known_hosts k;

	if (old == NULL)
		return;
	k = hosts_of(old);
	for (uint32_t i = 1; i < rules->n && k.n != 0; i++)
		client_list_recall(&rules->rule[i].clients, find_host, &k);
	free(k.at);
}

bool share_rules_give(const struct share_rules *rules, struct sched_shares *s)
{
	bool changed = s->n_rules != rules->n;

	s->n_rules = rules->n;
	for (uint32_t i = 0; i < s->n_rules; i++) {
		struct share share = rules->rule[i].share;

		if (share.weight == 0)
			share.weight = SHARE_WEIGHT_DEFAULT;
		changed = changed || !share_equals(&share, &s->rules[i]);
		s->rules[i] = share;
	}
	return changed;
}

uint32_t share_rules_alike(const struct share_rules *a, const struct share_rules *b)
{
	uint32_t n = 1;

	while (n < a->n && n < b->n && a->rule[n].by_operator == b->rule[n].by_operator &&
	       client_list_equals(&a->rule[n].clients, &b->rule[n].clients))
		n++;
	return n;
}

/* The first rule that names who is asked about; *OPEN: those tried before that may by its name, as bits. */
static uint16_t first_match(const struct share_rules *rules, struct client_query *q, uint64_t *open)
{
	*open = 0;
	for (int by_operator = 1; by_operator >= 0; by_operator--) {
		for (uint32_t i = 1; i < rules->n; i++) {
			if (rules->rule[i].by_operator != by_operator)
				continue;
			q->open = false;
			if (client_list_has(&rules->rule[i].clients, q))
				return (uint16_t)i;
			*open |= (uint64_t)q->open << i;
		}
	}
	return 0;
}

uint16_t share_rules_match(const struct share_rules *rules, const struct client_address *a,
			   const struct client_names *names, uint64_t *open)
{
	struct client_query q = {.address = a, .names = names};

	return first_match(rules, &q, open);
}

bool share_rules_match_address(const struct share_rules *rules, const struct client_address *a,
			       uint16_t *rule)
{
	struct client_query q = {.address = a};
	uint64_t open;
	uint16_t found = first_match(rules, &q, &open);

	if (open == 0)
		*rule = found;
	return open == 0;
}

/* The number of the rule that an operator made for this address alone; 0: none. */
static uint32_t own_rule(const struct share_rules *rules, const char *address)
{
	for (uint32_t i = 1; i < rules->n; i++)
		if (rules->rule[i].by_operator &&
		    !strcmp(rules->rule[i].clients.pattern[0].text, address))
			return i;
	return 0;
}

/* An operator's rule that says what holds without it: put back by hand, say. */
static bool is_idle(const struct share_rules *rules, const struct share_rule *rule)
{
	struct share own = rule->share, hidden = rules->rule[rule->hides].share;

	own.weight = own.weight != 0 ? own.weight : SHARE_WEIGHT_DEFAULT;
	hidden.weight = hidden.weight != 0 ? hidden.weight : SHARE_WEIGHT_DEFAULT;
	return rule->by_operator && share_equals(&own, &hidden);
}

/* FRESH, whose clients it takes, behind the others, or in the place of one that is idle; NULL: there are too many. */
static struct share_rule *take_place(struct share_rules *rules, struct share_rule *fresh)
{
	if (share_rules_add(rules, fresh))
		return &rules->rule[rules->n - 1];
	for (uint32_t i = 1; i < rules->n; i++) {
		if (!is_idle(rules, &rules->rule[i]))
			continue;
		client_list_free(&rules->rule[i].clients);
		rules->rule[i] = *fresh;
		return &rules->rule[i];
	}
	return NULL;
}

/* The rule for one address, made if need be: it begins as what holds for the address without it. */
static struct share_rule *rule_of_address(struct share_rules *rules, const char *who,
					  share_rules_ask ask, char *why, size_t size)
{
	struct share_rule fresh = {.by_operator = true};
	const char *unknown = NULL;
	struct share_rule *place;
	struct client_address a;
	char text[CLIENT_TEXT_MAX];
	uint32_t n;

	if (!client_address_parse(who, &a)) {
		snprintf(why, size,
			 "\"%.64s\" is neither an address nor the number of a rule: there "
			 "are %" PRIu32,
			 who, rules->n - 1);
		return NULL;
	}
	client_address_text(&a, text);
	n = own_rule(rules, text);
	if (n != 0)
		return &rules->rule[n];
	if (!share_rules_match_address(rules, &a, &fresh.hides))
		unknown = ask(&a, &fresh.hides);
	if (unknown != NULL) {
		snprintf(why, size, "%s", unknown);
		return NULL;
	}
	fresh.share = rules->rule[fresh.hides].share;
	if (!client_list_add(&fresh.clients, text, NULL, why, size)) /* an address: no name */
		return NULL;
	place = take_place(rules, &fresh);
	if (place == NULL) {
		client_list_free(&fresh.clients);
		snprintf(why, size,
			 "there are %d rules: no more can be; SIGHUP takes back those of ractl",
			 SHARE_RULES_MAX - 1);
	}
	return place;
}

struct share_rule *share_rules_find(struct share_rules *rules, const char *who, share_rules_ask ask,
				    char *why, size_t size)
{
	const char *at = who;
	uint64_t number;

	if (text_number(&at, &number) && *at == '\0' && number >= 1 && number < rules->n)
		return &rules->rule[number];
	return rule_of_address(rules, who, ask, why, size);
}
