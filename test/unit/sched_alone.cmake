# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(sched_alone ra_sched)
