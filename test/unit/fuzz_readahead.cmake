# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(fuzz_readahead ra_readahead)
target_sources(test_fuzz_readahead PRIVATE fuzz_readahead.c)

# fuzz_readahead [libFuzzer's options]
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  get_target_property(sources ra_readahead SOURCES)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/readahead/)
  add_executable(fuzz_readahead fuzz_readahead.c ${sources} ${PROJECT_SOURCE_DIR}/src/common/lock.c
                 ${PROJECT_SOURCE_DIR}/src/common/trace.c)
  target_include_directories(fuzz_readahead PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(fuzz_readahead PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(fuzz_readahead PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_readahead PRIVATE PkgConfig::URCU)
endif()
