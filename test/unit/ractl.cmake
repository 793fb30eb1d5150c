# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(ractl ra_commands util)
add_dependencies(test_ractl ractl)
target_compile_definitions(test_ractl PRIVATE RACTL="$<TARGET_FILE:ractl>")
