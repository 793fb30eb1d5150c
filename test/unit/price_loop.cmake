# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(price_loop ra_pricing)
ra_unit_test(price_thread ra_pricing)
ra_wrap(price_thread)
ra_unit_test(proc_source ra_pricing)
