# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.ellard COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_ellard.py)
set_tests_properties(unit.ellard PROPERTIES TIMEOUT 60 LABELS unit)
