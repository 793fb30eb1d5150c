# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(client_table ra_shares)
