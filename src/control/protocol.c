/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The protocol: a request is a JSON object whose "command" names an entry of the table, and whose
 * other members are those that the entry lists. Everything is checked here, once, before a handler
 * sees it: what is not understood is refused, with the list of what would have been.
 */
#include "control/protocol.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

static const char *const kind_names[] = {
	[CONTROL_TEXT] = "a string",
	[CONTROL_NUMBER] = "a whole number from 0",
	[CONTROL_FLAG] = "true or false",
};

const char *control_version(void)
{
	return RA_VERSION;
}

void control_refuse(struct control_call *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(call->error, sizeof(call->error), format, args);
	va_end(args);
	utf8_mend(call->error); /* names in it are cut to a length */
}

const char *control_text(struct control_call *call, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(call->request, member, &value)
		       ? json_object_get_string(value)
		       : NULL;
}

int64_t control_number(struct control_call *call, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(call->request, member, &value)
		       ? json_object_get_int64(value)
		       : -1;
}

bool control_flag(struct control_call *call, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(call->request, member, &value) &&
	       json_object_get_boolean(value);
}

unsigned int control_limit(struct control_call *call, unsigned int most, const char *what)
{
	int64_t given = control_number(call, "limit");

	if (given < 0)
		return most;
	if (given > 0 && given <= most)
		return (unsigned int)given;
	control_refuse(call, "limit = %" PRId64 " is out of range: 1 to %u %s", given, most, what);
	return 0;
}

/* ---- checking --------------------------------------------------------------------------- */

static bool is_kind(struct json_object *value, enum control_kind kind)
{
	switch (kind) {
	case CONTROL_TEXT:
		/* A NUL inside would make two readers see two values. */
		return json_object_is_type(value, json_type_string) &&
		       strlen(json_object_get_string(value)) ==
			       (size_t)json_object_get_string_len(value);
	case CONTROL_NUMBER:
		return json_object_is_type(value, json_type_int) &&
		       json_object_get_int64(value) >= 0;
	case CONTROL_FLAG:
		return json_object_is_type(value, json_type_boolean);
	}
	return false;
}

static const struct control_member *member_of(const struct control_command *command,
					      const char *name)
{
	for (int i = 0; i < CONTROL_MEMBERS_MAX; i++)
		if (command->members[i].name && !strcmp(command->members[i].name, name))
			return &command->members[i];
	return NULL;
}

/* "a, b, c" of the members, for messages. */
static void list_members(const struct control_command *command, char *list, size_t size)
{
	size_t used = 0;

	snprintf(list, size, "none");
	for (int i = 0; i < CONTROL_MEMBERS_MAX && command->members[i].name && used < size; i++)
		used += (size_t)snprintf(list + used, size - used, "%s%s", i ? ", " : "",
					 command->members[i].name);
}

static void check_members(struct control_call *call)
{
	const struct control_command *command = call->command;
	struct json_object *value;
	char list[128];

	json_object_object_foreach(call->request, name, given)
	{
		const struct control_member *m = member_of(command, name);

		if (!strcmp(name, "command"))
			continue;
		if (!m) {
			list_members(command, list, sizeof(list));
			control_refuse(call, "%s has no member \"%.64s\"; its members are: %s",
				       command->name, name, list);
		} else if (!is_kind(given, m->kind)) {
			control_refuse(call, "%s: \"%s\" must be %s", command->name, m->name,
				       kind_names[m->kind]);
		}
	}
	for (int i = 0; i < CONTROL_MEMBERS_MAX && command->members[i].name; i++) {
		const struct control_member *m = &command->members[i];

		if (m->required && !json_object_object_get_ex(call->request, m->name, &value))
			control_refuse(call, "%s needs \"%s\", %s", command->name, m->name,
				       kind_names[m->kind]);
	}
}

/* ---- the commands ----------------------------------------------------------------------- */

static void refuse_command(struct control_call *call, const struct control_command *commands,
			   const char *name)
{
	char list[256] = "help";
	size_t used = strlen(list);

	for (; commands->name && used < sizeof(list); commands++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ", %s", commands->name);
	control_refuse(call, "\"%.64s\" is not a command; the commands are: %s", name, list);
}

static void help(struct control_call *call, const struct control_command *commands)
{
	struct json_object *list = json_object_new_array();

	for (; commands->name; commands++) {
		struct json_object *entry = json_object_new_object();
		struct json_object *members = json_object_new_array();

		for (int i = 0; i < CONTROL_MEMBERS_MAX && commands->members[i].name; i++)
			json_object_array_add(members,
					      json_object_new_string(commands->members[i].name));
		json_object_object_add(entry, "command", json_object_new_string(commands->name));
		json_object_object_add(entry, "members", members);
		json_object_object_add(entry, "help", json_object_new_string(commands->help));
		json_object_array_add(list, entry);
	}
	json_object_object_add(call->answer, "commands", list);
}

