# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET sim)
  ra_unit_test(schedsim sim)
endif()
