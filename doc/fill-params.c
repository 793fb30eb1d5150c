/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Fills a template with the parameters of params.def: the manual, or a configuration in which each
 * stands at its default. A line that is only @EXPORT_PARAMETERS@ or @MODULE_PARAMETERS@ (perhaps
 * indented) is replaced by the parameters of that scope; in the manual without those of class ADMIN, which
 * take the place of @ADMIN_PARAMETERS@. All other lines are copied.
 *
 * usage: fill-params man|conf TEMPLATE OUTPUT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a comment in a configuration. */
#define COLUMNS 96

enum scope { EXPORT, MODULE };
#define ADMIN_MARK 2 /* beside them */

enum kind { NUMBER, NAME, BOOL };

enum class { EXPERIMENT, ADMIN };

/* clang-format off */
enum {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) PARAM_##Name,
#define RA_NAME(scope, Name, field, def, help) PARAM_##Name,
#define RA_BOOL(scope, Name, field, def, help) PARAM_##Name,
#include "params.def"
	PARAMS
};
/* clang-format on */

struct param {
	enum scope scope;
	enum kind kind;
	const char *name, *unit, *text; /* text: the default of a name, or true or false */
	uint64_t min, max, value;
	const char *help;
};

struct note {
	enum class class;
	const char *source, *start; /* start: why it changes only then */
	bool of_device, live;
};

