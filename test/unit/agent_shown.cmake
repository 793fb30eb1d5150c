# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.agent_shown COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_agent_shown.py)
set_tests_properties(unit.agent_shown PROPERTIES TIMEOUT 60 LABELS unit)
