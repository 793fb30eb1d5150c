# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(meter_unstable ra_pricing)
