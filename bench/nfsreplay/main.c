/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nfsreplay: replays a trace of NFSv3 operations against a server, measures and verifies. See
 * nfsreplay --help and doc/traces.md.
 * Exit status: 0 all well; 1 an answer was not the trace's, or it could not run or end; 2 bad options
 * or a bad trace.
 */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_trace(struct trace *t, const char *path)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "r");
	int rc;

	if (!file) {
		fprintf(stderr, "nfsreplay: %s: %s\n", path, strerror(errno));
		return -1;
	}
	rc = trace_read(t, file);
	if (rc)
		fprintf(stderr, "nfsreplay: %s, %s\n", path, t->problem);
	if (!is_stdin)
		fclose(file);
	return rc;
}

/* What is in it, a line a kind. */
static int plan(const struct trace *t)
{
	uint64_t counts[TRACE_KINDS] = {0}, bytes[TRACE_KINDS] = {0}, prepared = 0;
	uint32_t files = 0;

	for (uint32_t i = 0; i < t->op_count; i++) {
		counts[t->ops[i].kind]++;
		if (t->ops[i].kind == TRACE_READ || t->ops[i].kind == TRACE_WRITE)
			bytes[t->ops[i].kind] += t->ops[i].length;
	}
	for (uint32_t i = 0; i < t->object_count; i++) {
		files += t->objects[i].prepared == TRACE_FILE;
		prepared += t->objects[i].prepared_size;
	}
	for (int k = 0; k < TRACE_KINDS; k++) {
		if (counts[k])
			printf("%-12s %10llu %12.3f MB\n", trace_kind_name((enum trace_kind)k),
			       (unsigned long long)counts[k], (double)bytes[k] / 1e6);
	}
	printf("%u operations of %u clients in %.3f s; needs %u files of %.3f MB in all\n",
	       t->op_count, t->client_count, 1e-6 * (double)t->ops[t->op_count - 1].at, files,
	       (double)prepared / 1e6);
	return 0;
}

static int replay(const struct replay_options *o, const struct trace *t)
{
	static struct replay r; /* large: histograms */
	int rc = replay_run(&r, o, t);

	if (rc == 0) {
		if (!o->quiet && !(o->json && strcmp(o->json, "-") == 0))
			replay_table(&r);
		if (r.problem[0])
			fprintf(stderr, "nfsreplay: %s\n", r.problem);
		if (o->json)
			rc = replay_json(&r, o->json);
		if (!replay_good(&r))
			rc = -1;
	}
	replay_free(&r);
	return rc;
}

int main(int argc, char **argv)
{
	static struct trace t;
	struct replay_options o;
	int rc = replay_options_parse(&o, argc, argv);

	if (rc) {
		rc = rc < 0 ? 2 : 0;
	} else if (read_trace(&t, o.trace)) {
		rc = 2;
	} else {
		rc = o.prepare ? prepare_lay_out(&t, o.prepare, o.seed)
		     : o.check ? prepare_check(&t, o.check, o.seed)
		     : o.plan  ? plan(&t)
			       : replay(&o, &t);
		rc = rc ? 1 : 0;
	}
	trace_free(&t);
	free(o.command);
	return rc;
}
