# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.unjudged COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_unjudged ${PROJECT_SOURCE_DIR})
set_tests_properties(unit.unjudged PROPERTIES TIMEOUT 60 LABELS unit)
