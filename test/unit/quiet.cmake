# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.quiet COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_quiet.py)
set_tests_properties(unit.quiet PROPERTIES TIMEOUT 240 LABELS unit)
