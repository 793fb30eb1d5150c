# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(begin_together ra_sched)
