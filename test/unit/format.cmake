# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.format COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_format ${PROJECT_SOURCE_DIR})
set_tests_properties(unit.format PROPERTIES TIMEOUT 240 LABELS unit SKIP_RETURN_CODE 77)
