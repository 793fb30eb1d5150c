# SPDX-License-Identifier: LGPL-3.0-or-later
if(RA_PLUGIN)
  add_test(NAME abi.pairs COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_wrong_pairs ${PROJECT_SOURCE_DIR})
  set_tests_properties(abi.pairs PROPERTIES TIMEOUT 60 LABELS abi
                       ENVIRONMENT CMAKE_GENERATOR=${CMAKE_GENERATOR})
endif()
