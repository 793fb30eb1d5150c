/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See address.h. The server calls a client by the same functions of the C library. */
#include "control/address.h"

#include <arpa/inet.h>
#include <stddef.h>

#define MAPPED 12 /* bytes before an IPv4 address within one of IPv6 */

bool address_read(const char *text, char name[ADDRESS_TEXT])
{
	struct in6_addr a6;
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) == 1)
		return inet_ntop(AF_INET, &a, name, ADDRESS_TEXT) != NULL;
	if (inet_pton(AF_INET6, text, &a6) != 1)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(&a6))
		return inet_ntop(AF_INET, a6.s6_addr + MAPPED, name, ADDRESS_TEXT) != NULL;
	return inet_ntop(AF_INET6, &a6, name, ADDRESS_TEXT) != NULL;
}
