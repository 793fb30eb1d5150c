# SPDX-License-Identifier: LGPL-3.0-or-later
# The one part of the glue that needs no Ganesha: from parameters to settings.
ra_unit_test(settings ra_disk ra_shares)
target_sources(test_settings PRIVATE ${PROJECT_SOURCE_DIR}/src/fsal_ra/settings.c)