static void carry_out(struct control_call *call, const struct control_command *commands)
{
	static const struct control_command help_command = {.name = "help"};
	struct json_object *value;
	const char *name;

	if (!json_object_object_get_ex(call->request, "command", &value) ||
	    !is_kind(value, CONTROL_TEXT)) {
		control_refuse(call, "the request has no \"command\" that is a string");
		return;
	}
	name = json_object_get_string(value);
	for (call->command = commands; call->command->name; call->command++)
		if (!strcmp(call->command->name, name))
			break;
	if (!strcmp(name, help_command.name))
		call->command = &help_command;
	if (!call->command->name) {
		refuse_command(call, commands, name);
		return;
	}
	check_members(call);
	if (!call->error[0] && call->read_only && call->command->changes)
		control_refuse(call, CONTROL_READ_ONLY);
	if (call->error[0])
		return;
	if (call->command == &help_command)
		help(call, commands);
	else
		call->command->handler(call);
}

/* ---- text <-> objects ------------------------------------------------------------------- */

/* The object of LINE, which is ASCII, or NULL with the reason in the call. */
static struct json_object *parse_ascii(struct control_call *call, const char *line, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(CONTROL_DEPTH_MAX);
	struct json_object *object = NULL;
	enum json_tokener_error err;

	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tokener, line, (int)len);
	err = json_tokener_get_error(tokener);
	if (err == json_tokener_success && json_tokener_get_parse_end(tokener) < len)
		err = json_tokener_error_parse_unexpected;
	if (err == json_tokener_continue)
		control_refuse(call,
			       "the request is not one JSON object in one line: it ends early");
	else if (err != json_tokener_success)
		control_refuse(call, "the request is not JSON: %s", json_tokener_error_desc(err));
	else if (!json_object_is_type(object, json_type_object))
		control_refuse(call, "the request is not a JSON object");
	json_tokener_free(tokener);
	if (call->error[0]) {
		json_object_put(object);
		object = NULL;
	}
	return object;
}

/* The same of any bytes. */
static struct json_object *parse(struct control_call *call, const char *line, size_t len)
{
	char *ascii = malloc(UTF8_ESCAPED_MAX(len));
	struct json_object *object = NULL;
	long n = ascii ? utf8_escape(line, len, ascii) : -1;

	if (n >= 0)
		object = parse_ascii(call, ascii, (size_t)n);
	else
		control_refuse(call, ascii ? "the request is not JSON: it is not UTF-8"
					   : "out of memory");
	free(ascii);
	return object;
}

static char *line_of(struct json_object *object, size_t *len)
{
	const char *text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN, len);
	char *line;

	if (!text)
		return NULL;
	line = malloc(*len + 1);
	if (!line)
		return NULL;
	memcpy(line, text, *len);
	line[(*len)++] = '\n';
	return line;
}

char *protocol_error(const char *text, size_t *answer_len)
{
	struct json_object *answer = json_object_new_object();
	char *line;

	json_object_object_add(answer, "ok", json_object_new_boolean(false));
	json_object_object_add(answer, "schema", json_object_new_int(CONTROL_SCHEMA));
	json_object_object_add(answer, "error", json_object_new_string(text));
	line = line_of(answer, answer_len);
	json_object_put(answer);
	return line;
}

char *protocol_answer(const struct control_command *commands, const char *line, size_t len,
		      size_t *answer_len, bool *held)
{
	return protocol_answer_as(commands, line, len, answer_len, held, false);
}

char *protocol_answer_as(const struct control_command *commands, const char *line, size_t len,
			 size_t *answer_len, bool *held, bool read_only)
{
	struct control_call call = {.error = "", .read_only = read_only};
	char *text;

	if (len && line[len - 1] == '\r')
		len--;
	if (memchr(line, '\0', len))
		return protocol_error("the request contains a NUL byte", answer_len);
	call.answer = json_object_new_object();
	json_object_object_add(call.answer, "ok", json_object_new_boolean(true));
	json_object_object_add(call.answer, "schema", json_object_new_int(CONTROL_SCHEMA));
	call.request = parse(&call, line, len);
	if (call.request)
		carry_out(&call, commands);
	*held = *held || call.held;
	if (call.error[0]) {
		json_object_object_add(call.answer, "ok", json_object_new_boolean(false));
		json_object_object_add(call.answer, "error", json_object_new_string(call.error));
	}
	text = line_of(call.answer, answer_len);
	json_object_put(call.answer);
	json_object_put(call.request);
	if (text && *answer_len > CONTROL_ANSWER_MAX) {
		free(text);
		text = protocol_error("the answer would be too long", answer_len);
	}
	return text;
}
