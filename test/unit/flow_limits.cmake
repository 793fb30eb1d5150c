# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(flow_ceiling ra_sched)
ra_unit_test(flow_floor ra_sched)
