/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the agent is told: options of the command line, and lines "name value" of a file, which mean
 * the same. One table (settings.c) has their units, ranges, defaults and help; settings_read.c reads
 * files and command lines.
 */
#ifndef CLIENT_SETTINGS_H
#define CLIENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "decide.h"
#include "fstab.h"
#include "weights.h"

/* Mounts that one agent looks after. */
#define MOUNTS_MAX 512
/* Longest line of the file, with its newline. */
#define SETTINGS_LINE 4352
/* Longest name of a file in a setting, with its 0. */
#define SETTINGS_FILE 256

struct settings {
	struct decide_limits decide;
	double interval;		 /* s between two questions */
	double answer;			 /* s without an answer after which prices are not fresh */
	double dirty_min;		 /* KiB: with less there is nothing to accelerate */
	double flush_point;		 /* percent; 0: the machine's limits stay as they are */
	char *mounts[MOUNTS_MAX];	 /* absolute, no slash at the end; allocated */
	unsigned int mount_count, named; /* the first of them are named, the others mounted so */
	unsigned int weights_named;	 /* the same of weights */
	double network_capacity; /* Mbit/s of a network card that states no speed; 0: unknown */
	struct weights weights;	 /* of mounts, by their paths */
	struct weights halts;	 /* of control groups, which halt: halt.h */
	struct weights keeps;	 /* percent of memory of control groups: keep.h */
	bool fstab, syslog;
	char metrics[SETTINGS_FILE]; /* a file to write them to, absolute; "": none */

	/* Of the command line only. */
	bool unreadable; /* parsing has failed by a table of mounts that cannot be read: later it may not */
	bool dry_run, once, status, watch, explain, restore, stop, help;
	const char *root;    /* before all paths of /proc, /sys and /run: "" */
	const char *replies; /* a file to take replies from in place of statfs, NULL */
};

void settings_init(struct settings *s);
void settings_free(struct settings *s);
/* One setting. False: ERROR says what is wrong. */
bool settings_set(struct settings *s, const char *name, const char *value, char *error,
		  size_t size);
/* It is among the mounts, whatever slashes it ends with. */
bool settings_has_mount(const struct settings *s, const char *path);
/* Reads a line of a file that names mounts as ours: fstab_parse(), utab_parse() of fstab.h. */
typedef bool (*settings_mount_line)(const char *line, struct fstab_mount *m);
/* Adds the mounts that such a file names, and the weights of those that have none yet. What cannot be one
 * is left out, and said: NAME has it. Reading may end with an error of FILE. */
void settings_add_mounts(struct settings *s, FILE *file, const char *name,
			 settings_mount_line parse);
/* *FRESH is as S, with the mounts as they are mounted now; to be freed in any case. False: what is mounted cannot
 * be read, ERROR says why. */
bool settings_follow(const struct settings *s, struct settings *fresh, char *error, size_t size);
/* They have the same mounts, with the same weights. */
bool settings_same_mounts(const struct settings *a, const struct settings *b);
/* A flag of the command line. False: there is none of that name. */
bool settings_flag(struct settings *s, const char *name);
/* A setting of that name there is. */
bool settings_known(const char *name);
/* A file of lines; the other one has it open, NAME is for the error. Any bytes may come. */
bool settings_read(struct settings *s, const char *path, char *error, size_t size);
bool settings_read_stream(struct settings *s, FILE *file, const char *name, char *error,
			  size_t size);
/* The whole command line, with the files it names, and fstab where that is wanted; a file that is there and cannot
 * be read is an error. */
bool settings_parse(struct settings *s, int argc, char **argv, char *error, size_t size);
/* What is only wrong together. */
bool settings_check(const struct settings *s, char *error, size_t size);
/* Writes what is wrong; always false. */
bool settings_wrong(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void settings_help(const char *program);

#endif
