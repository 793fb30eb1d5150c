# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(hint ra_remote)
ra_unit_test(overdue ra_remote)
ra_unit_test(self_check ra_remote)
ra_unit_test(depth_search ra_sched)
ra_unit_test(meter_delay ra_pricing)
ra_unit_test(backing_remote ra_disk)
ra_wrap(backing_remote)
ra_unit_test(under_way ra_disk)
