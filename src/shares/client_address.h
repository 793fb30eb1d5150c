/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a client is: an IP address. Its port does not count, and IPv4 is IPv6 as ::ffff:a.b.c.d. Pure. */
#ifndef SHARES_CLIENT_ADDRESS_H
#define SHARES_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define CLIENT_TEXT_MAX INET6_ADDRSTRLEN

struct client_address {
	uint8_t byte[16];
};

/* False: ADDR is NULL or no IP address. */
bool client_address_of(const struct sockaddr *addr, struct client_address *a);
/* The address in TEXT, without port or prefix. */
bool client_address_parse(const char *text, struct client_address *a);
/* 10.1.2.3 or fe80::1; at most CLIENT_TEXT_MAX bytes with their end. */
void client_address_text(const struct client_address *a, char text[CLIENT_TEXT_MAX]);

#endif
