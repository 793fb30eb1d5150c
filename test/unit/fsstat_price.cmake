# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(fsstat_price ra_pricing)
target_sources(test_fsstat_price PRIVATE fuzz_fsstat_price.c)
target_compile_definitions(test_fsstat_price PRIVATE
                           VECTORS="${PROJECT_SOURCE_DIR}/doc/fsstat-prices.vectors")
if(RA_CLIENT)
  ra_unit_test(fsstat_reader fsstat_price)
  ra_unit_test(auction_vectors fsstat_price)
  foreach(test test_fsstat_reader test_auction_vectors)
    target_compile_definitions(${test} PRIVATE VECTORS="${PROJECT_SOURCE_DIR}/doc/fsstat-prices.vectors")
  endforeach()
endif()
add_test(NAME unit.fsstat_document
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_fsstat_document.py
                 ${PROJECT_SOURCE_DIR}/doc/fsstat-prices.md
                 ${PROJECT_SOURCE_DIR}/doc/fsstat-prices.vectors ${PROJECT_SOURCE_DIR}/lib/fsstat_price.py)
set_tests_properties(unit.fsstat_document PROPERTIES TIMEOUT 240 LABELS unit)

# fuzz_fsstat_price [libFuzzer's options]
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  add_executable(fuzz_fsstat_price fuzz_fsstat_price.c ${PROJECT_SOURCE_DIR}/src/pricing/fsstat_price.c)
  target_include_directories(fuzz_fsstat_price PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(fuzz_fsstat_price PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(fuzz_fsstat_price PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_fsstat_price PRIVATE m)
endif()
