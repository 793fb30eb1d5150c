/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfsbench: an NFSv3 load, over TCP or UDP, that measures and verifies. See nfsbench --help.
 * Exit status: 0 all well; 1 a request failed, bytes differed, or the load could not run;
 * 2 bad options.
 */
#include "layout.h"
#include "load.h"
#include "mix.h"

#include <stdio.h>
#include <stdlib.h>

static int run(const struct options *o)
{
	static struct load load; /* large: a histogram for each group */
	int rc = load_plan(&load, o);

	if (rc == 0)
		rc = load_run(&load);
	if (rc == 0) {
		if (!o->quiet && !(o->json && o->json[0] == '-' && !o->json[1]))
			report_table(&load);
		if (load.problem[0])
			fprintf(stderr, "nfsbench: %s\n", load.problem);
		if (o->json)
			rc = report_json(&load, o->json);
		if (load_errors(&load) || load_mismatches(&load))
			rc = -1;
	}
	load_free(&load);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options o;
	int rc = options_parse(&o, argc, argv);

	if (rc)
		rc = rc < 0 ? 2 : 0;
	else
		rc = o.layout		  ? layout(&o) != 0
		     : o.check		  ? layout_check(&o) != 0
		     : o.work == WORK_MIX ? mix_run(&o) != 0
					  : run(&o);
	free(o.command);
	return rc;
}
