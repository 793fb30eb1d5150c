/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Shares in force, and one of them changed:
 *
 *   {"command":"share","client":"10.1.2.3","key":"Weight","value":200}     a client, or a rule's number
 *   {"command":"share","export":7,"key":"Floor_Time","value":10}
 *
 * Both answer with all that are in force then.
 */
#include "control/command_shares.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/log.h"
#include "control/describe.h"

#define WHY 256

static const struct control_host *host;

/* Members of a floor or ceiling, by the names NAMES; none where there is no limit. */
static void describe_limit(struct json_object *o, const struct share_limit *l,
			   const char *const names[3])
{
	if (l->bandwidth != 0)
		describe_number(o, names[0], l->bandwidth);
	if (l->iops != 0)
		describe_number(o, names[1], l->iops);
	if (l->time != 0)
		describe_real(o, names[2], l->time / 100.0);
}

static void describe_share(struct json_object *o, const struct share *s)
{
	static const char *const floor[] = {"floor_bytes_per_s", "floor_iops", "floor_time"};
	static const char *const ceiling[] = {"ceiling_bytes_per_s", "ceiling_iops",
					      "ceiling_time"};

	if (s->weight != 0)
		describe_number(o, "weight", s->weight);
	describe_limit(o, &s->floor, floor);
	describe_limit(o, &s->ceiling, ceiling);
}

static void describe_rules(struct json_object *answer)
{
	struct json_object *list = describe_array(answer, "rules");
	struct rule_facts *f = calloc(SHARE_RULES_MAX, sizeof(*f));
	unsigned int n = f != NULL ? host->rules(f) : 0;

	for (unsigned int i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		describe_number(o, "rule", i);
		describe_text(o, "clients", i == 0 ? "all others" : f[i].clients);
		describe_text(o, "by", f[i].by_operator ? "operator" : "configuration");
		describe_share(o, &f[i].share);
		json_object_array_add(list, o);
	}
	free(f);
}

static void describe_exports(struct json_object *answer)
{
	struct json_object *list = describe_array(answer, "exports");
	struct export_share *f = calloc(SHARE_EXPORTS_MAX, sizeof(*f));
	unsigned int n = f != NULL ? host->export_shares(f) : 0;

	for (unsigned int i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		describe_number(o, "export", f[i].export_id);
		describe_share(o, &f[i].share);
		json_object_array_add(list, o);
	}
	free(f);
}

void command_shares(struct control_call *call)
{
	describe_rules(call->answer);
	describe_exports(call->answer);
}

void command_share(struct control_call *call)
{
	const char *client = control_text(call, "client"), *key = control_text(call, "key");
	int64_t export_id = control_number(call, "export"), value = control_number(call, "value");
	char why[WHY] = "";

	if ((client != NULL) == (export_id >= 0)) {
		control_refuse(call, "either client or export says whose share it is");
		return;
	}
	if (export_id > UINT16_MAX) {
		control_refuse(call, "no export %" PRId64 " has FSAL RA", export_id);
		return;
	}
	if (!host->set_share(client, (uint16_t)export_id, key, (uint64_t)value, why, sizeof(why))) {
		control_refuse(call, "%s", why);
		return;
	}
	if (client != NULL)
		log_line(LOG_LEVEL_EVENT,
			 "share of client %.64s: %.32s = %" PRId64 " (control channel)", client,
			 key, value);
	else
		log_line(LOG_LEVEL_EVENT,
			 "share of export %" PRId64 ": %.32s = %" PRId64 " (control channel)",
			 export_id, key, value);
	command_shares(call);
}

void command_shares_start(const struct control_host *h)
{
	host = h;
}
