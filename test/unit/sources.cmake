# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.sources COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_sources ${PROJECT_SOURCE_DIR})
set_tests_properties(unit.sources PROPERTIES TIMEOUT 60 LABELS unit)
