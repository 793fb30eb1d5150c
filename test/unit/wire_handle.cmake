# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(wire_handle ra_disk)
target_sources(test_wire_handle PRIVATE fuzz_wire_handle.c)

# fuzz_wire_handle [libFuzzer's options]
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  add_executable(fuzz_wire_handle fuzz_wire_handle.c)
  target_compile_options(fuzz_wire_handle PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(fuzz_wire_handle PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_wire_handle PRIVATE ra_disk)
endif()
