# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.background COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_background ${PROJECT_SOURCE_DIR})
set_tests_properties(unit.background PROPERTIES TIMEOUT 240 LABELS unit)
