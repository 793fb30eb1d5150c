# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET canfs_pure)
  ra_unit_test(canfs_cache canfs_pure)
  ra_unit_test(canfs_client canfs_pure)
  ra_unit_test(canfs_work canfs_pure)
  ra_unit_test(canfs_market canfs_pure)
endif()
