# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.works COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_works.py)
set_tests_properties(unit.works PROPERTIES TIMEOUT 60 LABELS unit)
