/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The control file's commands: words split at blanks, looked up in one table. */
#include "control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"
#include "record.h"

#define WORDS_MAX 5

static int number(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || *end ? EINVAL : 0;
}

static int timing(char **word)
{
	if (!strcmp(word[1], "on"))
		return drive_timing(true);
	return strcmp(word[1], "off") ? EINVAL : drive_timing(false);
}

static int trace(char **word)
{
	return drive_trace(strcmp(word[1], "off") ? word[1] : NULL);
}

static int record(char **word)
{
	return record_to(strcmp(word[1], "off") ? word[1] : NULL);
}

static int error_clear(char **word)
{
	return strcmp(word[1], "clear") ? EINVAL : drive_error_clear();
}

static int add_error(char **word, int injected)
{
	uint64_t offset, length;
	enum disk_op op;

	if (!strcmp(word[1], "read"))
		op = DISK_READ;
	else if (!strcmp(word[1], "write"))
		op = DISK_WRITE;
	else
		return EINVAL;
	if (number(word[2], &offset) || number(word[3], &length))
		return EINVAL;
	return drive_error_add(op, offset, length, injected);
}

static int error_add(char **word)
{
	return add_error(word, EIO);
}

static int error_timeout(char **word)
{
	return strcmp(word[4], "timeout") ? EINVAL : add_error(word, ETIMEDOUT);
}

static int stats(char **word)
{
	return strcmp(word[1], "reset") ? EINVAL : drive_stats_reset();
}

static int depth(char **word)
{
	uint64_t value;

	if (number(word[1], &value) || value > DISK_DEPTH_MAX)
		return EINVAL;
	return drive_depth((uint32_t)value);
}

static const struct {
	const char *name;
	int words; /* with the name */
	int (*run)(char **word);
} commands[] = {
	{"timing", 2, timing},	   {"trace", 2, trace},	    {"record", 2, record},
	{"error", 2, error_clear}, {"error", 4, error_add}, {"error", 5, error_timeout},
	{"stats", 2, stats},	   {"depth", 2, depth},
};

static int run_line(char *line)
{
	char *word[WORDS_MAX], *rest = NULL;
	int words = 0;

	for (char *w = strtok_r(line, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
		if (words == WORDS_MAX)
			return EINVAL;
		word[words++] = w;
	}
	if (!words)
		return 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (words == commands[i].words && !strcmp(word[0], commands[i].name))
			return commands[i].run(word);
	return EINVAL;
}

int control_run(const char *text, size_t length)
{
	char copy[CONTROL_MAX + 1], *rest = NULL;
	int err = 0;

	if (length > CONTROL_MAX)
		return EINVAL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	for (char *line = strtok_r(copy, "\n", &rest); line && !err;
	     line = strtok_r(NULL, "\n", &rest))
		err = run_line(line);
	return err;
}
