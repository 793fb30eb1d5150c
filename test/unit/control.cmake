# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(protocol ra_control)
ra_unit_test(control ra_control)
ra_unit_test(control_peers ra_control)
