/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a device is taken for. See device_mode.h. */
#include "disk/device_mode.h"

void device_mode_init(struct device_mode *m, bool rotating, uint32_t drive_queue,
		      uint32_t configured)
{
	*m = (struct device_mode){
		.rotating = rotating, .drive_queue = drive_queue, .configured = configured};
}

void device_mode_set_cluster(struct device_mode *m)
{
	m->rotating = false;
	m->cluster = true;
	m->learnt = 1;
}

void device_mode_configure(struct device_mode *m, uint32_t configured)
{
	m->configured = configured;
	device_mode_forget(m);
}

void device_mode_set_rotating(struct device_mode *m, bool rotating)
{
	if (rotating == m->rotating)
		return;
	m->rotating = rotating;
	m->seeks_free = false;
}

enum device_learns device_mode_learns(const struct device_mode *m)
{
	if (!m->rotating || m->configured)
		return DEVICE_LEARNS_NOTHING;
	return m->seeks_free ? DEVICE_LEARNS_DEAR : DEVICE_LEARNS_FREE;
}

bool device_mode_learn(struct device_mode *m, enum device_learns what)
{
	if (what == DEVICE_LEARNS_NOTHING || what != device_mode_learns(m))
		return false;
	m->seeks_free = what == DEVICE_LEARNS_FREE;
	return true;
}

/* Whether SHARE, of the looks that found it so, makes it be so that was or was not before. */
static bool is_held(double share, bool before)
{
	return before ? share >= DEVICE_FOREIGN_GONE : share > DEVICE_FOREIGN_BUSY;
}

/* Judges by the shares. */
static bool judge(struct device_mode *m)
{
	bool before = m->foreign_writes, queued = device_mode_queues(m);

	m->foreign_writes = is_held(m->foreign_share, before);
	m->by_fsyncs = is_held(m->fsync_share, m->by_fsyncs);
	return m->foreign_writes != before || device_mode_queues(m) != queued;
}

bool device_mode_look(struct device_mode *m, bool writing, bool fsyncs)
{
	if (writing) {
		m->foreign_share += (1 - m->foreign_share) / DEVICE_FOREIGN_RISES;
		m->fsync_share += ((fsyncs ? 1 : 0) - m->fsync_share) / DEVICE_FOREIGN_RISES;
	} else {
		m->foreign_share -= m->foreign_share / DEVICE_FOREIGN_AVERAGED;
	}
	return judge(m);
}

bool device_mode_no_look(struct device_mode *m)
{
	m->foreign_share -= m->foreign_share / DEVICE_FOREIGN_AGES;
	return judge(m);
}

bool device_mode_forget(struct device_mode *m)
{
	bool before = m->foreign_writes;

	m->foreign_writes = m->by_fsyncs = false;
	m->foreign_share = m->fsync_share = 0;
	return before;
}

bool device_mode_own_queues(const struct device_mode *m)
{
	return !m->cluster && (m->configured || (m->rotating && !m->seeks_free));
}

bool device_mode_queues(const struct device_mode *m)
{
	return device_mode_own_queues(m) && (!m->foreign_writes || m->by_fsyncs);
}

bool device_mode_written(const struct device_mode *m)
{
	return device_mode_own_queues(m) && m->foreign_writes;
}

uint32_t device_mode_own_depth(const struct device_mode *m)
{
	if (m->configured)
		return m->configured;
	if (m->cluster)
		return m->learnt;
	return device_mode_own_queues(m) ? 1 : DEVICE_DEPTH_FLASH;
}

uint32_t device_mode_depth(const struct device_mode *m)
{
	uint32_t depth = device_mode_own_depth(m);

	if (!m->foreign_writes || !device_mode_own_queues(m) || depth >= DEVICE_DEPTH_FOREIGN)
		return depth;
	return DEVICE_DEPTH_FOREIGN;
}

uint32_t device_mode_scattered(const struct device_mode *m)
{
	bool seeks = !m->configured && device_mode_queues(m) && !device_mode_written(m);

	return seeks && m->drive_queue ? m->drive_queue : 1;
}
