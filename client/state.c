/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The text in /run. See state.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "history.h"
#include "metrics.h"
#include "mounts.h"
#include "octal.h"
#include "state.h"
#include "whole_file.h"

#define METRICS_LINE "metrics "
#define KNOB_LINE    (KNOB_PATH + 64) /* "knob PATH found NUMBER set NUMBER" */
#define TEXT_MAX     (16 << 20)	      /* more than any agent writes */

static void path_of(char path[KNOB_PATH], const char *root)
{
	snprintf(path, KNOB_PATH, "%s" STATE_FILE, root);
}

void state_head(FILE *out)
{
	fprintf(out, "agent %d\n", (int)getpid());
}

void state_knob(FILE *out, const struct knob *k)
{
	if (!k->held)
		return;
	fprintf(out, "knob %s found %" PRIu64 " set ", k->path, k->found);
	if (k->turning)
		fputs("any\n", out);
	else
		fprintf(out, "%" PRIu64 "\n", k->ours);
}

void state_left(FILE *out)
{
	const struct knob *k;

	for (unsigned int i = 0; (k = knob_left(i)); i++)
		state_knob(out, k);
}

void state_metrics(FILE *out, const char *path)
{
	if (!*path)
		return;
	fputs(METRICS_LINE, out);
	octal_print(out, path);
	putc('\n', out);
}

int state_write(const char *root, const char *text)
{
	char path[KNOB_PATH];

	path_of(path, root);
	return whole_file_write(path, text, 0);
}

int state_add(const char *root, const char *lines)
{
	const size_t length = strlen(lines);
	char path[KNOB_PATH];
	ssize_t n;
	int fd, err;

	path_of(path, root);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return errno;
	n = write(fd, lines, length);
	err = n < 0 ? errno : n < (ssize_t)length ? ENOSPC : 0;
	close(fd);
	return err;
}

bool state_stands(const char *root)
{
	char path[KNOB_PATH];

	path_of(path, root);
	return access(path, F_OK) == 0;
}

void state_remove(const char *root)
{
	char path[KNOB_PATH];

	path_of(path, root);
	unlink(path);
}

static FILE *state_open(const char *root)
{
	char path[KNOB_PATH];

	path_of(path, root);
	return fopen(path, "re");
}

/* All of IN, to be freed; NULL: it cannot be read, or there is no memory. */
static char *whole_text(FILE *in)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool good = out != NULL;
	int c;

	for (size_t n = 0; out && n < TEXT_MAX && (c = getc_unlocked(in)) != EOF; n++)
		putc_unlocked(c ? c : '?', out); /* a 0, which no agent wrote, ends nothing */
	good &= !ferror(in);
	if (out && fclose(out) == 0 && good)
		return text;
	free(text);
	return NULL;
}

/* The record, as whole_text() has it; "": there is none. */
static char *read_text(const char *root)
{
	FILE *in = state_open(root);
	char *text;

	if (!in)
		return errno == ENOENT ? strdup("") : NULL;
	text = whole_text(in);
	fclose(in);
	return text;
}

char *state_text(const char *root)
{
	char *text = read_text(root);

	if (text && *text)
		return text;
	free(text);
	return NULL;
}

bool state_print(const char *root)
{
	char *text = state_text(root);
	const bool is_there = text != NULL;

	if (text)
		history_leave_out(text, stdout);
	free(text);
	return is_there;
}

/* The knobs of halt.h and keep.h; PATH ends with one. */
static bool is_group(const char *path)
{
	const char *name = strrchr(path, '/');

	return strncmp(path, "/sys/fs/cgroup/", 15) == 0 &&
	       (strcmp(name, "/cgroup.freeze") == 0 || strcmp(name, "/memory.low") == 0);
}

static bool is_ours(const char *root, const char *path)
{
	size_t length = strlen(root);

	if (strncmp(path, root, length) != 0 || strstr(path, ".."))
		return false;
	path += length;
	return is_group(path) || strncmp(path, "/sys/class/bdi/", 15) == 0 ||
	       strncmp(path, "/proc/sys/vm/dirty_", 19) == 0;
}

