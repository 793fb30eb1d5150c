/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * WHO gets how much: which client and rule a request is charged to, and what shares are in force.
 *
 *   request --> address --> client table --> struct flow_id, with the request to the disk's queue
 *
 *   configuration, ractl --> rules of clients, shares of exports --> checked --> struct sched_shares,
 *                                                                    published to all devices
 *
 * One for the server, as its devices are. What ractl changed holds until the configuration is read
 * again. Functions that change or look may be called by any thread that holds no lock.
 */
#ifndef SHARES_SHARES_H
#define SHARES_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "sched/flow.h"
#include "shares/admission.h"
#include "shares/client_table.h"
#include "shares/export_shares.h"
#include "shares/rules.h"
#include "shares/share_keys.h"

#define SHARES_WHY 256

/* The host's; all but names and name_thread are called with the lock of shares. */
struct shares_ops {
	const struct client_names *names;
	/* Of the thread that asks for these, for who looks at the process; NULL: it has no name. */
	void (*name_thread)(const char *name);
	/* From now on these are in force, on all devices; to be copied. */
	void (*publish)(const struct sched_shares *shares);
	/* Up to SHARE_DISKS_MAX disks in use; returns how many. */
	unsigned int (*disks)(struct share_disk *disks);
	/* Bit n: the export is on the nth of these. */
	uint64_t (*disks_of)(uint16_t export_id);
};

/* Before the first request; for CLIENTS_MAX clients. 0, ENOMEM, or EAGAIN: no thread can be had. */
int shares_start(const struct shares_ops *ops, uint32_t clients_max);
/* After the last request. Waits for a name server's answer, NAME_THREAD_WAIT at most. */
void shares_stop(void);

/*
 * Whom a request is charged to that came from ADDR through the export at NOW (ns): the server itself where that is
 * NULL, or no IP address. Once for each request that goes to the disk, not for a cached READ. Takes no
 * lock that other clients want, but when a client is new or rules have changed: hold no lock. Asks no name server: where
 * one has to say which rule holds, that is the rule as it was, and 0 for a new client, until it has answered.
 */
struct flow_id shares_flow(const struct sockaddr *addr, uint16_t export_id, uint64_t now);
/*
 * FLOW, of a request that came before, has the rule that was found for its client since; it stays as it is where
 * that is known no more. Asks nobody, and waits for no request: with any lock of a rank below LOCK_CLIENTS.
 */
void shares_refresh(struct flow_id *flow);
/* Its client alone, if it is known already: one that only asks for prices is not. 0: it is not. */
uint64_t shares_known_client(const struct sockaddr *addr);

/* The address of flow_id.client; false: the table knows it no more, or it is 0. */
bool shares_client_text(uint64_t client, char text[CLIENT_TEXT_MAX]);

/* ---- the configuration ------------------------------------------------------------------ */

/*
 * RULES, whose one use it takes, hold from now on; also before shares_start(). Hosts of which no address is known are who they were
 * in those before. False, and WHY: their floors cannot
 * be kept by any disk, or no thread can be had that asks for names; then the old ones stay.
 */
bool shares_set_rules(struct share_rules *rules, char why[SHARES_WHY]);
/*
 * The export is there, with a share (nothing set: none of its own). False, and WHY: its floors alone cannot
 * be kept by any disk, or too many exports have shares; then it is as it was. What its floors and others' come to is
 * shares_watch()'s to tell.
 */
bool shares_set_export(struct shares_export *e, const struct share *share, char why[SHARES_WHY]);
/* Whether it would be done; nothing changes. Of exports that are there. */
bool shares_may_set_export(const struct shares_export *e, const struct share *share,
			   char why[SHARES_WHY]);
/*
 * Takes back what was set last of an export that was there before. It is configured as it was, and what was in force then is again,
 * be it an operator's. Where others have taken the room for that meanwhile it has no share, which is logged.
 */
void shares_undo_export(struct shares_export *e);
/* The export is gone, or was not there. */
void shares_drop_export(struct shares_export *e);
/*
 * About once a second: tells once of a disk that has shown that it cannot keep the floors; and each half a minute sees to it that
 * hosts are asked for again of which a name server could not say whether they are a client's.
 */
void shares_watch(void);

/* ---- operators -------------------------------------------------------------------------- */

/*
 * For the clients of a rule (WHO is its number, from 1) or for one address. False, and WHY: no such
 * rule, value out of range, contradicting floor and ceiling, or more of floors than the disks can keep.
 */
bool shares_change_client(const char *who, enum share_key key, uint64_t value,
			  char why[SHARES_WHY]);
bool shares_change_export(uint16_t export_id, enum share_key key, uint64_t value,
			  char why[SHARES_WHY]);
/* The rules in force, to be dropped; *SHARES is filled. NULL: not started. */
struct share_rules *shares_look(struct sched_shares *shares);

#endif
