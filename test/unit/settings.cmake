# SPDX-License-Identifier: LGPL-3.0-or-later
# The parts of the glue that need no Ganesha: parameters, and settings made of them.
ra_unit_test(settings ra_disk ra_shares)
target_sources(test_settings PRIVATE ${PROJECT_SOURCE_DIR}/src/fsal_ra/settings.c)
ra_unit_test(params ra_disk ra_shares ra_commands)
target_include_directories(test_params PRIVATE ${PROJECT_SOURCE_DIR}/src/fsal_ra)
target_sources(test_params PRIVATE ${PROJECT_SOURCE_DIR}/src/fsal_ra/settings.c
               ${PROJECT_SOURCE_DIR}/src/fsal_ra/params_table.c
               ${PROJECT_SOURCE_DIR}/src/fsal_ra/params_check.c
               ${PROJECT_SOURCE_DIR}/src/fsal_ra/device_params.c)
