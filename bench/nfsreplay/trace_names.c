/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The names of a trace: paths, by a hash table of (directory, last component), and clients. Objects
 * are numbered as they are first named, a directory before what is in it.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN    1024
#define CLIENT_SLOTS (2 * TRACE_CLIENTS_MAX) /* a power of two */

struct trace_names {
	uint32_t *slots; /* object + 1, 0: free */
	uint32_t slot_count;
	uint16_t clients[CLIENT_SLOTS]; /* client + 1 */
};

int trace_room(void **array, uint32_t count, uint32_t *room, uint32_t max, size_t element)
{
	uint32_t more = *room ? 2 * *room : 256;
	void *grown;

	if (count < *room)
		return 0;
	if (count >= max)
		return -1;
	if (more > max)
		more = max;
	grown = realloc(*array, more * element);
	if (!grown)
		return -1;
	memset((char *)grown + *room * element, 0, (more - *room) * element);
	*array = grown;
	*room = more;
	return 0;
}

/* FNV-1a */
static uint32_t hash(uint32_t parent, const char *name, size_t length)
{
	uint32_t h = 2166136261u ^ parent;

	h *= 16777619u;
	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t *slot_of(const struct trace *t, uint32_t parent, const char *name, size_t length)
{
	const struct trace_names *n = t->names;
	uint32_t at = hash(parent, name, length) & (n->slot_count - 1);

	while (n->slots[at]) {
		const struct trace_object *o = &t->objects[n->slots[at] - 1];

		if (o->parent == parent && strncmp(o->name, name, length) == 0 && !o->name[length])
			break;
		at = (at + 1) & (n->slot_count - 1);
	}
	return &n->slots[at];
}

/* Slots for one object more, at most half of them taken. */
static int grow(struct trace *t)
{
	struct trace_names *n = t->names;
	uint32_t want = n->slot_count ? 2 * n->slot_count : SLOTS_MIN;
	uint32_t *slots;

	if (2 * (t->object_count + 1) <= n->slot_count)
		return 0;
	slots = calloc(want, sizeof(*slots));
	if (!slots)
		return -1;
	free(n->slots);
	n->slots = slots;
	n->slot_count = want;
	for (uint32_t i = 0; i < t->object_count; i++) {
		const struct trace_object *o = &t->objects[i];

		*slot_of(t, o->parent, o->name, strlen(o->name)) = i + 1;
	}
	return 0;
}

static int names(struct trace *t)
{
	if (!t->names)
		t->names = calloc(1, sizeof(*t->names));
	return t->names ? 0 : -1;
}

static int make(struct trace *t, uint32_t parent, const char *name, size_t length)
{
	struct trace_object *o;

	if (grow(t) || trace_room((void **)&t->objects, t->object_count, &t->object_room,
				  TRACE_OBJECTS_MAX, sizeof(*t->objects)))
		return -1;
	o = &t->objects[t->object_count];
	o->name = strndup(name, length);
	o->parent = parent;
	if (!o->name)
		return -1;
	*slot_of(t, parent, name, length) = ++t->object_count;
	return 0;
}

int trace_names_object(struct trace *t, const char *path, uint32_t *object, char *why,
		       size_t why_size)
{
	*object = TRACE_NONE;
	if (strcmp(path, ".") == 0)
		return 0;
	for (const char *p = path; *p;) {
		size_t length = strcspn(p, "/");
		uint32_t *slot;

		if (names(t) || grow(t)) {
			snprintf(why, why_size, "no memory for its names");
			return -1;
		}
		slot = slot_of(t, *object, p, length);
		if (!*slot && make(t, *object, p, length)) {
			snprintf(why, why_size, "more than %u names, or no memory for them",
				 TRACE_OBJECTS_MAX);
			return -1;
		}
		*object = *slot_of(t, *object, p, length) - 1;
		p += length + (p[length] == '/');
	}
	return 0;
}

int trace_names_client(struct trace *t, const char *name, uint16_t *client, char *why,
		       size_t why_size)
{
	uint32_t at = hash(0, name, strlen(name)) & (CLIENT_SLOTS - 1);
	struct trace_client *c = &t->clients[t->client_count];

	if (names(t)) {
		snprintf(why, why_size, "no memory for its names");
		return -1;
	}
	for (; t->names->clients[at]; at = (at + 1) & (CLIENT_SLOTS - 1)) {
		*client = (uint16_t)(t->names->clients[at] - 1);
		if (strcmp(t->clients[*client].name, name) == 0)
			return 0;
	}
	if (t->client_count == TRACE_CLIENTS_MAX) {
		snprintf(why, why_size, "client %.63s: a trace has at most %d clients", name,
			 TRACE_CLIENTS_MAX);
		return -1;
	}
	*c = (struct trace_client){.name = strdup(name), .first = TRACE_NONE, .last = TRACE_NONE};
	if (!c->name) {
		snprintf(why, why_size, "no memory for its names");
		return -1;
	}
	*client = (uint16_t)t->client_count++;
	t->names->clients[at] = (uint16_t)(*client + 1);
	return 0;
}

const char *trace_path(const struct trace *t, uint32_t object, char *buffer)
{
	size_t at = TRACE_PATH_MAX;

	if (object == TRACE_NONE)
		return strcpy(buffer, ".");
	buffer[at] = 0;
	while (object != TRACE_NONE) {
		size_t length = strlen(t->objects[object].name);

		if (at != TRACE_PATH_MAX)
			buffer[--at] = '/';
		at -= length;
		memcpy(buffer + at, t->objects[object].name, length);
		object = t->objects[object].parent;
	}
	return buffer + at;
}

void trace_names_free(struct trace *t)
{
	for (uint32_t i = 0; i < t->object_count; i++)
		free((char *)t->objects[i].name);
	for (uint32_t i = 0; i < t->client_count; i++)
		free((char *)t->clients[i].name);
	if (t->names)
		free(t->names->slots);
	free(t->names);
	free(t->objects);
	t->names = NULL;
	t->objects = NULL;
	t->object_count = t->client_count = 0;
}
