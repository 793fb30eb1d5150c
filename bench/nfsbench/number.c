/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Numbers of options: bytes take suffixes. */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int options_number(const char *text, uint64_t *value)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned int shift = 0;
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno)
		return -1;
	if (*end) {
		suffix = strchr(suffixes, toupper((unsigned char)*end));
		if (!suffix || end[1])
			return -1;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (v > UINT64_MAX >> shift)
		return -1;
	*value = (uint64_t)v << shift;
	return 0;
}
