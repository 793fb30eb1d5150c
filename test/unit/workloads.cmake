# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.workloads COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_workloads.py)
set_tests_properties(unit.workloads PROPERTIES TIMEOUT 240 LABELS unit)
