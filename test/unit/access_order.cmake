# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET disk_model)
  ra_unit_test(access_order ra_sched disk_model)
endif()
