/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See live_params.h. */
#include "live_params.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_params.h"
#include "shares/share_keys.h"
#include "shares/shares.h"

struct ra_module_params ra_module_params;

struct kept {
	struct kept *next;
	struct export_io *io; /* with a reference */
	struct ra_export_params file, now;
};

static struct {
	pthread_mutex_t lock;
	bool read;		      /* the block RA was, or its defaults */
	struct ra_module_params file; /* as it was read last */
	struct kept *first;
	void (*changed)(void);
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the server's ------------------------------------------------------------------------ */

static bool is_live(const struct parameter *p)
{
	return p->of == PARAMETER_OF_SERVER && p->live && p->kind == PARAMETER_NUMBER;
}

/* What can change on a running server; who copied it is told by live_params_on_change(). */
static void take_live(const struct ra_module_params *fresh)
{
	unsigned int n;
	const struct parameter *p = ra_parameters(&n);
	struct parameter_value v;

	for (unsigned int i = 0; i < n; i++) {
		if (!is_live(&p[i]))
			continue;
		ra_params_get(&p[i], fresh, &v);
		ra_params_put(&p[i], &ra_module_params, &v);
	}
}

bool live_params_server(const struct ra_module_params *fresh)
{
	struct ra_module_params file, now;
	bool good;

	pthread_mutex_lock(&state.lock);
	good = ra_module_params_copy(&file, fresh);
	if (good && !state.read && !ra_module_params_copy(&now, fresh)) {
		ra_module_params_drop(&file);
		good = false;
	}
	if (good) {
		ra_module_params_drop(&state.file);
		state.file = file;
		if (state.read)
			take_live(fresh);
		else
			ra_module_params = now;
		state.read = true;
	}
	pthread_mutex_unlock(&state.lock);
	return good;
}

void live_params_restore(void)
{
	pthread_mutex_lock(&state.lock);
	if (state.read)
		take_live(&state.file);
	pthread_mutex_unlock(&state.lock);
}

static void first_line(void *arg, const char *line)
{
	char *why = arg;

	if (why[0] == '\0')
		snprintf(why, PARAMETER_WHY, "%s", line);
}

/* The names of CHANGED stay those in force. */
static bool set_server(const struct parameter *p, const struct parameter_value *v, char *why,
		       size_t size)
{
	struct ra_module_params changed = ra_module_params;
	char wrong[PARAMETER_WHY] = "";

	ra_params_put(p, &changed, v);
	if (ra_params_check_module(&changed, first_line, wrong) != 0) {
		snprintf(why, size, "%s", wrong);
		return false;
	}
	ra_params_put(p, &ra_module_params, v);
	if (state.changed != NULL)
		state.changed();
	return true;
}

/* ---- exports' ---------------------------------------------------------------------------- */

static struct kept **place_of(const struct export_io *io)
{
	struct kept **at = &state.first;

	while (*at != NULL && (*at)->io != io)
		at = &(*at)->next;
	return at;
}

static struct kept *kept_of(int64_t export_id)
{
	struct kept *k = state.first;

	while (k != NULL && k->io->export_id != export_id)
		k = k->next;
	return k;
}

static struct kept *kept_new(struct export_io *io, const struct ra_export_params *params)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	if (ra_export_params_copy(&k->file, params)) {
		if (ra_export_params_copy(&k->now, params)) {
			k->io = export_io_ref(io);
			return k;
		}
		ra_export_params_drop(&k->file);
	}
	free(k);
	return NULL;
}

static void kept_free(struct kept *k)
{
	ra_export_params_drop(&k->file);
	ra_export_params_drop(&k->now);
	export_io_put(k->io);
	free(k);
}

/* In the place of what was kept of IO before; with the lock. */
static void keep(struct export_io *io, const struct ra_export_params *params)
{
	struct kept *k = kept_new(io, params), **at = place_of(io), *old = *at;

	if (k == NULL)
		return;
	k->next = old != NULL ? old->next : NULL;
	*at = k;
	if (old != NULL)
		kept_free(old);
}

