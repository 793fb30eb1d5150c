/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What each parameter is now, what the file says, what the default is; and another value for it:
 *
 *   {"command":"get","name":"Max_Wait"}                        -> a row for each device
 *   {"command":"diff"}                                         -> rows that differ from file or default
 *   {"command":"set","name":"Max_Wait","value":"500","of":"sdb"}   of: an export, or a device; none: all
 *
 * What is set holds until the configuration is read again. Of several targets each is changed by itself;
 * the first that cannot be ends it.
 */
#include "control/command_parameters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "control/describe.h"

#define EXPORTS_MAX 4096
#define ROWS_MAX    2048 /* in an answer of 1 MiB */

static const struct control_host *host;

/* ---- targets ----------------------------------------------------------------------------- */

/* Who P is asked of, or set for. */
struct targets {
	struct parameter_target target[EXPORTS_MAX];
	unsigned int n;
};

static void add_target(struct targets *t, struct parameter_target target)
{
	if (t->n < EXPORTS_MAX)
		t->target[t->n++] = target;
}

static bool device(unsigned int n, struct device_facts *f)
{
	memset(f, 0, sizeof(*f));
	return n < FACTS_DEVICES_MAX && host->device(n, f);
}

static void add_devices(struct targets *t, const char *wanted)
{
	struct device_names names;
	struct device_facts f;

	for (unsigned int i = 0; device(i, &f); i++) {
		device_names(&f, &names);
		if (wanted == NULL || device_names_match(&names, wanted))
			add_target(t, (struct parameter_target){.of = PARAMETER_OF_DEVICE,
								.device = i});
	}
}

static void add_exports(struct targets *t, const char *wanted)
{
	struct export_facts *f = calloc(EXPORTS_MAX, sizeof(*f));
	unsigned int n = f != NULL ? host->exports(f, EXPORTS_MAX) : 0;
	char id[8];

	for (unsigned int i = 0; i < n && i < EXPORTS_MAX; i++) {
		snprintf(id, sizeof(id), "%u", f[i].id);
		if (wanted == NULL || strcmp(wanted, id) == 0)
			add_target(t, (struct parameter_target){.of = PARAMETER_OF_EXPORT,
								.export_id = f[i].id});
	}
	free(f);
}

static void find_targets(struct targets *t, enum parameter_of of, const char *wanted)
{
	t->n = 0;
	if (of == PARAMETER_OF_DEVICE)
		add_devices(t, wanted);
	else if (of == PARAMETER_OF_EXPORT)
		add_exports(t, wanted);
	else
		add_target(t, (struct parameter_target){.of = PARAMETER_OF_SERVER});
}

/* One more of the right names, in "choices" and in the text LIST of SIZE bytes. */
static void add_choice(struct json_object *choices, char *list, size_t size, const char *choice,
		       const char *alias)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s%s%s%s", used ? ", " : "", choice,
		 alias[0] ? " (" : "", alias, alias[0] ? ")" : "");
	json_object_array_add(choices, json_object_new_string(choice));
}

static void refuse_device(struct control_call *call, const char *wanted)
{
	struct json_object *choices = describe_array(call->answer, "choices");
	struct device_names names;
	struct device_facts f;
	char list[256] = "";

	for (unsigned int i = 0; device(i, &f); i++) {
		device_names(&f, &names);
		add_choice(choices, list, sizeof(list), names.number, names.name);
	}
	if (list[0] == '\0')
		control_refuse(call, "no device is in use: no export is on a local file system");
	else
		control_refuse(call, "device \"%.64s\" is none of %s", wanted, list);
}

static void refuse_export(struct control_call *call, const char *wanted)
{
	struct json_object *choices = describe_array(call->answer, "choices");
	struct targets *t = malloc(sizeof(*t));
	char id[24];

	if (t != NULL) {
		find_targets(t, PARAMETER_OF_EXPORT, NULL);
		for (unsigned int i = 0; i < t->n; i++) {
			snprintf(id, sizeof(id), "%" PRId64, t->target[i].export_id);
			json_object_array_add(choices, json_object_new_string(id));
		}
	}
	free(t);
	if (wanted != NULL)
		control_refuse(call, "no export %.64s has FSAL RA", wanted);
	else
		control_refuse(call, "there is no export with FSAL RA");
}

/* ---- rows -------------------------------------------------------------------------------- */

static void describe_value(struct json_object *o, const char *name, const struct parameter *p,
			   const struct parameter_value *v)
{
	if (p->kind == PARAMETER_NUMBER)
		describe_number(o, name, v->number);
	else if (p->kind == PARAMETER_FLAG)
		describe_flag(o, name, v->number != 0);
	else
		describe_text(o, name, v->name);
}

