/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A parameter as people write it, and its value: the same ranges and messages for the configuration file
 * and for `ractl set`. Pure; the table of all is the host's.
 */
#ifndef CONTROL_PARAMETER_H
#define CONTROL_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARAMETER_TEXT 108 /* bytes of a name, with its NUL: a socket's path */
#define PARAMETER_WHY  512 /* of a message */

enum parameter_kind { PARAMETER_NUMBER, PARAMETER_NAME, PARAMETER_FLAG };
/* Whose it is: each export's, each device's (exports say it too), or the whole server's. */
enum parameter_of { PARAMETER_OF_EXPORT, PARAMETER_OF_DEVICE, PARAMETER_OF_SERVER };
/* For whom: experiments are most of them. */
enum parameter_class { PARAMETER_EXPERIMENT, PARAMETER_ADMIN };

struct parameter {
	const char *name, *unit, *help;
	enum parameter_kind kind;
	enum parameter_of of;
	enum parameter_class class;
	const char *source; /* the paper and section that has it, or why it is there; "": none */
	bool live;	    /* can change on the running server */
	const char *start;  /* why it cannot; NULL: not known */
	uint64_t min, max;  /* of a number */
	uint64_t preset;    /* of a number or flag */
	const char *preset_name;
	size_t at; /* the host's: where its structure has it */
};

struct parameter_value {
	uint64_t number; /* of a flag 0 or 1 */
	char name[PARAMETER_TEXT];
};

/*
 * TEXT as a value of P. False, and WHY of SIZE bytes: it is none, or out of range. Whether a name is one
 * of those that are right only the host knows.
 */
bool parameter_read(const struct parameter *p, const char *text, struct parameter_value *v,
		    char *why, size_t size);
/* False, and WHY of SIZE bytes: the number VALUE is out of P's range. */
bool parameter_in_range(const struct parameter *p, uint64_t value, char *why, size_t size);
void parameter_default(const struct parameter *p, struct parameter_value *v);
bool parameter_equal(const struct parameter *p, const struct parameter_value *a,
		     const struct parameter_value *b);
/* As the configuration file has it. */
void parameter_text(const struct parameter *p, const struct parameter_value *v, char *text,
		    size_t size);
/* The one of the N at P that is called NAME, in capitals or not; NULL: none. */
const struct parameter *parameter_find(const struct parameter *p, unsigned int n, const char *name);

extern const char *const parameter_of_names[];
extern const char *const parameter_class_names[];

#endif
