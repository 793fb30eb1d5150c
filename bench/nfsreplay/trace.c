/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reading a whole trace: line by line, each checked before the next is read. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define WHY 384 /* bytes of a line's complaint */

/*
 * A line without its newline into BUFFER. 1, 0 at the end of the file, or -1 and WHY. A line may end
 * with the file; a 0 in it would hide the rest.
 */
static int next_line(FILE *file, char *buffer, char *why)
{
	size_t length = 0;
	int c;

	while ((c = getc(file)) != EOF && c != '\n') {
		if (c == 0 || length == TRACE_LINE_MAX) {
			if (c == 0)
				snprintf(why, WHY, "it must be text, and has a byte of 0");
			else
				snprintf(why, WHY, "it must have at most %d bytes", TRACE_LINE_MAX);
			return -1;
		}
		buffer[length++] = (char)c;
	}
	if (length && buffer[length - 1] == '\r')
		length--;
	buffer[length] = 0;
	return c != EOF || length;
}

static int add_op(struct trace *t, const struct trace_line *l, uint32_t line, char *why)
{
	struct trace_op op = {.at = l->at,
			      .offset = l->offset,
			      .line = line,
			      .length = l->length,
			      .took = l->took,
			      .status = l->status,
			      .kind = (uint8_t)l->kind,
			      .stable = l->stable,
			      .to = TRACE_NONE,
			      .next = TRACE_NONE};
	struct trace_client *c;

	if (t->op_count && l->at < t->ops[t->op_count - 1].at) {
		uint64_t before = t->ops[t->op_count - 1].at;

		snprintf(why, WHY,
			 "time %llu.%06llu: must not be before that of the operation above, "
			 "%llu.%06llu",
			 (unsigned long long)l->at / 1000000, (unsigned long long)l->at % 1000000,
			 (unsigned long long)before / 1000000,
			 (unsigned long long)before % 1000000);
		return -1;
	}
	if (trace_room((void **)&t->ops, t->op_count, &t->op_room, TRACE_OPS_MAX,
		       sizeof(*t->ops))) {
		snprintf(why, WHY, "more than %u operations, or no memory for them", TRACE_OPS_MAX);
		return -1;
	}
	if (trace_names_client(t, l->client, &op.client, why, WHY) ||
	    trace_names_object(t, l->path, &op.object, why, WHY) ||
	    (l->to && trace_names_object(t, l->to, &op.to, why, WHY)) ||
	    trace_space_apply(t, &op, why, WHY))
		return -1;
	c = &t->clients[op.client];
	if (c->last == TRACE_NONE)
		c->first = t->op_count;
	else
		t->ops[c->last].next = t->op_count;
	c->last = t->op_count;
	c->count++;
	t->ops[t->op_count++] = op;
	return 0;
}

static int take_line(struct trace *t, char *text, uint32_t line, char *why)
{
	struct trace_line l;

	if (trace_line_parse(text, &l, why, WHY))
		return -1;
	switch (l.what) {
	case TRACE_LINE_EMPTY:
		return 0;
	case TRACE_LINE_FILE:
	case TRACE_LINE_DIR:
		return trace_space_declare(t, &l, why, WHY);
	case TRACE_LINE_OP:
		return add_op(t, &l, line, why);
	}
	return -1;
}

int trace_read(struct trace *t, FILE *file)
{
	char text[TRACE_LINE_MAX + 1], why[WHY] = "";
	uint32_t line = 0;
	int rc;

	memset(t, 0, sizeof(*t));
	do {
		line++;
		rc = next_line(file, text, why);
		if (line == 1 && rc >= 0) /* also of an empty file */
			rc = trace_header_parse(text, why, WHY) ? -1 : rc;
		else if (rc > 0)
			rc = take_line(t, text, line, why) ? -1 : rc;
	} while (rc > 0);
	if (rc < 0) {
		snprintf(t->problem, sizeof(t->problem), "line %u: %s", line, why);
		return -1;
	}
	if (ferror(file) || !t->op_count) {
		snprintf(t->problem, sizeof(t->problem), "%s",
			 ferror(file) ? "it cannot be read" : "it has no operation");
		return -1;
	}
	if (trace_order(t)) {
		snprintf(t->problem, sizeof(t->problem), "no memory for its %u operations",
			 t->op_count);
		return -1;
	}
	return 0;
}

void trace_free(struct trace *t)
{
	trace_names_free(t);
	free(t->ops);
	free(t->ends);
	free(t->sparse);
	memset(t, 0, sizeof(*t));
}
