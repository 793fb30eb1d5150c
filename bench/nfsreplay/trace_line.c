/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One line of a trace: words between blanks, checked one by one, with errors that say what would do. */
#include "trace.h"

#include <stdarg.h>
#include <string.h>

#define BLANKS	" \t"
#define MILLION UINT64_C(1000000)

/* The arguments of each operation, a letter each: p a path, s a size, o an offset, l a length. */
static const struct {
	const char *name, *arguments;
} kinds[TRACE_KINDS] = {
	[TRACE_GETATTR] = {"getattr", "p"},
	[TRACE_SETATTR] = {"setattr", "ps"},
	[TRACE_LOOKUP] = {"lookup", "p"},
	[TRACE_ACCESS] = {"access", "p"},
	[TRACE_READ] = {"read", "pol"},
	[TRACE_WRITE] = {"write", "pol"},
	[TRACE_CREATE] = {"create", "p"},
	[TRACE_MKDIR] = {"mkdir", "p"},
	[TRACE_REMOVE] = {"remove", "p"},
	[TRACE_RMDIR] = {"rmdir", "p"},
	[TRACE_RENAME] = {"rename", "pp"},
	[TRACE_READDIR] = {"readdir", "pl"},
	[TRACE_READDIRPLUS] = {"readdirplus", "pl"},
	[TRACE_FSSTAT] = {"fsstat", "p"},
	[TRACE_COMMIT] = {"commit", "pol"},
};

#define KIND_NAMES                                                                                 \
	"getattr, setattr, lookup, access, read, write, create, mkdir, remove, rmdir, rename, "    \
	"readdir, readdirplus, fsstat or commit"

struct words {
	char *rest;
	char *why;
	size_t why_size;
};

const char *trace_kind_name(enum trace_kind kind)
{
	return kinds[kind].name;
}

__attribute__((format(printf, 2, 3))) static int refuse(struct words *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->why, w->why_size, format, args);
	va_end(args);
	return -1;
}

/* The next word, NULL at the end of the line. */
static char *word(struct words *w)
{
	char *found;

	do {
		found = strsep(&w->rest, BLANKS);
	} while (found && !*found);
	return found;
}

/* Decimal digits from *TEXT on, up to MAX; *TEXT is behind them. */
static int digits(const char **text, uint64_t max, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > (UINT64_MAX - 9) / 10)
			return -1;
		v = 10 * v + (uint64_t)(*p - '0');
	}
	if (p == *text || v > max)
		return -1;
	*text = p;
	*value = v;
	return 0;
}

static int number(struct words *w, const char *what, const char *text, uint64_t min, uint64_t max,
		  uint64_t *value)
{
	const char *p = text;

	if (!text || digits(&p, max, value) || *p || *value < min)
		return refuse(w, "%s %.40s: must be a number from %llu to %llu", what,
			      text ? text : "is missing", (unsigned long long)min,
			      (unsigned long long)max);
	return 0;
}

/* Seconds with up to six decimals. */
static int time_of(struct words *w, const char *text, uint64_t *at)
{
	const char *p = text, *point;
	uint64_t seconds, fraction = 0;

	if (digits(&p, TRACE_TIME_MAX, &seconds))
		goto bad;
	if (*p == '.') {
		point = ++p;
		if (digits(&p, MILLION - 1, &fraction) || p - point > 6)
			goto bad;
		for (long n = p - point; n < 6; n++)
			fraction *= 10;
	}
	if (*p)
		goto bad;
	*at = seconds * MILLION + fraction;
	return 0;
bad:
	return refuse(w, "time %.40s: must be seconds from 0 to %d, with at most six decimals",
		      text, TRACE_TIME_MAX);
}

static bool is_client(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789._:-");

	return length && !text[length] && length <= TRACE_CLIENT_MAX;
}

static bool is_component(const char *text, size_t length)
{
	if (!length || length > TRACE_NAME_MAX || (length <= 2 && !strncmp(text, "..", length)))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return true;
}

/* "." or components between single slashes. */
static bool is_path(const char *text)
{
	size_t length = 0;

	if (strcmp(text, ".") == 0)
		return true;
	if (strlen(text) > TRACE_PATH_MAX)
		return false;
	for (const char *p = text;; p += length + 1) {
		length = strcspn(p, "/");
		if (!is_component(p, length))
			return false;
		if (!p[length])
			return true;
	}
}

static int path_of(struct words *w, const char **path)
{
	*path = word(w);
	if (!*path)
		return refuse(w, "the path is missing");
	if (!is_path(*path))
		return refuse(w,
			      "path %.60s: must be . or components of 1 to %d printing ASCII "
			      "characters without blanks, none . or .., between single slashes, at "
			      "most %d bytes",
			      *path, TRACE_NAME_MAX, TRACE_PATH_MAX);
	return 0;
}

