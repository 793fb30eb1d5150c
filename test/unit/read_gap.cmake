# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(read_gap ra_sched)
