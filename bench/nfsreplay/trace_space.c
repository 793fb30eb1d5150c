/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The name space as a trace goes on: what is there, and for each operation which life of which names
 * it needs.
 *
 *   name:   absent --create--> file --remove--> absent --mkdir--> directory ...
 *   generation:  0               1                2                 3
 *
 * An operation that uses a name goes while the name is in its generation; one that changes it goes when
 * all uses of its generation are over, and begins the next one (setattr of a size too: what is written
 * before and after it must not be mixed up). Directories are used by what is made,
 * removed and looked up in them. So replayed clients cannot overtake each other where that would change
 * what there is; everything else they may do in any order.
 */
#include "trace.h"

#include <stdarg.h>
#include <string.h>

#define NOENT 2 /* NFS3ERR_NOENT */

struct change {
	struct trace *t;
	struct trace_op *op;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t why_size,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_size, format, args);
	va_end(args);
	return -1;
}

static int kind_of(const struct trace *t, uint32_t object)
{
	return object == TRACE_NONE ? TRACE_DIR : t->objects[object].kind;
}

static int bad(const struct change *c, uint32_t object, const char *what)
{
	char path[TRACE_PATH_MAX + 1];

	return refuse(c->why, c->why_size, "%s of %.200s: %s", trace_kind_name(c->op->kind),
		      trace_path(c->t, object, path), what);
}

/* ---- references ---- */

static void refer(struct change *c, uint32_t object, bool changes)
{
	struct trace_object *o;

	if (object == TRACE_NONE)
		return;
	o = &c->t->objects[object];
	c->op->ref[c->op->refs++] =
		(struct trace_ref){object, o->generation, changes ? o->uses : TRACE_USE};
	if (changes) {
		o->generation++;
		o->uses = 0;
	} else {
		o->uses++;
	}
}

static uint32_t parent_of(const struct trace *t, uint32_t object)
{
	return t->objects[object].parent;
}

static void count_child(struct trace *t, uint32_t object, bool comes)
{
	uint32_t parent = parent_of(t, object);

	if (parent != TRACE_NONE)
		t->objects[parent].children += comes ? 1 : UINT32_MAX;
}

/* ---- what operations do ---- */

static int fresh_content(struct change *c, struct trace_object *o)
{
	struct trace *t = c->t;

	if (trace_room((void **)&t->sparse, t->contents, &t->sparse_room, TRACE_OPS_MAX,
		       sizeof(*t->sparse)))
		return refuse(c->why, c->why_size, "no memory for its files");
	o->content = t->contents++;
	o->size = 0;
	return 0;
}

/* By handle: what it is about must be there. */
static int used(struct change *c)
{
	struct trace *t = c->t;
	struct trace_op *op = c->op;
	int kind = kind_of(t, op->object);
	bool of_file = op->kind == TRACE_READ || op->kind == TRACE_WRITE ||
		       op->kind == TRACE_COMMIT || op->kind == TRACE_SETATTR;
	bool of_dir = op->kind == TRACE_READDIR || op->kind == TRACE_READDIRPLUS;

	if (kind == TRACE_ABSENT)
		return bad(c, op->object, "nothing is there then: declare it, or create it before");
	if (of_file && kind != TRACE_FILE && !op->status)
		return bad(c, op->object, "it must be a file, and is a directory");
	if (of_dir && kind != TRACE_DIR && !op->status)
		return bad(c, op->object, "it must be a directory, and is a file");
	refer(c, op->object, op->kind == TRACE_SETATTR && !op->status);
	return 0;
}

/* The size after it, and whether there are holes. */
static int sized(struct change *c)
{
	struct trace_op *op = c->op;
	struct trace_object *o;

	if (used(c))
		return -1;
	if (op->status)
		return 0;
	o = &c->t->objects[op->object];
	op->content = o->content;
	op->size = o->size;
	if (op->kind == TRACE_WRITE && op->offset + op->length > TRACE_SIZE_MAX)
		return bad(c, op->object, "it must end below 2^40 bytes");
	if (op->kind == TRACE_WRITE || op->kind == TRACE_SETATTR) {
		if (op->offset > o->size)
			c->t->sparse[o->content] = true;
		if (op->kind == TRACE_SETATTR)
			o->size = op->offset;
		else if (op->offset + op->length > o->size)
			o->size = op->offset + op->length;
	}
	return 0;
}

/* By name: the directory must be there; the name as the status says. */
static int named(struct change *c, uint32_t object)
{
	if (object == TRACE_NONE)
		return bad(c, object, "must be below the root");
	if (kind_of(c->t, parent_of(c->t, object)) != TRACE_DIR)
		return bad(c, object, "no directory holds it then: declare it, or mkdir it before");
	refer(c, parent_of(c->t, object), false);
	return 0;
}

static int looked_up(struct change *c)
{
	struct trace_op *op = c->op;

	if (op->object == TRACE_NONE)
		return 0;
	if (named(c, op->object))
		return -1;
	if (!op->status && kind_of(c->t, op->object) == TRACE_ABSENT)
		return bad(c, op->object,
			   "nothing is there then: declare it, create it before, or "
			   "say status=2");
	if (op->status == NOENT && kind_of(c->t, op->object) != TRACE_ABSENT)
		return bad(c, op->object, "status=2, but it is there then");
	refer(c, op->object, false);
	return 0;
}

