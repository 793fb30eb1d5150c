/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* canfs: NFSv3 clients of user space, plain or with CA-NFS' auction, and their works. --help tells. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "script.h"

static int failed(const struct run *run)
{
	for (uint64_t i = 0; i < run->o->clients; i++) {
		const struct client_counts *n = &run->members[i].client.n;

		if (n->errors || n->wrong) {
			fprintf(stderr, "canfs: client %llu: %llu errors (%s), %llu wrong words\n",
				(unsigned long long)i, (unsigned long long)n->errors, n->error,
				(unsigned long long)n->wrong);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct options o;
	static struct run run;
	int status = options_parse(&o, argc, argv);
	FILE *out = stdout;

	if (status)
		return status - 1;
	signal(SIGPIPE, SIG_IGN);
	if (o.layout)
		return layout(&o.run, o.layout);
	if (o.script)
		return script(&run, &o.run);
	if (run_load(&run, &o.run))
		return 1;
	if (o.json && !(out = fopen(o.json, "w"))) {
		fprintf(stderr, "canfs: %s: %s\n", o.json, strerror(errno));
		return 1;
	}
	report_json(&run, out);
	return fclose(out) || failed(&run);
}
