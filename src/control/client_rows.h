/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Who used the devices between two samples, in rows.
 *
 *   sample ----.
 *              +--> what each flow used --> its fair share --> rows by client, export, device --> sorted
 *   sample ----'
 *
 * The fair share of a flow is what it had got of its device's time by its weight, had all flows that
 * were active in between wanted as much as they could get: its group's weight over the weights of all
 * active groups, times its own over those of the active flows of the group. Shares of rows are parts of
 * all the time that the devices gave, so that a client on one of two busy disks has at most half.
 *
 * Rows by file are made of what the read-ahead engine knows of each (file_rows.h): their READs, not disk time.
 *
 * No clock, no terminal: also what is shown live is computed here. Not thread-safe.
 */
#ifndef CONTROL_CLIENT_ROWS_H
#define CONTROL_CLIENT_ROWS_H

#include <json-c/json.h>

#include "control/client_row.h"

/* What the rows are sorted by, the largest first. */
enum rows_order { ORDER_SHARE, ORDER_BANDWIDTH, ORDER_IOPS, ORDER_LATENCY, ORDERS };

/* "client", "export", "device", "flow", "file"; "share", "bandwidth", "iops", "latency". */
extern const char *const rows_by_names[ROWS_BY];
extern const char *const rows_order_names[ORDERS];

/*
 * BEFORE NULL, or of a server that was started again since: what was used since its start. Counters
 * that went down count from 0.
 */
void client_rows_between(struct client_rows *rows, const struct use_sample *before,
			 const struct use_sample *after, enum rows_by by);
void client_rows_sort(struct client_rows *rows, enum rows_order order);

/* The same for programs: doc/control-protocol.md says what the members mean. To be put. */
struct json_object *client_rows_json(const struct client_rows *rows, const struct use_sample *now);

#endif
