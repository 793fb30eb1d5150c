/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A command line by a table: each option with its kind, its range, the field of a structure that it
 * fills, and its help. nfsbench and nfsreplay have one each; messages name the option and the range.
 */
#ifndef NFSBENCH_OPTION_TABLE_H
#define NFSBENCH_OPTION_TABLE_H

#include <stddef.h>

enum option_kind {
	OPTION_NUMBER,	/* uint64_t, may end in K, M or G */
	OPTION_REAL,	/* double */
	OPTION_SECONDS, /* double */
	OPTION_TEXT,	/* const char *, which stays the command line's */
	OPTION_ON,	/* bool, without an argument: true */
	OPTION_OFF,	/* ... false */
	OPTION_HELP,	/* the help, without an argument */
	OPTION_OTHER,	/* what `other` does */
};

struct option_def {
	const char *name;
	enum option_kind kind;
	size_t field;	 /* offset in the structure */
	double min, max; /* of NUMBER, REAL and SECONDS; bytes are exact up to 2^53 */
	const char *help;
	/* OTHER: 0, or -1 after a message. */
	int (*other)(void *into, const char *text);
};

struct option_table {
	const char *program;
	const char *usage, *after; /* before the options and behind them; `after` NULL: nothing */
	const struct option_def *defs;
	size_t count; /* OPTION_TABLE_MAX at most */
	int width;    /* of the names in the help */
};

#define OPTION_TABLE_MAX 96

/* Fills *into. 0: getopt's optind is at what is no option; 1: it was --help, which is printed; -1 after a
 * message on stderr. Not for two threads at once, as getopt is not. */
int option_table_parse(const struct option_table *table, void *into, int argc, char **argv);

/* The place of `text` among the names from `first` to `last`, -1 if it is none of them. */
int option_choice(const char *const *names, int first, int last, const char *text);

#endif
