# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(writeback_cost ra_sched)
