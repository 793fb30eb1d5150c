# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET linkemu_pure)
  ra_unit_test(linkemu linkemu_pure)
endif()
