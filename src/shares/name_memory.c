/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See name_memory.h. */
#include "shares/name_memory.h"

#include "shares/client_list.h"

/* FNV-1a. */
static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
}

/* The place of HASH, or the one of those that it may have that is over first. */
static unsigned int place_of(const struct name_memory *m, uint64_t hash)
{
	unsigned int found = (unsigned int)(hash % NAME_MEMORY);

	for (unsigned int i = 0; i < NAME_MEMORY_PLACES; i++) {
		unsigned int n = (unsigned int)((hash + i) % NAME_MEMORY);

		if (m->at[n].hash == hash)
			return n;
		if (m->at[n].until < m->at[found].until)
			found = n;
	}
	return found;
}

bool name_memory_find(const struct name_memory *m, const char *name, uint64_t now, int *said)
{
	uint64_t hash = hash_of(name);
	unsigned int n = place_of(m, hash);

	if (m->at[n].hash == hash && now < m->at[n].until)
		*said = m->at[n].said;
	else if (m->waited > now + NAME_MEMORY_PATIENCE)
		*said = NAMES_LATER;
	else
		return false;
	return true;
}

void name_memory_put(struct name_memory *m, const char *name, int said, uint64_t took, uint64_t now)
{
	uint64_t hash = hash_of(name);
	unsigned int n = place_of(m, hash);
	uint64_t kept = took * NAME_MEMORY_FACTOR, began = now - took;

	m->at[n].hash = hash;
	m->at[n].until = now + (kept > NAME_MEMORY_LEAST ? kept : NAME_MEMORY_LEAST);
	m->at[n].said = said;
	if (said == NAMES_LATER)
		m->waited = (m->waited > began ? m->waited : began) + 2 * took;
}
