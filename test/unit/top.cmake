# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(client_rows ra_top)
ra_unit_test(top_screen ra_top)
