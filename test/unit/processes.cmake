# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.processes COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_processes.py)
set_tests_properties(unit.processes PROPERTIES TIMEOUT 60 LABELS unit)