/* 1: the change of *O was made; 0: it failed, and only refers to it; -1: it is wrong. */
static int was_done(struct change *c, struct trace_object **o)
{
	struct trace_op *op = c->op;

	if (named(c, op->object))
		return -1;
	*o = &c->t->objects[op->object];
	if (!op->status)
		return 1;
	refer(c, op->object, false);
	return 0;
}

static int made(struct change *c)
{
	struct trace_op *op = c->op;
	const int kind = op->kind == TRACE_MKDIR ? TRACE_DIR : TRACE_FILE;
	struct trace_object *o;
	int rc = was_done(c, &o);

	if (rc <= 0)
		return rc;
	/* An UNCHECKED create of a file that is there empties it. */
	if (o->kind == TRACE_DIR || (o->kind && kind == TRACE_DIR))
		return bad(c, op->object, "something is there already");
	if (!o->kind)
		count_child(c->t, op->object, true);
	refer(c, op->object, true);
	o->kind = (uint8_t)kind;
	if (kind == TRACE_FILE && fresh_content(c, o))
		return -1;
	op->content = o->content;
	return 0;
}

static int removed(struct change *c)
{
	struct trace_op *op = c->op;
	const int kind = op->kind == TRACE_RMDIR ? TRACE_DIR : TRACE_FILE;
	struct trace_object *o;
	int rc = was_done(c, &o);

	if (rc <= 0)
		return rc;
	if (o->kind != kind)
		return bad(c, op->object,
			   !o->kind	       ? "nothing is there then"
			   : kind == TRACE_DIR ? "it is a file: use remove"
					       : "it is a directory: use rmdir");
	if (o->children)
		return bad(c, op->object, "it is not empty then");
	count_child(c->t, op->object, false);
	refer(c, op->object, true);
	o->kind = TRACE_ABSENT;
	return 0;
}

static int renamed(struct change *c)
{
	struct trace_op *op = c->op;
	struct trace_object *from, *to;

	if (named(c, op->object) || named(c, op->to))
		return -1;
	if (op->object == op->to)
		return bad(c, op->object, "to another name it must be");
	from = &c->t->objects[op->object];
	to = &c->t->objects[op->to];
	if (op->status) {
		refer(c, op->object, false);
		refer(c, op->to, false);
		return 0;
	}
	if (from->kind != TRACE_FILE || to->kind == TRACE_DIR)
		return bad(c, op->object, "only a file can be renamed, to a file or to nothing");
	count_child(c->t, op->object, false);
	if (to->kind == TRACE_ABSENT)
		count_child(c->t, op->to, true);
	refer(c, op->object, true);
	refer(c, op->to, true);
	from->kind = TRACE_ABSENT;
	to->kind = TRACE_FILE;
	to->size = from->size;
	to->content = op->content = from->content;
	return 0;
}

int trace_space_apply(struct trace *t, struct trace_op *op, char *why, size_t why_size)
{
	struct change c = {t, op, why, why_size};

	switch (op->kind) {
	case TRACE_LOOKUP:
		return looked_up(&c);
	case TRACE_CREATE:
	case TRACE_MKDIR:
		return made(&c);
	case TRACE_REMOVE:
	case TRACE_RMDIR:
		return removed(&c);
	case TRACE_RENAME:
		return renamed(&c);
	case TRACE_READ:
	case TRACE_WRITE:
	case TRACE_SETATTR:
	case TRACE_COMMIT:
		return sized(&c);
	default:
		return used(&c);
	}
}

/* ---- what is there at the beginning ---- */

static int prepare(struct trace *t, uint32_t object, int kind, uint64_t size, char *why,
		   size_t why_size)
{
	struct trace_object *o = &t->objects[object];
	struct change c = {t, NULL, why, why_size};
	char path[TRACE_PATH_MAX + 1];

	if (o->kind == TRACE_DIR && kind == TRACE_DIR)
		return 0;
	if (o->kind)
		return refuse(why, why_size, "%.200s is declared already",
			      trace_path(t, object, path));
	o->kind = o->prepared = (uint8_t)kind;
	count_child(t, object, true);
	if (kind == TRACE_FILE && fresh_content(&c, o))
		return -1;
	o->size = o->prepared_size = size;
	o->prepared_content = o->content;
	return 0;
}

int trace_space_declare(struct trace *t, const struct trace_line *l, char *why, size_t why_size)
{
	const bool file = l->what == TRACE_LINE_FILE;
	uint32_t object, chain[TRACE_PATH_MAX], depth = 0;

	if (t->op_count)
		return refuse(why, why_size, "%s must come before the first operation",
			      file ? "file" : "dir");
	if (trace_names_object(t, l->path, &object, why, why_size))
		return -1;
	if (object == TRACE_NONE)
		return file ? refuse(why, why_size, ". is a directory") : 0;
	for (uint32_t d = parent_of(t, object); d != TRACE_NONE; d = parent_of(t, d))
		chain[depth++] = d;
	while (depth) {
		if (prepare(t, chain[--depth], TRACE_DIR, 0, why, why_size))
			return -1;
	}
	return prepare(t, object, file ? TRACE_FILE : TRACE_DIR, l->offset, why, why_size);
}
