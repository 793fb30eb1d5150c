# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(advise ra_top)
ra_unit_test(metrics ra_top ra_commands)
set(config ${PROJECT_SOURCE_DIR}/config)
add_test(NAME unit.promtool
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_promtool.py ${config} $<TARGET_FILE:test_metrics>)
add_test(NAME unit.alerts
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_alerts.py ${config}/nfs-ganesha-ra.rules.yml
          ${PROJECT_SOURCE_DIR}/test/recorded)
add_test(NAME unit.completion
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_completion ${config}/ractl.bash-completion $<TARGET_FILE:ractl>)
set_tests_properties(unit.promtool unit.alerts unit.completion PROPERTIES TIMEOUT 60 LABELS unit SKIP_RETURN_CODE 77)
