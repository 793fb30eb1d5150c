# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET nfsreplay_pure)
  ra_unit_test(trace nfsreplay_pure)
  ra_unit_test(replay_schedule nfsreplay_pure)
  ra_unit_test(fuzz_trace nfsreplay_pure)
  target_sources(test_fuzz_trace PRIVATE fuzz_trace.c)

  # fuzz_trace [libFuzzer's options]
  if(CMAKE_C_COMPILER_ID MATCHES Clang)
    add_executable(fuzz_trace fuzz_trace.c)
    target_compile_options(fuzz_trace PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_options(fuzz_trace PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(fuzz_trace PRIVATE nfsreplay_pure)
  endif()
endif()
if(TARGET nfsreplay)
  add_test(NAME unit.traces COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_traces.py $<TARGET_FILE:nfsreplay>)
  set_tests_properties(unit.traces PROPERTIES TIMEOUT 60 LABELS unit)
endif()
