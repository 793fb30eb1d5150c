/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Decisions that are remembered. See history.h. */
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "history.h"

void history_add(struct history *h, const char *format, ...)
{
	char *text = h->text[h->count++ % HISTORY_MAX];
	const time_t now = time(NULL);
	struct tm local;
	size_t length = 0;
	va_list args;

	if (localtime_r(&now, &local))
		length = strftime(text, HISTORY_TEXT, "%Y-%m-%d %H:%M:%S ", &local);
	va_start(args, format);
	vsnprintf(text + length, HISTORY_TEXT - length, format, args);
	va_end(args);
	for (; *text; text++) { /* a path may hold anything */
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = ' ';
	}
}

void history_print(const struct history *h, FILE *out)
{
	const unsigned int kept = h->count < HISTORY_MAX ? h->count : HISTORY_MAX;

	for (unsigned int i = h->count - kept; i != h->count; i++)
		fprintf(out, HISTORY_LINE "%s\n", h->text[i % HISTORY_MAX]);
}

static bool is_decision(const char *line)
{
	return strncmp(line, HISTORY_LINE, strlen(HISTORY_LINE)) == 0;
}

static const char *after(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

unsigned int history_show(const char *text, unsigned int most, FILE *out)
{
	unsigned int count = 0, skip;

	for (const char *line = text; *line; line = after(line))
		count += is_decision(line);
	skip = count > most ? count - most : 0;
	for (const char *line = text; *line; line = after(line)) {
		const size_t begin = strlen(HISTORY_LINE);

		if (!is_decision(line))
			continue;
		if (skip)
			skip--;
		else
			fwrite(line + begin, 1, (size_t)(after(line) - line) - begin, out);
	}
	return count < most ? count : most;
}

void history_leave_out(const char *text, FILE *out)
{
	for (const char *line = text; *line; line = after(line)) {
		if (!is_decision(line))
			fwrite(line, 1, (size_t)(after(line) - line), out);
	}
}
