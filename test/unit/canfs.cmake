# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET canfs_pure)
  ra_unit_test(canfs_cache canfs_pure)
  ra_unit_test(canfs_client canfs_pure)
  ra_unit_test(canfs_work canfs_pure)
  ra_unit_test(canfs_tally canfs_pure)
  ra_unit_test(canfs_market canfs_pure)
endif()
if(TARGET canfs)
  add_test(NAME unit.canfs_experiments
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_canfs_experiments.py $<TARGET_FILE:canfs>)
  set_tests_properties(unit.canfs_experiments PROPERTIES TIMEOUT 60 LABELS unit)
endif()
