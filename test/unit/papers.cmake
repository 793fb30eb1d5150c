# SPDX-License-Identifier: LGPL-3.0-or-later
foreach(part rounds cold compare papers pieces gateways treetable bench_programs)
  add_test(NAME unit.${part} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_${part}.py)
  set_tests_properties(unit.${part} PROPERTIES TIMEOUT 240 LABELS unit)
endforeach()
