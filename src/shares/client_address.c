/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See client_address.h. */
#include "shares/client_address.h"

#include <arpa/inet.h>
#include <string.h>

/* An IPv4 address, as IPv6 writes it. */
static void of_ipv4(const struct in_addr *in, struct client_address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	memcpy(a->byte, mapped, sizeof(mapped));
	memcpy(a->byte + sizeof(mapped), in, sizeof(*in));
}

bool client_address_of(const struct sockaddr *addr, struct client_address *a)
{
	if (addr != NULL && addr->sa_family == AF_INET6) {
		memcpy(a, &((const struct sockaddr_in6 *)addr)->sin6_addr, sizeof(*a));
		return true;
	}
	if (addr == NULL || addr->sa_family != AF_INET)
		return false;
	of_ipv4(&((const struct sockaddr_in *)addr)->sin_addr, a);
	return true;
}

bool client_address_parse(const char *text, struct client_address *a)
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1)
		return inet_pton(AF_INET6, text, a->byte) == 1;
	of_ipv4(&in, a);
	return true;
}

void client_address_text(const struct client_address *a, char text[CLIENT_TEXT_MAX])
{
	struct in6_addr in6;

	memcpy(&in6, a, sizeof(in6));
	if (IN6_IS_ADDR_V4MAPPED(&in6))
		inet_ntop(AF_INET, a->byte + 12, text, CLIENT_TEXT_MAX);
	else
		inet_ntop(AF_INET6, &in6, text, CLIENT_TEXT_MAX);
}
