# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.macklem COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_macklem.py)
set_tests_properties(unit.macklem PROPERTIES TIMEOUT 60 LABELS unit)
