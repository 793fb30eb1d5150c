# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(use_once ra_remote)
ra_unit_test(use_once_threads ra_remote)
ra_unit_test(vouching ra_remote)
ra_unit_test(backing_kept ra_disk)
target_link_options(test_backing_kept PRIVATE -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=calloc)
ra_unit_test(backing_changed ra_disk)