/* clang-format off */
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	{ scope, NUMBER, #Name, unit, NULL, min, max, def, help },
#define RA_NAME(scope, Name, field, def, help) { scope, NAME, #Name, "", def, 0, 0, 0, help },
#define RA_BOOL(scope, Name, field, def, help) { scope, BOOL, #Name, "", #def, 0, 0, 0, help },
/* clang-format on */

static const struct param params[] = {
#include "params.def"
};

/* What params.def says of some of them besides. */
static struct note notes[PARAMS];

static void read_notes(void)
{
	/* clang-format off */
#define RA_CLASS(Name, class_, source_) \
	notes[PARAM_##Name].class = class_; notes[PARAM_##Name].source = source_;
#define RA_OF_DEVICE(Name, field) notes[PARAM_##Name].of_device = true;
#define RA_LIVE(Name) notes[PARAM_##Name].live = true;
#define RA_START(Name, why) notes[PARAM_##Name].start = why;
#include "params.def"
	/* clang-format on */
}

static const struct note *note_of(const struct param *p)
{
	return &notes[p - params];
}

struct style {
	const char *name;
	bool admin_apart;
	void (*print)(FILE *out, const struct param *p, const char *indent);
};

/* "8388608 (8 MiB)": the server's parser knows no suffixes, people do. */
static const char *number(const struct param *p, uint64_t n, char *buffer, size_t size)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	uint64_t scaled = n;
	int unit = -1;

	while (unit < 3 && scaled >= 1024 && scaled % 1024 == 0) {
		scaled /= 1024;
		unit++;
	}
	if (unit < 0 || strcmp(p->unit, "bytes") != 0)
		snprintf(buffer, size, "%" PRIu64, n);
	else
		snprintf(buffer, size, "%" PRIu64 " (%" PRIu64 " %s)", n, scaled, units[unit]);
	return buffer;
}

/* Text as roff's input: a backslash, a minus, and a line's first dot mean something to it. */
static void roff_text(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
	fputc('\n', out);
}

static void print_notes(FILE *out, const struct param *p)
{
	const struct note *n = note_of(p);

	if (n->source != NULL && n->source[0] != '\0')
		fprintf(out, "See %s.\n", n->source);
	if (n->start != NULL)
		fprintf(out, "Read when the server starts: %s.\n", n->start);
	if (n->class == ADMIN)
		fprintf(out, ".br\nIn %s; %s.\n",
			p->scope == MODULE ? "the block RA"
			: n->of_device	   ? "the FSAL block of an export, or a block DEVICE"
					   : "the FSAL block of an export",
			p->scope == EXPORT || n->live ? "changes on the running server"
						      : "changes at the next start");
}

static void print_man(FILE *out, const struct param *p, const char *indent)
{
	char a[64], b[64], c[64];

	(void)indent;
	fprintf(out, ".TP\n.B %s\n", p->name);
	if (p->kind == NUMBER)
		fprintf(out, "number, in %s: %s to %s, default %s\n", p->unit,
			number(p, p->min, a, sizeof(a)), number(p, p->max, b, sizeof(b)),
			number(p, p->value, c, sizeof(c)));
	else if (p->kind == BOOL)
		fprintf(out, "true or false, default %s\n", p->text);
	else if (p->text != NULL && *p->text == '/')
		fprintf(out, "path, default %s\n", p->text);
	else
		fprintf(out, "name, default %s\n", p->text != NULL && *p->text ? p->text : "none");
	fputs(".br\n", out);
	roff_text(out, p->help);
	print_notes(out, p);
}

/* TEXT as comment lines of at most COLUMNS. */
static void comment(FILE *out, const char *text, const char *indent)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t word = strcspn(text, " ");

		if (column == 0 || column + 1 + word > COLUMNS) {
			fprintf(out, "%s%s#", column ? "\n" : "", indent);
			column = strlen(indent) + 1;
		}
		fprintf(out, " %.*s", (int)word, text);
		column += 1 + word;
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_conf(FILE *out, const struct param *p, const char *indent)
{
	char a[64], b[64];

	fputc('\n', out);
	comment(out, p->help, indent);
	if (p->kind == NUMBER) {
		fprintf(out, "%s# In %s, %s to %s.\n", indent, p->unit,
			number(p, p->min, a, sizeof(a)), number(p, p->max, b, sizeof(b)));
		fprintf(out, "%s%s = %" PRIu64 ";\n", indent, p->name, p->value);
	} else if (p->kind == BOOL) {
		fprintf(out, "%s%s = %s;\n", indent, p->name, p->text);
	} else if (p->text != NULL && *p->text != '\0') {
		fprintf(out, "%s%s = \"%s\";\n", indent, p->name, p->text);
	} else {
		fprintf(out, "%s# %s = ; (not set)\n", indent, p->name);
	}
}

static const struct style styles[] = {{"man", true, print_man}, {"conf", false, print_conf}};

/* Whether P takes the place of MARK: 0 and 1 stand for the scopes, 2 for class ADMIN. */
static bool belongs(const struct style *style, const struct param *p, int mark)
{
	bool admin = style->admin_apart && note_of(p)->class == ADMIN;

	return mark == ADMIN_MARK ? admin : !admin && (int)p->scope == mark;
}

static void fill_line(FILE *out, const struct style *style, const char *line)
{
	static const char *const marks[] = {[EXPORT] = "@EXPORT_PARAMETERS@\n",
					    [MODULE] = "@MODULE_PARAMETERS@\n",
					    [ADMIN_MARK] = "@ADMIN_PARAMETERS@\n"};
	size_t blank = strspn(line, " \t");
	char indent[64];

	snprintf(indent, sizeof(indent), "%.*s", (int)blank, line);
	for (int mark = EXPORT; mark <= ADMIN_MARK; mark++) {
		if (strcmp(line + blank, marks[mark]) != 0)
			continue;
		for (size_t i = 0; i < PARAMS; i++)
			if (belongs(style, &params[i], mark))
				style->print(out, &params[i], indent);
		return;
	}
	fputs(line, out);
}

static FILE *open_file(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	if (f == NULL) {
		fprintf(stderr, "fill-params: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return f;
}

int main(int argc, char **argv)
{
	const struct style *style = NULL;
	char line[1024];
	FILE *in, *out;

	for (size_t i = 0; argc == 4 && i < sizeof(styles) / sizeof(styles[0]); i++)
		if (strcmp(argv[1], styles[i].name) == 0)
			style = &styles[i];
	if (style == NULL) {
		fprintf(stderr, "usage: fill-params man|conf TEMPLATE OUTPUT\n");
		return 2;
	}
	read_notes();
	in = open_file(argv[2], "re");
	out = open_file(argv[3], "we");
	while (fgets(line, sizeof(line), in) != NULL)
		fill_line(out, style, line);
	fclose(in);
	if (fclose(out) != 0) {
		fprintf(stderr, "fill-params: %s: %s\n", argv[3], strerror(errno));
		return 1;
	}
	return 0;
}
