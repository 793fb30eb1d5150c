/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The parameters as the configuration file had them when it was read last, and as they are now: of each
 * export, of each device (device_params.h), of the server. `ractl set` changes what is now, until the file
 * is read again.
 *
 * One mutex, outermost of all, and never taken by a request. Any thread that may wait.
 */
#ifndef RA_LIVE_PARAMS_H
#define RA_LIVE_PARAMS_H

#include "control/facts.h"
#include "disk/export_io.h"
#include "params_table.h"

/*
 * The block RA was read: FRESH, whose names stay the caller's. At first all of it holds from now on, later
 * what can change live. False: no memory, nothing changed.
 */
bool live_params_server(const struct ra_module_params *fresh);
/* The server's are again as the file had them when it was read last. */
void live_params_restore(void);
/*
 * The blocks DEVICE were read, or what operators turned is forgotten: puts into force what that comes to, on each device, for
 * its exports may be updated later, before it, or not at all.
 */
void live_params_devices(void);
/* Called when a parameter of the server's was set; NULL: nobody is. */
void live_params_on_change(void (*changed)(void));
/* The end: frees everything. */
void live_params_end(void);

/* An export came with these; a reference on IO is kept. Without memory operators do not see it. */
void live_params_export_new(struct export_io *io, const struct ra_export_params *params);
/* The file was read again: puts PARAMS, which come to S, into force. 0 or ENOMEM. */
int live_params_export_update(struct export_io *io, const struct ra_export_params *params,
			      const struct export_settings *s);
/* The export goes. */
void live_params_export_drop(struct export_io *io);

/* As in struct control_host. */
bool live_params_get(const struct parameter *p, const struct parameter_target *t,
		     struct parameter_value *now, struct parameter_value *file);
bool live_params_set(const struct parameter *p, const struct parameter_target *t,
		     const struct parameter_value *v, char *why, size_t size);

#endif /* RA_LIVE_PARAMS_H */
