/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the decoder of handles whatever a client sends: nothing is read beyond them, and
 * what is decoded are the bytes at their end. Driven by test_wire_handle.c with handles of its own,
 * and by libFuzzer where the compiler has it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "disk/wire_handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds too. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static void check(const char *fsal, const uint8_t *wire, size_t len)
{
	struct kernel_handle kh;

	memset(&kh, 0x5a, sizeof(kh));
	if (!wire_handle_decode(fsal, wire, len, &kh))
		return;
	MUST(kh.fh.handle_bytes >= 1 && kh.fh.handle_bytes <= KERNEL_HANDLE_MAX);
	MUST(kh.fh.handle_bytes < len);
	for (unsigned int i = kh.fh.handle_bytes; i < KERNEL_HANDLE_MAX; i++)
		MUST(kh.bytes[i] == 0x5a);
	if (!strcmp(fsal, "VFS"))
		MUST(!memcmp(kh.bytes, wire + len - kh.fh.handle_bytes, kh.fh.handle_bytes));
	else
		MUST(len == 24 && !memcmp(kh.bytes, wire + 16, 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *wire = malloc(size ? size : 1); /* so that a sanitizer sees its end */
	struct kernel_handle kh;

	MUST(wire);
	memcpy(wire, data, size);
	check("VFS", wire, size);
	check("XFS", wire, size);
	MUST(!wire_handle_decode("MEM", wire, size, &kh));
	free(wire);
	return 0;
}
