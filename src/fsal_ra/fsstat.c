/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FSSTAT, which carries the prices to NFSv3 clients: in the low bits of its counts of files
 * (doc/fsstat-prices.md), to each its own. Byte counts are untouched, and where a price cannot be hidden all counts
 * are the file system's own. One without a limit (CephFS) is shown one far away.
 */
#include "prices.h"
#include "ra_methods.h"

#include "nfs_exports.h"

#include "pricing/fsstat_price.h"
#include "shares/shares.h"

const char *const fsstat_said_text[FSSTAT_SAID] = {
	[FSSTAT_UNASKED] = "no FSSTAT yet",
	[FSSTAT_PRICES] = "prices",
	[FSSTAT_OFF] = "exact: Fsstat_Prices = false",
	[FSSTAT_NFSV4] = "exact: the export also serves NFSv4",
	[FSSTAT_NO_DEVICE] = "exact: no local file system below",
	[FSSTAT_FEW_FILES] = "exact: too few inodes",
};

/* Of the export's dearest device, for the client that asks. */
static bool prices_for_caller(struct ra_export *exp, struct fsstat_prices *now)
{
	return device_client_prices(
		atomic_load(&exp->io->devices),
		shares_known_client((const struct sockaddr *)op_ctx->caller_addr),
		exp->io->export_id, &now->write, &now->readahead);
}

/* Puts the prices into the counts. Any thread; waits for nothing but who enters a new client. */
static enum fsstat_said encode(struct ra_export *exp, fsal_dynamicfsinfo_t *info)
{
	struct fsstat_files counts = {
		.total = info->total_files, .free = info->free_files, .avail = info->avail_files};
	struct fsstat_prices now;

	switch (export_io_fsstat_rule(exp->io)) {
	case FSSTAT_NEVER:
		return FSSTAT_OFF;
	case FSSTAT_AUTO:
		if (op_ctx->export_perms.options & EXPORT_OPTION_NFSV4)
			return FSSTAT_NFSV4;
		break;
	default:
		break;
	}
	if (!prices_for_caller(exp, &now))
		return FSSTAT_NO_DEVICE;
	(void)fsstat_price_bound(&counts);
	now.turn = atomic_fetch_add_explicit(&exp->io->fsstat_turn, 1, memory_order_relaxed);
	if (!fsstat_price_encode(&counts, &now))
		return FSSTAT_FEW_FILES;
	info->total_files = counts.total;
	info->free_files = counts.free;
	info->avail_files = counts.avail;
	return FSSTAT_PRICES;
}

/* Also called for FSINFO, which carries no counts, and without a request: those stay exact. */
void ra_io_fsstat(struct ra_export *exp, fsal_dynamicfsinfo_t *info)
{
	enum fsstat_said said;

	if (op_ctx->nfs_vers != 3)
		return;
	said = encode(exp, info);
	if (atomic_load_explicit(&exp->io->fsstat_said, memory_order_relaxed) != said)
		atomic_store_explicit(&exp->io->fsstat_said, said, memory_order_relaxed);
}
