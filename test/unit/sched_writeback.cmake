# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(sched_writeback ra_sched)