static int argument(struct words *w, struct trace_line *l, char letter)
{
	uint64_t length = 0;
	int rc;

	switch (letter) {
	case 'p':
		return path_of(w, l->path ? &l->to : &l->path);
	case 's':
		return number(w, "size", word(w), 0, TRACE_SIZE_MAX, &l->offset);
	case 'o':
		return number(w, "offset", word(w), 0, TRACE_SIZE_MAX, &l->offset);
	default:
		/* An empty COMMIT is all of the file; of READ see doc/traces.md. */
		rc = number(w, "length", word(w), l->kind == TRACE_COMMIT ? 0 : 1, TRACE_LENGTH_MAX,
			    &length);
		l->length = (uint32_t)length;
		return rc;
	}
}

static int stable_of(struct words *w, struct trace_line *l, const char *value)
{
	static const char *const hows[] = {"unstable", "data", "file"};

	for (uint8_t i = 0; l->kind == TRACE_WRITE && i < 3; i++) {
		if (strcmp(value, hows[i]) == 0) {
			l->stable = i;
			return 0;
		}
	}
	return refuse(w, "stable=%.40s: must be unstable, data or file, of a write", value);
}

/* KEY=VALUE at the end of an operation. */
static int key(struct words *w, struct trace_line *l, char *text)
{
	char *value = strchr(text, '=');
	uint64_t v = 0;
	int rc = 0;

	if (!value)
		return refuse(w, "%.40s: too many arguments of %s", text, kinds[l->kind].name);
	*value++ = 0;
	if (strcmp(text, "stable") == 0)
		return stable_of(w, l, value);
	if (strcmp(text, "took") == 0) {
		rc = number(w, "took", value, 0, UINT32_MAX, &v);
		l->took = (uint32_t)v;
	} else if (strcmp(text, "status") == 0) {
		rc = number(w, "status", value, 0, TRACE_STATUS_MAX, &v);
		l->status = (uint16_t)v;
	} else {
		rc = refuse(w, "%.40s=: must be took=, status= or stable=", text);
	}
	return rc;
}

static int operation(struct words *w, struct trace_line *l, const char *first)
{
	const char *name;
	char *more;
	int kind = 0;

	l->what = TRACE_LINE_OP;
	if (time_of(w, first, &l->at))
		return -1;
	l->client = word(w);
	if (!l->client || !is_client(l->client))
		return refuse(
			w, "client %.40s: must be 1 to %d letters, digits and characters of ._:-",
			l->client ? l->client : "is missing", TRACE_CLIENT_MAX);
	name = word(w);
	while (name && kind < TRACE_KINDS && strcmp(name, kinds[kind].name) != 0)
		kind++;
	if (!name || kind == TRACE_KINDS)
		return refuse(w, "operation %.40s: must be " KIND_NAMES,
			      name ? name : "is missing");
	l->kind = (enum trace_kind)kind;
	for (const char *a = kinds[kind].arguments; *a; a++) {
		if (argument(w, l, *a))
			return -1;
	}
	while ((more = word(w))) {
		if (key(w, l, more))
			return -1;
	}
	return 0;
}

/* Of a file that must be there, or a directory. */
static int declaration(struct words *w, struct trace_line *l)
{
	const char *more;

	if (path_of(w, &l->path))
		return -1;
	if (l->what == TRACE_LINE_FILE && number(w, "size", word(w), 0, TRACE_SIZE_MAX, &l->offset))
		return -1;
	more = word(w);
	return more ? refuse(w, "%.40s: too many arguments of %s", more,
			     l->what == TRACE_LINE_FILE ? "file" : "dir")
		    : 0;
}

int trace_header_parse(char *line, char *why, size_t why_size)
{
	struct words w = {line, why, why_size};
	const char *name = word(&w), *version = word(&w);
	uint64_t v = 0;

	if (!name || strcmp(name, "nfs-trace") != 0 || !version)
		return refuse(&w, "the first line must be: nfs-trace %d", TRACE_VERSION);
	if (number(&w, "version", version, TRACE_VERSION, TRACE_VERSION, &v))
		return -1;
	return word(&w) ? refuse(&w, "the first line must be: nfs-trace %d", TRACE_VERSION) : 0;
}

int trace_line_parse(char *line, struct trace_line *l, char *why, size_t why_size)
{
	struct words w = {line, why, why_size};
	char *comment = strchr(line, '#');
	const char *first;

	*l = (struct trace_line){.what = TRACE_LINE_EMPTY};
	/* A name may have a # in it: a comment begins a line or follows a blank. */
	while (comment && comment > line && !strchr(BLANKS, comment[-1]))
		comment = strchr(comment + 1, '#');
	if (comment)
		*comment = 0;
	first = word(&w);
	if (!first)
		return 0;
	if (strcmp(first, "file") == 0 || strcmp(first, "dir") == 0) {
		l->what = *first == 'f' ? TRACE_LINE_FILE : TRACE_LINE_DIR;
		return declaration(&w, l);
	}
	return operation(&w, l, first);
}
