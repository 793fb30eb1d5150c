/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A number of an IPv6 address, of which any bits will do for a place in a table: clients of one network differ in
 * the last bytes only, which a product alone would leave in its highest bits. Mixed as by SplitMix64 (Steele, Lea &
 * Flood, OOPSLA 2014).
 */
#ifndef COMMON_ADDRESS_HASH_H
#define COMMON_ADDRESS_HASH_H

#include <stdint.h>
#include <string.h>

static inline uint64_t address_hash(const uint8_t address[16])
{
	uint64_t high, low;

	memcpy(&high, address, sizeof(high));
	memcpy(&low, address + sizeof(high), sizeof(low));
	low ^= high * UINT64_C(0xd6e8feb86659fd93);
	low = (low ^ low >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	low = (low ^ low >> 27) * UINT64_C(0x94d049bb133111eb);
	return low ^ low >> 31;
}

#endif
