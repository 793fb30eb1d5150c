/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The block RA at SIGHUP. 4.3 does not read blocks of modules again; 6.5 and later do so once for each export, and
 * what is wrong with the block would cost all exports. All update each export, and while they do, the file's
 * parse tree is there. Nothing says that the first export of a reload is the first. But each is updated once,
 * so one that was updated before begins the next round:
 *
 *   start        SIGHUP         SIGHUP, 2 gone    SIGHUP
 *   1 2 3        1 2 3 4(new)   3 4 1             1 3 4
 *                ^ again        ^ again           ^ again
 *
 * Exports may come, or be updated, before that one: it is as if they came after it, for what the block says of the server
 * and of devices is put into force for all of them.
 */
#include "ra_methods.h"

#include "device_params.h"
#include "live_params.h"

static struct {
	pthread_mutex_t lock;
	uint8_t round[(UINT16_MAX + 1) / 8]; /* bit n: the export n had its turn */
} reload = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The export has its turn; true: for the second time, which begins a round. A NEW one does not. */
static bool note(uint16_t export_id, bool new)
{
	uint8_t *byte = &reload.round[export_id / 8], bit = (uint8_t)(1 << export_id % 8);
	bool begins;

	pthread_mutex_lock(&reload.lock);
	begins = !new && (*byte & bit) != 0;
	if (begins)
		memset(reload.round, 0, sizeof(reload.round));
	*byte |= bit;
	pthread_mutex_unlock(&reload.lock);
	return begins;
}

void ra_reload_export_new(uint16_t export_id)
{
	(void)note(export_id, true);
}

void ra_reload_export_update(uint16_t export_id, struct config_error_type *err_type)
{
	if (!ra_io_module_runs() || !note(export_id, false))
		return;
	device_params_forget();
	live_params_restore();
	(void)ra_config_module_again(err_type);
	/* also where there is no block RA, or it is wrong: then the one read last holds, without what was set since */
	ra_io_module_update();
	live_params_devices();
}
