# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.confined COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_confined.py ${PROJECT_SOURCE_DIR})
set_tests_properties(unit.confined PROPERTIES TIMEOUT 240 LABELS unit)
