/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The C library's functions. See system_names.h. */
#include "shares/system_names.h"

#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

#include "common/clock.h"
#include "common/lock.h"
#include "shares/name_memory.h"

/* innetgr() need not be safe with itself. */
static struct lock netgroups = LOCK_INITIALIZER(LOCK_LEAF);

static bool name_of(const struct client_address *a, char *name, size_t size)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	const struct sockaddr *addr = (struct sockaddr *)&in6;
	socklen_t len = sizeof(in6);

	memcpy(&in6.sin6_addr, a, sizeof(in6.sin6_addr));
	if (memcmp(a, mapped, sizeof(mapped)) == 0) {
		memcpy(&in.sin_addr, a->byte + sizeof(mapped), sizeof(in.sin_addr));
		addr = (struct sockaddr *)&in;
		len = sizeof(in);
	}
	return getnameinfo(addr, len, name, (socklen_t)size, NULL, 0, NI_NAMEREQD) == 0;
}

static bool in_netgroup(const char *group, const char *name)
{
	bool in;

	lock_take(&netgroups);
	in = innetgr(group, name, NULL, NULL) == 1;
	lock_drop(&netgroups);
	return in;
}

/*
 * A start waits for a name server that does not answer once, not for each of a thousand names. One that fails at once
 * need not do so for the next name.
 */
#define SILENT (30 * CLOCK_SECOND)
#define LATE   CLOCK_SECOND
static _Atomic uint64_t silent_until;

/* What getaddrinfo() returns: *LIST, if that is 0. */
static int look_up(const char *name, int flags, struct addrinfo **list)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};

	return getaddrinfo(name, NULL, &hints, list);
}

static int look_up_at_start(const char *name, struct addrinfo **list)
{
	uint64_t began = clock_now();
	int error;

	if (began < atomic_load(&silent_until))
		return EAI_AGAIN;
	error = look_up(name, 0, list);
	if (error == EAI_AGAIN && clock_now() - began >= LATE)
		atomic_store(&silent_until, clock_now() + SILENT);
	return error;
}

/* Whether the same question may have another answer in a moment. */
static bool is_for_now(int error)
{
	return error == EAI_AGAIN || error == EAI_SYSTEM || error == EAI_MEMORY;
}

/* Those of LIST, which it frees, up to MAX; or what ERROR says of one without. */
static int take_addresses(int error, struct addrinfo *list, struct client_address *a,
			  unsigned int max, const char **reason)
{
	unsigned int n = 0;

	*reason = error != 0 ? gai_strerror(error) : "it has others only";
	if (error != 0)
		return is_for_now(error) ? NAMES_LATER : 0;
	for (const struct addrinfo *at = list; at != NULL && n < max; at = at->ai_next)
		if (client_address_of(at->ai_addr, &a[n]))
			n++;
	freeaddrinfo(list);
	return (int)n;
}

static int addresses_of(const char *name, struct client_address *a, unsigned int max,
			const char **reason)
{
	struct addrinfo *list = NULL;
	int error = look_up(name, AI_NUMERICHOST, &list);

	if (error == EAI_NONAME)
		error = look_up_at_start(name, &list);
	return take_addresses(error, list, a, max, reason);
}

static struct lock memory_lock = LOCK_INITIALIZER(LOCK_LEAF);
static struct name_memory memory;

static bool remembers(const char *name, int *said)
{
	bool known;

	lock_take(&memory_lock);
	known = name_memory_find(&memory, name, clock_now(), said);
	lock_drop(&memory_lock);
	return known;
}

static void remember(const char *name, int said, uint64_t began)
{
	uint64_t now = clock_now();

	lock_take(&memory_lock);
	name_memory_put(&memory, name, said, now - began, now);
	lock_drop(&memory_lock);
}

static int addresses_patiently(const char *name, struct client_address *a, unsigned int max,
			       const char **reason)
{
	uint64_t began = clock_now();
	struct addrinfo *list = NULL;
	int error, n;

	*reason = "it had none lately";
	if (remembers(name, &n))
		return n;
	error = look_up(name, 0, &list);
	n = take_addresses(error, list, a, max, reason);
	if (n <= 0)
		remember(name, n, began);
	return n;
}

const struct client_names system_names = {
	.name_of = name_of,
	.in_netgroup = in_netgroup,
	.addresses_of = addresses_of,
};

const struct client_names patient_names = {
	.name_of = name_of,
	.in_netgroup = in_netgroup,
	.addresses_of = addresses_patiently,
};
