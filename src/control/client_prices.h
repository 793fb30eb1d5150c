/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What clients are told of a device's prices, in the answer to the command "prices". */
#ifndef CONTROL_CLIENT_PRICES_H
#define CONTROL_CLIENT_PRICES_H

#include <json-c/json.h>

#include "control/facts.h"

/* Adds the members "clients" and "clients_total" of the Nth device to O, where any is known. */
void client_prices_describe(struct json_object *o, const struct control_host *host, unsigned int n);

#endif
