/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fuzz_control.c with lines made of the protocol's own words, put together at random and damaged, by a
 * fixed seed. By hand for longer: test_fuzz_control ROUNDS [SEED], or fuzz_control where clang is.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {
	"{",
	"}",
	":",
	",",
	"[",
	"]",
	"\n",
	"\"command\"",
	"\"status\"",
	"\"devices\"",
	"\"scheduler\"",
	"\"heuristic\"",
	"\"prices\"",
	"\"stats\"",
	"\"trace\"",
	"\"help\"",
	"\"name\"",
	"\"device\"",
	"\"export\"",
	"\"reset\"",
	"\"after\"",
	"\"limit\"",
	"\"events\"",
	"\"fifo\"",
	"\"turns\"",
	"\"cursor\"",
	"\"4095:1\"",
	"\"plan,pick\"",
	"true",
	"false",
	"null",
	"0",
	"7",
	"-1",
	"1e999",
	"9223372036854775807",
	"18446744073709551616",
	"\"\\u0000\"",
	"\"\\ud800\"",
	"\"\xc3\xa9\"",
	"\"%s%n\"",
	"/*",
};

static const char *const lines[] = {
	"{\"command\":\"status\"}\n",
	"{\"command\":\"devices\"}\n",
	"{\"command\":\"scheduler\",\"name\":\"fifo\",\"device\":\"4095:1\"}\n",
	"{\"command\":\"heuristic\",\"name\":\"off\",\"export\":7}\n",
	"{\"command\":\"prices\"}\n",
	"{\"command\":\"stats\",\"reset\":true}\n",
	"{\"command\":\"trace\",\"after\":0,\"limit\":10,\"events\":\"plan\"}\n",
	"{\"command\":\"help\"}\n",
};

static uint64_t state;

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void append(char *text, size_t *len, size_t size, const char *more)
{
	size_t n = strlen(more);

	if (*len + n > size)
		return;
	memcpy(text + *len, more, n);
	*len += n;
}

static size_t make_input(char *text, size_t size)
{
	size_t len = 0;
	int n;

	for (n = (int)(random_number() % 3); n >= 0; n--)
		append(text, &len, size,
		       lines[random_number() % (sizeof(lines) / sizeof(lines[0]))]);
	for (n = (int)(random_number() % 24); n > 0; n--)
		append(text, &len, size,
		       words[random_number() % (sizeof(words) / sizeof(words[0]))]);
	append(text, &len, size, "\n");
	for (n = (int)(random_number() % 4); n > 0; n--)
		text[random_number() % len] = (char)random_number();
	return len;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS;
	static char text[8192];

	state = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : UINT64_C(88172645463325252);
	for (long i = 0; i < rounds; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)text, make_input(text, sizeof(text)));
	memset(text, '[', sizeof(text)); /* deep, and too long */
	text[4000] = text[sizeof(text) - 1] = '\n';
	LLVMFuzzerTestOneInput((const uint8_t *)text, sizeof(text));
	printf("%ld inputs: each line answered\n", rounds + 1);
	return 0;
}
