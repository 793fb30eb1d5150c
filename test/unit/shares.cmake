# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(client_list ra_shares)
ra_unit_test(client_table ra_shares)
ra_unit_test(share_keys ra_shares)
ra_unit_test(share_names ra_shares)
ra_unit_test(shares ra_shares)
