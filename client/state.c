/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The lock and the text in /run. See state.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/log.h"
#include "state.h"

static void path_of(char path[KNOB_PATH], const char *root, const char *name, const char *suffix)
{
	snprintf(path, KNOB_PATH, "%s%s%s", root, name, suffix);
}

int state_lock(const char *root)
{
	char path[KNOB_PATH];
	int fd;

	path_of(path, root, STATE_LOCK, "");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno;
	return flock(fd, LOCK_EX | LOCK_NB) ? errno : 0; /* the end of the process unlocks it */
}

FILE *state_begin(const char *root)
{
	char path[KNOB_PATH];
	FILE *out;

	path_of(path, root, STATE_FILE, ".new");
	out = fopen(path, "we");
	if (out)
		fprintf(out, "agent %d\n", (int)getpid());
	return out;
}

void state_knob(FILE *out, const struct knob *k)
{
	if (k->held)
		fprintf(out, "knob %s found %" PRIu64 " set %" PRIu64 "\n", k->path, k->found,
			k->ours);
}

void state_end(const char *root, FILE *out)
{
	char made[KNOB_PATH], path[KNOB_PATH];
	bool good = !ferror(out);

	path_of(made, root, STATE_FILE, ".new");
	path_of(path, root, STATE_FILE, "");
	if (fclose(out) == 0 && good)
		rename(made, path);
	else
		unlink(made);
}

void state_remove(const char *root)
{
	char path[KNOB_PATH];

	path_of(path, root, STATE_FILE, "");
	unlink(path);
}

static FILE *state_open(const char *root)
{
	char path[KNOB_PATH];

	path_of(path, root, STATE_FILE, "");
	return fopen(path, "re");
}

bool state_print(const char *root)
{
	FILE *in = state_open(root);
	int c;

	if (!in)
		return false;
	while ((c = getc(in)) != EOF)
		putchar(c);
	fclose(in);
	return true;
}

/* Only knobs that an agent turns. */
static bool is_ours(const char *root, const char *path)
{
	size_t length = strlen(root);

	if (strncmp(path, root, length) != 0 || strstr(path, ".."))
		return false;
	path += length;
	return strncmp(path, "/sys/class/bdi/", 15) == 0 ||
	       strncmp(path, "/proc/sys/vm/dirty_", 19) == 0;
}

/*
 * The agent died between writing the line and reading back what it had set, or after: so a knob
 * that stands at neither is somebody else's, but one that was just found may hold anything.
 */
static bool put_back(const char *root, const char *line)
{
	struct knob k = {.held = true};

	if (sscanf(line, "knob %255s found %" SCNu64 " set %" SCNu64, k.path, &k.found, &k.ours) !=
		    3 ||
	    !is_ours(root, k.path))
		return false;
	if (k.ours == k.found)
		knob_read(&k, &k.ours);
	if (k.ours == k.found || !knob_restore(&k))
		return false;
	log_line(LOG_LEVEL_EVENT, "%s: back to %" PRIu64 ", as an agent found it that was killed",
		 k.path, k.found);
	return true;
}

unsigned int state_restore(const char *root)
{
	FILE *in = state_open(root);
	unsigned int count = 0;
	char *line = NULL;
	size_t size = 0;

	if (!in)
		return 0;
	while (getline(&line, &size, in) > 0)
		count += put_back(root, line);
	free(line);
	fclose(in);
	state_remove(root);
	return count;
}
