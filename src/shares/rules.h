/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients may have how much: an ordered set of rules, made once and then only read.
 *
 *   rule 0     clients that no other names: weight 100
 *   rule 1...  of the configuration's CLIENT blocks, in their order; the first that names a client holds
 *   ...        of ractl, each for one address: tried before those, so that the numbers of those stay
 *
 * A set is counted: it lives as long as somebody matches by it, which may take a name server's time.
 */
#ifndef SHARES_RULES_H
#define SHARES_RULES_H

#include <stdatomic.h>

#include "shares/client_list.h"
#include "shares/share_keys.h"

struct share_rule {
	struct client_list clients;
	struct share share; /* weight 0: SHARE_WEIGHT_DEFAULT */
	bool by_operator;   /* not of the configuration */
	uint16_t
		hides; /* ... then the rule that held for its address before; 0: none that names it */
};

struct share_rules {
	_Atomic uint32_t uses;
	uint32_t n; /* at least 1 */
	struct share_rule rule[SHARE_RULES_MAX];
};

/* Only rule 0, used once; NULL: no memory. */
struct share_rules *share_rules_new(void);
struct share_rules *share_rules_use(struct share_rules *rules);
/* The last one's frees it. NULL does nothing. */
void share_rules_drop(struct share_rules *rules);
/* The same rules, to be changed; NULL: no memory. */
struct share_rules *share_rules_copy(const struct share_rules *rules);
/* Before it is used by others: one more rule, whose clients it takes; false: there are too many. */
bool share_rules_add(struct share_rules *rules, struct share_rule *rule);
/* Whether some rule may need a client's name. */
bool share_rules_need_names(const struct share_rules *rules);
/* How many of the first rules of both, rule 0 with them, name the same clients. */
uint32_t share_rules_alike(const struct share_rules *a, const struct share_rules *b);
/* Before they are used by others: hosts of which nobody said whether they have an address are those that they are in OLD (NULL: none), if they are there. */
void share_rules_recall(struct share_rules *rules, const struct share_rules *old);
/* Their shares become those of S; false: they are the same as before. */
bool share_rules_give(const struct share_rules *rules, struct sched_shares *s);
/* The number of the rule that holds for A. May block. *OPEN: the rules before it that may instead, as bits. */
uint16_t share_rules_match(const struct share_rules *rules, const struct client_address *a,
			   const struct client_names *names, uint64_t *open);
/* The same where A alone says so, and without blocking. False, and *RULE as it was: that takes its name to say. */
bool share_rules_match_address(const struct share_rules *rules, const struct client_address *a,
			       uint16_t *rule);
/* *RULE is the number of the rule that holds for A, which takes its name to say; NULL, or why that is not known. */
typedef const char *(*share_rules_ask)(const struct client_address *a, uint16_t *rule);
/*
 * Before it is used by others, of a copy: the rule WHO, by its number from 1, or that of one address;
 * made if need be, and begun as what holds for the address without it, which ASK is asked where the address alone does not
 * say so. NULL, and WHY: there is none.
 */
struct share_rule *share_rules_find(struct share_rules *rules, const char *who, share_rules_ask ask,
				    char *why, size_t size);

#endif
