/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A small table of commands for tests of the protocol and of the server. */
#ifndef UNIT_CONTROL_TABLE_H
#define UNIT_CONTROL_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/control.h"

static void echo(struct control_call *call)
{
	json_object_object_add(call->answer, "text",
			       json_object_new_string(control_text(call, "text")));
	json_object_object_add(call->answer, "n", json_object_new_int64(control_number(call, "n")));
	json_object_object_add(call->answer, "flag",
			       json_object_new_boolean(control_flag(call, "flag")));
}

static void big(struct control_call *call)
{
	size_t size = (size_t)control_number(call, "size");
	char *text = malloc(size + 1);

	memset(text, 'x', size);
	text[size] = '\0';
	json_object_object_add(call->answer, "text", json_object_new_string(text));
	free(text);
}

static void no(struct control_call *call)
{
	control_refuse(call, "no: %d", 42);
}

static void hold(struct control_call *call)
{
	call->held = true;
}

static const struct control_command commands[] = {
	{"echo",
	 "says what it was told",
	 echo,
	 {{"text", CONTROL_TEXT, true}, {"n", CONTROL_NUMBER}, {"flag", CONTROL_FLAG}}},
	{"big", "a long answer", big, {{"size", CONTROL_NUMBER, true}}},
	{"no", "refuses", no},
	{"hold", "something is the peer's until it goes", hold},
	{NULL},
};

#endif
