/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What must hold of the control channel whatever a peer sends: each line has one answer, which is one
 * line, of bounded length, a JSON object with "ok"; and no line brings the server down. Driven by
 * test_fuzz_control.c with lines of its own, and by libFuzzer where the compiler has it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "control/commands.h"
#include "control/protocol.h"
#include "fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds too. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static void keep_quiet(enum log_level level, const char *format, va_list args)
{
}

static void check_answer(char *text, size_t len)
{
	struct json_object *answer, *ok, *error;

	MUST(text != NULL && len > 0 && len <= CONTROL_ANSWER_MAX);
	MUST(memchr(text, '\n', len) == text + len - 1);
	text[len - 1] = '\0';
	MUST(strlen(text) == len - 1);
	answer = json_tokener_parse(text);
	MUST(json_object_is_type(answer, json_type_object));
	MUST(json_object_object_get_ex(answer, "ok", &ok));
	MUST(json_object_is_type(ok, json_type_boolean));
	MUST(json_object_get_boolean(ok) || json_object_object_get_ex(answer, "error", &error));
	json_object_put(answer);
}

/* DATA is what a peer sends: lines, each as the server cuts them out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line = (const char *)data, *end;
	const struct control_command *commands;
	bool held = false;

	fake_host_reset();
	log_set_writer(keep_quiet);
	commands = commands_start(&host);
	for (; size; size -= (size_t)(end - line) + 1, line = end + 1) {
		size_t len;
		char *answer;

		end = memchr(line, '\n', size);
		if (!end || end - line >= CONTROL_LINE_MAX)
			break;
		answer = protocol_answer(commands, line, (size_t)(end - line), &len, &held);
		check_answer(answer, len);
		free(answer);
		commands_tick();
		world.now += CLOCK_SECOND;
	}
	commands_released();
	return 0;
}
