# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.setup COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_setup ${PROJECT_SOURCE_DIR})
set_tests_properties(unit.setup PROPERTIES TIMEOUT 240 LABELS unit)
