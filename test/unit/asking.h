/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Asking the control channel's commands over the made-up host: requests and answers as JSON. */
#ifndef UNIT_ASKING_H
#define UNIT_ASKING_H

#include "common/log.h"
#include "control/commands.h"
#include "control/protocol.h"
#include "fake_host.h"

static const struct control_command *commands;

static void keep_quiet(enum log_level level, const char *format, va_list args)
{
	world.logged++;
}

static int setup(void **state)
{
	fake_host_reset();
	log_set_writer(keep_quiet);
	commands = commands_start(&host);
	return 0;
}

static struct json_object *ask(const char *request)
{
	size_t len;
	char *text = protocol_answer(commands, request, strlen(request), &len, &world.held);
	struct json_object *answer;

	assert_non_null(text);
	text[len - 1] = '\0';
	answer = json_tokener_parse(text);
	free(text);
	assert_non_null(answer);
	return answer;
}

static struct json_object *member(struct json_object *o, const char *name)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, name, &value))
		fail_msg("no member %s in %s", name, json_object_to_json_string(o));
	return value;
}

static struct json_object *nth(struct json_object *answer, const char *array, size_t n)
{
	return json_object_array_get_idx(member(answer, array), n);
}

static void assert_text(struct json_object *o, const char *name, const char *text)
{
	assert_string_equal(json_object_get_string(member(o, name)), text);
}

#endif