void live_params_export_new(struct export_io *io, const struct ra_export_params *params)
{
	pthread_mutex_lock(&state.lock);
	keep(io, params);
	pthread_mutex_unlock(&state.lock);
}

int live_params_export_update(struct export_io *io, const struct ra_export_params *params,
			      const struct export_settings *s)
{
	int err;

	pthread_mutex_lock(&state.lock);
	err = export_io_configure(io, s);
	if (err == 0)
		keep(io, params);
	pthread_mutex_unlock(&state.lock);
	return err;
}

void live_params_export_drop(struct export_io *io)
{
	struct kept **at, *old;

	pthread_mutex_lock(&state.lock);
	at = place_of(io);
	old = *at;
	if (old != NULL)
		*at = old->next;
	pthread_mutex_unlock(&state.lock);
	if (old != NULL)
		kept_free(old);
}

void live_params_on_change(void (*changed)(void))
{
	pthread_mutex_lock(&state.lock);
	state.changed = changed;
	pthread_mutex_unlock(&state.lock);
}

void live_params_end(void)
{
	live_params_on_change(NULL);
	while (state.first != NULL)
		live_params_export_drop(state.first->io);
	ra_module_params_drop(&ra_module_params);
	ra_module_params_drop(&state.file);
	state.read = false;
}

/* All of CHANGED; it takes the place of what K has now. */
static bool put_into_force(struct kept *k, struct ra_export_params *changed, char *why, size_t size)
{
	char wrong[PARAMETER_WHY] = "";
	struct export_settings s;

	if (ra_params_check_export(changed, first_line, wrong) != 0) {
		snprintf(why, size, "%s", wrong);
		return false;
	}
	ra_settings_of(changed, &s);
	if (export_io_tune(k->io, &s) != 0) {
		snprintf(why, size, "out of memory");
		return false;
	}
	ra_export_params_drop(&k->now);
	k->now = *changed;
	return true;
}

static bool set_export(const struct parameter *p, int64_t export_id,
		       const struct parameter_value *v, char *why, size_t size)
{
	enum share_key key = share_key_find(p->name);
	struct kept *k = kept_of(export_id);
	struct ra_export_params changed;

	if (k == NULL) {
		snprintf(why, size, "no export %lld has FSAL RA", (long long)export_id);
		return false;
	}
	if (key != SHARE_KEYS) {
		char text[SHARES_WHY] = "";
		bool done = shares_change_export((uint16_t)export_id, key, v->number, text);

		snprintf(why, size, "%s", text);
		return done;
	}
	if (!ra_export_params_copy(&changed, &k->now)) {
		snprintf(why, size, "out of memory");
		return false;
	}
	if (ra_params_put(p, &changed, v) && put_into_force(k, &changed, why, size))
		return true;
	ra_export_params_drop(&changed);
	return false;
}

/* Shares are shares.h's: `ractl share` changes them too. */
static void look_at_share(uint16_t export_id, enum share_key key, struct parameter_value *now)
{
	struct sched_shares *shares = calloc(1, sizeof(*shares));
	struct share_rules *rules = shares != NULL ? shares_look(shares) : NULL;

	*now = (struct parameter_value){0};
	for (unsigned int i = 0; rules != NULL && i < shares->n_exports; i++)
		if (shares->exports[i].export_id == export_id)
			now->number = share_get(&shares->exports[i].share, key);
	share_rules_drop(rules);
	free(shares);
}

static bool get_export(const struct parameter *p, int64_t export_id, struct parameter_value *now,
		       struct parameter_value *file)
{
	enum share_key key = share_key_find(p->name);
	const struct kept *k = kept_of(export_id);

