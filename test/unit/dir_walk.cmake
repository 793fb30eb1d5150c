# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(dir_list ra_readahead)
ra_unit_test(dir_walk ra_readahead)
ra_unit_test(dir_evicted ra_readahead)
ra_unit_test(first_read ra_readahead)
ra_unit_test(tree_pieces ra_disk)
ra_unit_test(tree_inodes ra_disk)
ra_unit_test(tree_listing ra_disk)
target_link_options(test_tree_listing PRIVATE -Wl,--wrap=fstatat64 -Wl,--wrap=open_by_handle_at)
