# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(begin_shares ra_sched)
