/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Asking libcephfs for its configuration. FSAL_CEPH has loaded it; nothing of it is needed to build or load
 * us. Its functions (cephfs/libcephfs.h: ceph_create(), ceph_conf_read_file(), ceph_conf_get(),
 * ceph_release()) are used on a client of our own that is never mounted. See ceph_client.h.
 */
#include "ceph_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat.h"
#include "config_block.h"
#include "remote/hint.h"

#define VALUE_MAX 64
#define USER_MAX  64
/* A window of its read-ahead that is no window. */
#define PAGE 4096

/* The library's, by name. */
struct library {
	void *handle;
	int (*create)(void **mount, const char *id);
	int (*read_file)(void *mount, const char *path);
	int (*get)(void *mount, const char *option, char *value, size_t size);
	int (*release)(void *mount);
};

static bool find(struct library *l)
{
	l->handle = dlopen("libcephfs.so.2", RTLD_NOW | RTLD_NOLOAD);
	if (l->handle == NULL)
		return false;
	*(void **)&l->create = dlsym(l->handle, "ceph_create");
	*(void **)&l->read_file = dlsym(l->handle, "ceph_conf_read_file");
	*(void **)&l->get = dlsym(l->handle, "ceph_conf_get");
	*(void **)&l->release = dlsym(l->handle, "ceph_release");
	return l->create && l->read_file && l->get && l->release;
}

/* ---- the file that it reads -------------------------------------------------------------- */

struct block {
	char *path;
};

static struct config_item items[] = {CONF_ITEM_PATH("Ceph_Conf", 1, MAXPATHLEN, NULL, block, path),
				     CONFIG_EOL};

static struct config_block block_ceph =
	RA_CONFIG_BLOCK("org.ganesha.nfsd.config.fsal.ra.ceph", "CEPH", items, 0);

static struct block configured;

struct user {
	char *id;
};

static struct config_item user_items[] = {CONF_ITEM_STR("User_Id", 1, USER_MAX, NULL, user, id),
					  CONFIG_EOL};

static struct config_block block_user =
	RA_CONFIG_BLOCK("org.ganesha.nfsd.config.fsal.ra.ceph-export%d", "FSAL", user_items, 0);

/* What else is in a block is FSAL_CEPH's, and what is wrong too. */
static bool hears_nothing(struct config_error_type *errors)
{
	*errors = (struct config_error_type){.fp = fopen("/dev/null", "we")};
	return errors->fp != NULL;
}

void ceph_client_configure(config_file_t config)
{
	struct config_error_type errors;

	if (!hears_nothing(&errors))
		return;
	(void)load_config_from_parse(config, &block_ceph, &configured, true, &errors);
	fclose(errors.fp);
}

char *ceph_client_user(void *node)
{
	struct config_error_type errors;
	struct user user = {.id = NULL};

	if (!hears_nothing(&errors))
		return NULL;
	(void)load_config_from_node(node, &block_user, &user, false, &errors);
	fclose(errors.fp);
	return user.id;
}

/* ---- its values -------------------------------------------------------------------------- */

static bool get(const struct library *l, void *mount, const char *option, uint64_t *value)
{
	char text[VALUE_MAX] = "", *end;

	if (l->get(mount, option, text, sizeof(text)) < 0)
		return false;
	if (!strcmp(text, "true") || !strcmp(text, "false")) {
		*value = text[0] == 't';
		return true;
	}
	*value = strtoull(text, &end, 10);
	return end != text && *end == '\0';
}

static void ask(const struct library *l, void *mount, struct ceph_client *c)
{
	uint64_t caches, size, ahead;

	if (!get(l, mount, "client_oc", &caches) || !get(l, mount, "client_oc_size", &size) ||
	    !get(l, mount, "client_readahead_max_bytes", &ahead))
		return;
	*c = (struct ceph_client){.known = true,
				  .caches = caches != 0,
				  .reads_ahead = ahead == 0 || ahead >= PAGE,
				  .cache = size};
}

void ceph_client_ask(struct ceph_client *c, const char *user)
{
	struct library l;
	void *mount = NULL;

	*c = (struct ceph_client){.known = false};
	if (!find(&l) || l.create(&mount, user) < 0)
		return;
	if (l.read_file(mount, configured.path) >= 0)
		ask(&l, mount, c);
	l.release(mount);
}

void ceph_client_say(const struct ceph_client *c, uint64_t memory)
{
	if (!c->known) {
		LogWarn(COMPONENT_FSAL,
			"RA: libcephfs does not say how it is configured: see that "
			"client_readahead_max_bytes = 1 and client_oc_size is large");
		return;
	}
	if (!c->caches)
		LogWarn(COMPONENT_FSAL,
			"RA: client_oc = false: libcephfs keeps nothing that is read, so "
			"nothing is fetched ahead above FSAL_CEPH");
	if (c->reads_ahead)
		LogWarn(COMPONENT_FSAL,
			"RA: libcephfs reads ahead by itself, beside what is fetched for "
			"the clients' streams: client_readahead_max_bytes = 1 in ceph.conf "
			"switches that off");
	if (c->caches && hint_memory(memory, c->cache) < memory)
		LogWarn(COMPONENT_FSAL,
			"RA: Readahead_Memory = %" PRIu64
			" is more than half of libcephfs' client_oc_size = "
			"%" PRIu64 ": only that half is used, lest what is fetched ahead is "
			"dropped before it is read",
			memory, c->cache);
}