/* Whose it is: for programs, and as "where" for people. */
static void describe_target(struct json_object *o, const struct parameter_target *t)
{
	char where[128] = "server";
	struct device_names names;
	struct device_facts f;

	describe_text(o, "of", parameter_of_names[t->of]);
	if (t->of == PARAMETER_OF_EXPORT) {
		describe_number(o, "export", (uint64_t)t->export_id);
		snprintf(where, sizeof(where), "export %" PRId64, t->export_id);
	} else if (t->of == PARAMETER_OF_DEVICE && device(t->device, &f)) {
		describe_device_names(o, &f);
		device_names(&f, &names);
		snprintf(where, sizeof(where), "device %s",
			 names.name[0] ? names.name : names.number);
	}
	describe_text(o, "where", where);
}

static struct json_object *row(const struct parameter *p, const struct parameter_target *t,
			       const struct parameter_value *now,
			       const struct parameter_value *file)
{
	struct json_object *o = json_object_new_object();
	struct parameter_value preset;

	parameter_default(p, &preset);
	describe_text(o, "parameter", p->name);
	describe_target(o, t);
	describe_value(o, "value", p, now);
	describe_value(o, "file", p, file);
	describe_value(o, "default", p, &preset);
	describe_text(o, "unit", p->unit);
	if (p->kind == PARAMETER_NUMBER) {
		describe_number(o, "minimum", p->min);
		describe_number(o, "maximum", p->max);
	}
	describe_flag(o, "live", p->live);
	if (!p->live && p->start != NULL)
		describe_text(o, "at_start_because", p->start);
	describe_text(o, "class", parameter_class_names[p->class]);
	return o;
}

/* Why it is not the default: for people. */
static const char *because(const struct parameter *p, bool from_file)
{
	if (!from_file)
		return "configured";
	return p->live ? "set since" : "configured since: holds from the next start on";
}

/* Adds P's rows to LIST; returns how many there are, added or not. */
static unsigned int add_rows(struct json_object *list, const struct parameter *p,
			     const struct targets *t, bool only_changed)
{
	struct parameter_value now, file, preset;
	struct json_object *o;
	unsigned int n = 0;

	parameter_default(p, &preset);
	for (unsigned int i = 0; i < t->n; i++) {
		bool from_file;

		if (!host->get_parameter(p, &t->target[i], &now, &file))
			continue;
		from_file = !parameter_equal(p, &now, &file);
		if (only_changed && !from_file && parameter_equal(p, &now, &preset))
			continue;
		if (n++ >= ROWS_MAX || json_object_array_length(list) >= ROWS_MAX)
			continue;
		o = row(p, &t->target[i], &now, &file);
		if (only_changed)
			describe_text(o, "because", because(p, from_file));
		json_object_array_add(list, o);
	}
	return n;
}

/* The parameter of that name; NULL: refused, with all names as "choices". */
static const struct parameter *wanted_parameter(struct control_call *call, const char *name)
{
	unsigned int n;
	const struct parameter *all = host->parameters(&n), *p = parameter_find(all, n, name);
	struct json_object *choices;

	if (p != NULL)
		return p;
	choices = describe_array(call->answer, "choices");
	for (unsigned int i = 0; i < n; i++)
		json_object_array_add(choices, json_object_new_string(all[i].name));
	control_refuse(call, "\"%.64s\" is not a parameter; ractl get lists them", name);
	return NULL;
}

static void list_rows(struct control_call *call, const char *name, bool only_changed)
{
	struct json_object *list = describe_array(call->answer, "parameters");
	struct targets *t = malloc(sizeof(*t));
	unsigned int n, rows = 0;
	const struct parameter *p = host->parameters(&n);

	if (name != NULL) {
		p = wanted_parameter(call, name);
		n = p != NULL ? 1 : 0;
	}
	for (unsigned int i = 0; i < n && t != NULL; i++) {
		find_targets(t, p[i].of, NULL);
		rows += add_rows(list, &p[i], t, only_changed);
	}
	free(t);
	describe_number(call->answer, "parameters_total", rows);
}

void command_get(struct control_call *call)
{
	list_rows(call, control_text(call, "name"), false);
}

void command_diff(struct control_call *call)
{
	list_rows(call, NULL, true);
}

/* ---- set --------------------------------------------------------------------------------- */

static void set_one(struct control_call *call, const struct parameter *p,
		    const struct parameter_target *t, const struct parameter_value *v,
		    struct json_object *changed)
{
	struct parameter_value before = {0}, file;
	struct json_object *o = json_object_new_object();
	char why[PARAMETER_WHY] = "", text[PARAMETER_TEXT], was[PARAMETER_TEXT];

