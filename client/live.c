/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The live view. See live.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "history.h"
#include "live.h"
#include "run_lock.h"
#include "state.h"

#define CLEAR "\033[H\033[J"

/* What there is to say now; NULL: no memory. To be freed. */
static char *look(const char *root)
{
	pid_t holder;
	int err = run_lock_holder(root, &holder);
	char *text;

	if (err)
		return strdup(strerror(err));
	if (!holder)
		return strdup("no agent is running\n");
	text = state_text(root);
	return text ? text : strdup("an agent is running that has written nothing yet\n");
}

static void show(const char *text, int terminal, FILE *out)
{
	const time_t now = time(NULL);
	struct tm local;
	char clock[16] = "";

	if (localtime_r(&now, &local))
		strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "%s%s\n", terminal ? CLEAR : "", clock);
	history_leave_out(text, out);
	history_show(text, LIVE_DECISIONS, out);
	fflush(out);
}

void live_watch(const char *root, unsigned int looks, int terminal, FILE *out)
{
	char *shown = NULL;

	for (unsigned int n = 0; !looks || n < looks; n++) {
		char *text;

		if (n)
			sleep(LIVE_INTERVAL);
		text = look(root);
		if (!text)
			continue;
		if (terminal || !shown || strcmp(text, shown) != 0)
			show(text, terminal, out);
		free(shown);
		shown = text;
	}
	free(shown);
}
