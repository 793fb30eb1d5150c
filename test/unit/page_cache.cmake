# SPDX-License-Identifier: LGPL-3.0-or-later
add_test(NAME unit.page_cache COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_page_cache)
set_tests_properties(unit.page_cache PROPERTIES TIMEOUT 60 LABELS unit)
