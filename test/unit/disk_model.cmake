# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET disk_model)
  ra_unit_test(disk_model disk_model)
endif()
