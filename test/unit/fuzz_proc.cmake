# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(fuzz_proc ra_pricing)
target_sources(test_fuzz_proc PRIVATE fuzz_proc.c)

# fuzz_proc [libFuzzer's options]
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  add_executable(fuzz_proc fuzz_proc.c)
  target_compile_options(fuzz_proc PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(fuzz_proc PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_proc PRIVATE ra_pricing)
endif()
