# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(flow_guests ra_sched)
