# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(gap_several ra_sched)
