# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(commands ra_commands)
ra_unit_test(command_files ra_commands)
ra_unit_test(command_parameters ra_commands)

add_executable(test_fuzz_control test_fuzz_control.c fuzz_control.c)
target_link_libraries(test_fuzz_control PRIVATE ra_commands)
add_test(NAME unit.fuzz_control COMMAND test_fuzz_control)
set_tests_properties(unit.fuzz_control PROPERTIES TIMEOUT 300 LABELS unit)

# fuzz_control [libFuzzer's options]
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  add_executable(fuzz_control fuzz_control.c)
  target_compile_options(fuzz_control PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(fuzz_control PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_control PRIVATE ra_commands)
endif()
