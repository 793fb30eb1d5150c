/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the agent does, as text in the format that Prometheus reads: for its node exporter, which takes
 * up such files from a directory (the textfile collector). The table in metrics.c has all names, with
 * unit and meaning; doc/ca-nfs-agent.8 shows them.
 *
 * Names and meanings stay, others may be added. Times are seconds, sizes bytes. One thread.
 */
#ifndef CLIENT_METRICS_H
#define CLIENT_METRICS_H

#include <stdio.h>

#include "watch.h"

/* What each name begins with, and so all of the text. */
#define METRICS_PREFIX "ca_nfs_agent_"
#define METRICS_BEGIN  "# HELP " METRICS_PREFIX

/* All metrics of all mounts at NOW. What a mount has not at present is left out. */
void metrics_print(struct watch_host *h, double now, FILE *out);
/* The same into the file PATH, whole or not at all. 0, or an errno. */
int metrics_write(struct watch_host *h, double now, const char *path);

#endif
