/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Clients by their address: each that asks for something of the disk has a number, by which flows are
 * kept, and the rule that holds for it.
 *
 * The table has so many slots from the start. When all are used, the client that has asked for nothing for longest,
 * of the next 32 in turn, makes room. Numbers tell the slot, and are never given again:
 *
 *   slot   0     1     2   ...  max-1        the next client of slot 1 is max + 2, then 2 max + 2, ...
 *   number 1     2     3   ...  max
 *
 *   find --> lock of the address's shard, its chain --> known: its number and rule
 *                                              '------> new: the table's lock, a slot, the shard's lock
 *
 * So clients share no lock once they are known, except by chance that of a shard.
 *
 * Which rule holds is found out at first sight, and once after each client_table_rematch(), by one of the threads that
 * look. It may take a name server or netgroup to say. None of these threads asks them: the client waits in a queue, in
 * which it stands once, for one thread that does nothing else (name_thread.h), and meanwhile the rule holds that it had;
 * for one that is new rule 0.
 *
 *   UNKNOWN --look--> MATCHING --by its address--> KNOWN <---- answer
 *      ^  ^              '-------by names--> ASKED -------------'
 *      |  |                                    '-- an answer, but some rule is open --> UNSURE
 *      |  '-------------------------------- rounds later, once it asks again ---------------'
 *      '-- rematch, which makes what is being found out not count
 */
#ifndef SHARES_CLIENT_TABLE_H
#define SHARES_CLIENT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "shares/client_address.h"

/* What a request is charged to; number 0: none, the server's own work. */
struct client {
	uint64_t number;
	uint16_t rule;
};

/*
 * Which rule holds for A, by its address: 0 is none. False, and *RULE as it was: that takes its name to say. Does not
 * block; called from any thread that looks, without a lock.
 */
typedef bool (*client_matcher)(const struct client_address *a, uint16_t *rule, void *arg);
/*
 * The same by names: may block. *OPEN, which is 0 before: bit N where rule N may hold instead, but whoever should know does not
 * answer now.
 */
typedef uint16_t (*client_asker)(const struct client_address *a, uint64_t *open);

/* Which rule holds for the client with this number. */
struct client_question {
	struct client_address address;
	uint64_t number;
	uint32_t turn; /* of finding out: an answer to an earlier one does not count */
};

struct client_table;

/* For MAX clients, at least 1; NULL: no memory. */
struct client_table *client_table_new(uint32_t max, client_matcher match, void *arg);
/* Nobody looks any more; NULL does nothing. */
void client_table_free(struct client_table *t);
/* Any thread, without a lock of rank LOCK_CLIENTS or above. NOW: ns. */
struct client client_table_find(struct client_table *t, const struct client_address *a,
				uint64_t now);
/* Its number, if it is known: it is not entered, and that was no request of its own. 0: it is not. */
uint64_t client_table_number(struct client_table *t, const struct client_address *a);
/*
 * The rules are others, but for the first KEPT, which name whom they named: each client is matched anew, when it next
 * asks. Until that is done, who had one of these keeps it; else rule 0 holds.
 */
void client_table_rematch(struct client_table *t, uint32_t kept);
/* The rules for this address alone are others. */
void client_table_rematch_one(struct client_table *t, const struct client_address *a);
/* ... and until it is matched anew RULE holds for it: what it had is another address's. */
void client_table_give_back(struct client_table *t, const struct client_address *a, uint16_t rule);
/* For one thread: waits until a client's name has to be asked for; false: no more will be. */
bool client_table_question(struct client_table *t, struct client_question *q);
/* As client_asker says. Until the client is asked for again, if it is, it keeps a rule that is OPEN; else RULE holds. */
void client_table_answer(struct client_table *t, const struct client_question *q, uint16_t rule,
			 uint64_t open);
/*
 * A round: for whom some rule was open is asked again when he next comes. Who is asked for in vain again and again sits out
 * one round, two, four, 32 at most; rules that are others begin anew.
 */
void client_table_ask_again(struct client_table *t);
/* From now on nobody waits for a question. */
void client_table_end_questions(struct client_table *t);
/*
 * The rule that was found for the client of this NUMBER when it last asked, without asking anybody: the one before, or 0,
 * while that is being done. False: it is nobody's any more. Any thread, as client_table_find().
 */
bool client_table_rule(struct client_table *t, uint64_t number, uint16_t *rule);
/* Whose number it is; false: nobody's any more. */
bool client_table_address(struct client_table *t, uint64_t number, struct client_address *a);
uint32_t client_table_count(struct client_table *t);

#endif
