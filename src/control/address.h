/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Addresses, by which clients are called. Pure. */
#ifndef CONTROL_ADDRESS_H
#define CONTROL_ADDRESS_H

#include <stdbool.h>

#define ADDRESS_TEXT 48 /* bytes of an address with its NUL */

/* What is said of one that is none, with its text. */
#define ADDRESS_REFUSED                                                                            \
	"\"%.64s\" is not the address of a client, as 10.0.0.11 or 2001:db8::11; a file goes by "  \
	"its "                                                                                     \
	"inode number, or its path with a slash"

/* TEXT as the server has it: capitals, zeros and IPv4 within IPv6 put right. False: it is no address. */
bool address_read(const char *text, char name[ADDRESS_TEXT]);

#endif