bool state_parse(const char *root, const char *line, struct knob *k)
{
	char set[24], *end;

	*k = (struct knob){.held = true};
	if (sscanf(line, "knob %255s found %" SCNu64 " set %23s", k->path, &k->found, set) != 3 ||
	    !is_ours(root, k->path))
		return false;
	k->turning = strcmp(set, "any") == 0;
	if (k->turning)
		return true;
	k->ours = strtoull(set, &end, 10);
	return end != set && *end == '\0';
}

/* True: it was turned, and is no more. */
static bool put_back(struct knob *k)
{
	uint64_t now = 0;

	if (knob_read(k, &now) && now == k->found)
		return false; /* it was never turned */
	if (!knob_restore(k)) {
		if (!knob_is_gone(k))
			log_line(LOG_LEVEL_WARN,
				 "%s: is %" PRIu64 ", was %" PRIu64 ": not put back: %s", k->path,
				 now, k->found, knob_why(k));
		return false;
	}
	log_line(LOG_LEVEL_EVENT, "%s: back to %" PRIu64 ", as an agent found it that was killed",
		 k->path, k->found);
	return true;
}

/* A whole line of the record. */
static void remove_metrics(const struct mount_table *mounts, const char *line)
{
	const char *at = line + strlen(METRICS_LINE), *end = line + strlen(line);
	char path[KNOB_PATH];
	size_t n = 0;

	if (strncmp(line, METRICS_LINE, strlen(METRICS_LINE)) != 0)
		return;
	while (at < end && n < sizeof(path) - 1)
		path[n++] = octal_next(&at, end);
	path[n] = '\0';
	if (at == end && *path == '/' && !mount_table_may_hang(mounts, path))
		whole_file_remove(path, METRICS_BEGIN);
}

/* After the knobs: of those that the record from TEXT to END names, whose lines end in a 0 by now. */
static void remove_all_metrics(const char *root, const char *text, const char *end)
{
	struct mount_table mounts = {0};
	char path[KNOB_PATH];

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	mount_table_read(&mounts, path);
	for (; text < end; text += strlen(text) + 1)
		remove_metrics(&mounts, text);
	mount_table_free(&mounts);
}

/* A line further on says something of K: a part of one does not. */
static bool is_said_again(const char *root, const struct knob *k, const char *rest)
{
	char line[KNOB_LINE], begin[KNOB_LINE];
	const int length = snprintf(begin, sizeof(begin), "knob %s ", k->path);
	struct knob other;

	for (; *rest; rest += strcspn(rest, "\n"), rest += *rest == '\n') {
		if (strncmp(rest, begin, (size_t)length) != 0)
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(rest, "\n"), rest);
		if (state_parse(root, line, &other))
			return true;
	}
	return false;
}

/* The record of knobs that could not be put back; without one, or where it cannot be written, what stands
 * there names them too. */
static void keep_left(const char *root)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	state_left(out);
	if (fclose(out) == 0)
		state_write(root, text);
	free(text);
}

void state_end(const char *root)
{
	if (knob_left(0))
		keep_left(root);
	else
		state_remove(root);
}

unsigned int state_restore(const char *root)
{
	char *text = read_text(root), *rest = text, *line, *whole = text;
	unsigned int count = 0;
	struct knob k;

	if (!text) {
		log_line(LOG_LEVEL_WARN,
			 "%s%s: cannot be read now: what it tells of is not put back: %s", root,
			 STATE_FILE, strerror(errno));
		return STATE_UNREAD;
	}
	while (rest && *rest) {
		line = strsep(&rest, "\n");
		if (rest)
			whole = rest;
		if (!state_parse(root, line, &k) || (rest && is_said_again(root, &k, rest)))
			continue;
		k.turning |= !rest; /* the text ends in the middle of this line */
		count += put_back(&k);
	}
	state_end(root);
	remove_all_metrics(root, text, whole);
	free(text);
	return count;
}
