# SPDX-License-Identifier: LGPL-3.0-or-later
if(RA_PLUGIN AND RA_CLIENT AND RA_BENCH)
  add_test(NAME unit.house COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_house.py ${PROJECT_SOURCE_DIR}
                                   ${CMAKE_BINARY_DIR})
  set_tests_properties(unit.house PROPERTIES TIMEOUT 240 LABELS unit)
endif()
