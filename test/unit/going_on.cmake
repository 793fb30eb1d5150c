# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(going_on ra_sched)