	describe_text(o, "parameter", p->name);
	describe_target(o, t);
	(void)host->get_parameter(p, t, &before, &file);
	if (!host->set_parameter(p, t, v, why, sizeof(why))) {
		control_refuse(call, "%s: %s",
			       json_object_get_string(json_object_object_get(o, "where")), why);
		json_object_put(o);
		return;
	}
	describe_value(o, "before", p, &before);
	describe_value(o, "value", p, v);
	describe_text(o, "unit", p->unit);
	parameter_text(p, v, text, sizeof(text));
	parameter_text(p, &before, was, sizeof(was));
	log_line(LOG_LEVEL_EVENT, "%s: %s = %s, was %s (control channel)",
		 json_object_get_string(json_object_object_get(o, "where")), p->name, text, was);
	json_object_array_add(changed, o);
}

/* False: refused. */
static bool may_be_set(struct control_call *call, const struct parameter *p, const char *of)
{
	if (!p->live)
		control_refuse(call,
			       "%s is read when the server starts%s%s: change it in the block RA "
			       "of ganesha.conf and start the server again",
			       p->name, p->start != NULL ? ", for " : "",
			       p->start != NULL ? p->start : "");
	else if (p->of == PARAMETER_OF_SERVER && of != NULL)
		control_refuse(call, "%s is the whole server's: leave \"%.64s\" out", p->name, of);
	else
		return true;
	return false;
}

/* VALUE, as text, of P for OF; NULL: for all that have it. Returns how many were changed. */
static unsigned int set(struct control_call *call, const struct parameter *p, const char *value,
			const char *of, struct json_object *changed)
{
	struct targets *t = malloc(sizeof(*t));
	struct parameter_value v;
	char why[PARAMETER_WHY];

	if (t == NULL) {
		control_refuse(call, "out of memory");
		return 0;
	}
	if (!parameter_read(p, value, &v, why, sizeof(why))) {
		control_refuse(call, "%s", why);
		free(t);
		return 0;
	}
	find_targets(t, p->of, of);
	if (t->n == 0 && p->of == PARAMETER_OF_DEVICE)
		refuse_device(call, of != NULL ? of : "");
	else if (t->n == 0)
		refuse_export(call, of);
	for (unsigned int i = 0; i < t->n && !call->error[0]; i++)
		set_one(call, p, &t->target[i], &v, changed);
	free(t);
	return (unsigned int)json_object_array_length(changed);
}

void command_set(struct control_call *call)
{
	const char *of = control_text(call, "of");
	const struct parameter *p = wanted_parameter(call, control_text(call, "name"));

	if (p != NULL && may_be_set(call, p, of))
		set(call, p, control_text(call, "value"), of,
		    describe_array(call->answer, "changed"));
}

/* ---- by the names they had before -------------------------------------------------------- */

static const char *heuristic_name(unsigned int n)
{
	const struct heuristic_ops *h = heuristic_nth(n);

	return h != NULL ? h->name : NULL;
}

static const char *policy_name(unsigned int n)
{
	const struct sched_policy *p = sched_policy_nth(n);

	return p != NULL ? p->name : NULL;
}

/* Refuses a wrong name, with the list of the right ones in the text and as "choices". */
static void refuse_name(struct control_call *call, const char *what, const char *name,
			const char *(*nth)(unsigned int n))
{
	struct json_object *choices = describe_array(call->answer, "choices");
	char list[256] = "";
	const char *right;

	for (unsigned int i = 0; (right = nth(i)) != NULL; i++)
		add_choice(choices, list, sizeof(list), right, "");
	control_refuse(call, "%s \"%.64s\" is none of %s", what, name, list);
}

void command_scheduler(struct control_call *call)
{
	const char *name = control_text(call, "name");
	const struct sched_policy *policy = sched_policy_find(name);
	struct json_object *changed, *o, *was;

	if (policy == NULL) {
		refuse_name(call, "scheduler", name, policy_name);
		return;
	}
	changed = describe_array(call->answer, "devices");
	set(call, wanted_parameter(call, "Scheduler"), policy->name, control_text(call, "device"),
	    changed);
	for (size_t i = 0; i < json_object_array_length(changed); i++) {
		o = json_object_array_get_idx(changed, i);
		json_object_object_get_ex(o, "value", &was);
		json_object_object_add(o, "scheduler", json_object_get(was));
	}
}

void command_heuristic(struct control_call *call)
{
	const char *name = control_text(call, "name");
	int64_t export_id = control_number(call, "export");
	const struct heuristic_ops *h = heuristic_find(name);
	struct json_object *changed;
	char id[24];

	if (h == NULL) {
		refuse_name(call, "heuristic", name, heuristic_name);
		return;
	}
	snprintf(id, sizeof(id), "%" PRId64, export_id);
	changed = json_object_new_array();
	set(call, wanted_parameter(call, "Heuristic"), h->name, export_id >= 0 ? id : NULL,
	    changed);
	describe_text(call->answer, "heuristic", h->name);
	describe_number(call->answer, "exports_changed", json_object_array_length(changed));
	json_object_put(changed);
}

void command_parameters_start(const struct control_host *h)
{
	host = h;
}
