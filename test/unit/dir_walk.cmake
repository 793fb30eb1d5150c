# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(dir_list ra_readahead)
ra_unit_test(dir_walk ra_readahead)
ra_unit_test(first_read ra_readahead)
ra_unit_test(tree_pieces ra_disk)
