/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the files of a trace contain: each file's bytes follow from the seed, its content's number and the
 * place (nfsbench/content.h), whoever wrote them. So any bytes read can be checked: those of another
 * place, another file or an earlier file of that name show.
 */
#include "replay.h"

#include "nfsbench/content.h"

#include <string.h>

const char *bytes_of(uint64_t seed, uint32_t content, uint64_t offset, char *buffer, size_t length)
{
	const size_t before = offset % 8;

	content_fill(content_start(seed, content), offset - before, buffer, length + before);
	return buffer + before;
}

size_t bytes_wrong(const char *data, const char *expected, size_t length, bool holes)
{
	size_t wrong = 0;

	if (memcmp(data, expected, length) == 0)
		return 0;
	for (size_t i = 0; i < length; i++)
		wrong += data[i] != expected[i] && !(holes && data[i] == 0);
	return wrong;
}
