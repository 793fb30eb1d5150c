# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.baselines COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_baselines.py)
set_tests_properties(unit.baselines PROPERTIES TIMEOUT 60 LABELS unit)