	if (k == NULL)
		return false;
	ra_params_get(p, &k->file, file);
	ra_params_get(p, &k->now, now);
	if (key != SHARE_KEYS)
		look_at_share((uint16_t)export_id, key, now);
	return true;
}

/* ---- devices' ---------------------------------------------------------------------------- */

static void read_device(const struct device_settings *s, enum device_param which,
			struct parameter_value *v)
{
	*v = (struct parameter_value){0};
	if (which == DEVICE_Scheduler)
		snprintf(v->name, sizeof(v->name), "%s", s->policy->name);
	else
		v->number = device_param_get(s, which);
}

static bool get_device(const struct parameter *p, unsigned int n, struct parameter_value *now,
		       struct parameter_value *file)
{
	struct device_settings base, of_file, in_force;
	struct device *d = device_nth(n);

	if (d == NULL || !device_params_look(atomic_load(&d->dev), &base, &of_file, &in_force))
		return false;
	read_device(&of_file, device_param_find(p->name), file);
	read_device(&in_force, device_param_find(p->name), now);
	return true;
}

/* What device_params.h knows of the Nth device, in use as DEV, holds from now on. With the lock. */
static bool put_device_into_force(unsigned int n, dev_t dev)
{
	struct device_settings base, file, now;

	if (!device_params_look(dev, &base, &file, &now))
		return false;
	device_configure(UINT64_C(1) << n, &base);
	return true;
}

void live_params_devices(void)
{
	struct device *d;

	pthread_mutex_lock(&state.lock);
	for (unsigned int n = 0; n < DEVICES_MAX && (d = device_nth(n)) != NULL; n++)
		(void)put_device_into_force(n, atomic_load(&d->dev));
	pthread_mutex_unlock(&state.lock);
}

/* A name that is none is refused with those that are. */
static const struct sched_policy *policy_of(const char *name, char *why, size_t size)
{
	const struct sched_policy *found = sched_policy_find(name), *s;
	char list[128] = "";

	if (found != NULL)
		return found;
	for (unsigned int i = 0; (s = sched_policy_nth(i)) != NULL; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 s->name);
	snprintf(why, size, "Scheduler = %.32s is none of %s", name, list);
	return NULL;
}

static bool set_device(const struct parameter *p, unsigned int n, const struct parameter_value *v,
		       char *why, size_t size)
{
	enum device_param which = device_param_find(p->name);
	const struct sched_policy *policy = NULL;
	struct device *d = device_nth(n);
	dev_t dev = d != NULL ? atomic_load(&d->dev) : 0;

	if (which == DEVICE_Scheduler) {
		policy = policy_of(v->name, why, size);
		if (policy == NULL)
			return false;
	}
	return device_params_turn(dev, which, v->number, policy, why, size) &&
	       put_device_into_force(n, dev);
}

/* ---- operators --------------------------------------------------------------------------- */

bool live_params_get(const struct parameter *p, const struct parameter_target *t,
		     struct parameter_value *now, struct parameter_value *file)
{
	bool found = true;

	if (t->of == PARAMETER_OF_DEVICE)
		return get_device(p, t->device, now, file);
	pthread_mutex_lock(&state.lock);
	if (t->of == PARAMETER_OF_EXPORT) {
		found = get_export(p, t->export_id, now, file);
	} else {
		ra_params_get(p, &ra_module_params, now);
		ra_params_get(p, &state.file, file);
	}
	pthread_mutex_unlock(&state.lock);
	return found;
}

bool live_params_set(const struct parameter *p, const struct parameter_target *t,
		     const struct parameter_value *v, char *why, size_t size)
{
	bool done;

	pthread_mutex_lock(&state.lock);
	if (t->of == PARAMETER_OF_DEVICE)
		done = set_device(p, t->device, v, why, size);
	else if (t->of == PARAMETER_OF_EXPORT)
		done = set_export(p, t->export_id, v, why, size);
	else
		done = set_server(p, v, why, size);
	pthread_mutex_unlock(&state.lock);
	return done;
}
