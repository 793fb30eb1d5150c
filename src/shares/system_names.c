/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The C library's functions. See system_names.h. */
#include "shares/system_names.h"

#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

#include "common/clock.h"
#include "common/lock.h"

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

/* A start waits for a name server that does not answer once, not for each of a thousand names. */
#define SILENT (30 * CLOCK_SECOND)
static _Atomic uint64_t silent_until;

/* What getaddrinfo() returns. */
static int look_up(const char *name, struct addrinfo **list)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
	int error = getaddrinfo(name, NULL, &hints, list);

	if (error != EAI_NONAME)
		return error;
	if (clock_now() < atomic_load(&silent_until))
		return EAI_AGAIN;
	hints.ai_flags = 0;
	error = getaddrinfo(name, NULL, &hints, list);
	if (error == EAI_AGAIN)
		atomic_store(&silent_until, clock_now() + SILENT);
	return error;
}

static unsigned int addresses_of(const char *name, struct client_address *a, unsigned int max,
				 const char **reason)
{
	struct addrinfo *list;
	unsigned int n = 0;
	int error = look_up(name, &list);

	*reason = error != 0 ? gai_strerror(error) : "it has others only";
	if (error != 0)
		return 0;
	for (const struct addrinfo *at = list; at != NULL && n < max; at = at->ai_next)
		if (client_address_of(at->ai_addr, &a[n]))
			n++;
	freeaddrinfo(list);
	return n;
}

const struct client_names system_names = {
	.name_of = name_of,
	.in_netgroup = in_netgroup,
	.addresses_of = addresses_of,
};
