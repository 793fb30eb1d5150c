/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What running a load and its requests both need: time, the first problem, a flow's connection. */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

uint64_t engine_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

double engine_seconds(const struct engine *e, uint64_t ns)
{
	return 1e-9 * (double)(ns - e->began);
}

void engine_problem(struct engine *e, const char *format, ...)
{
	va_list args;

	if (e->load->problem[0])
		return; /* the first one explains the others */
	va_start(args, format);
	vsnprintf(e->load->problem, sizeof(e->load->problem), format, args);
	va_end(args);
}

/* A flow's own connection, or its client's; with more than there are of them, several in turn. */
struct rpc_context *engine_connection(struct engine *e, const struct flow *f)
{
	struct load *load = e->load;
	unsigned int owners = load->client_count ? load->client_count : load->flow_count;
	unsigned int index =
		(unsigned int)(f->client ? f->client - load->clients : f - load->flows);
	unsigned int each = e->connection_count / owners;

	if (each < 2)
		return e->connections[index % e->connection_count].rpc;
	return e->connections[index + owners * (f->next % each)].rpc;
}
