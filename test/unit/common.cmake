# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(common ra_common)
ra_unit_test(room_gate ra_common)
