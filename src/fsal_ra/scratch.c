/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One buffer a dispatcher thread: prefetched bytes are read into it and forgotten. */
#include <stdlib.h>

#include "io.h"
#include "stats.h"

static pthread_key_t key;
static bool made;

struct scratch {
	size_t len;
	void *data;
};

static void scratch_free(void *arg)
{
	struct scratch *s = arg;

	free(s->data);
	free(s);
}

void ra_scratch_start(void)
{
	if (!made)
		made = pthread_key_create(&key, scratch_free) == 0;
}

void ra_scratch_stop(void)
{
	if (made)
		pthread_key_delete(key);
	made = false;
}

void *ra_scratch(size_t len)
{
	struct scratch *s = made ? pthread_getspecific(key) : NULL;

	if (!made)
		return NULL;
	if (s == NULL) {
		s = calloc(1, sizeof(*s));
		if (s == NULL)
			return NULL;
		pthread_setspecific(key, s);
	}
	if (s->len < len) {
		void *data = aligned_alloc(4096, (len + 4095) / 4096 * 4096);

		if (data == NULL)
			return NULL;
		free(s->data);
		s->data = data;
		s->len = len;
	}
	return s->data;
}
