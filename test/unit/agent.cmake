# SPDX-License-Identifier: LGPL-3.0-or-later
if(RA_CLIENT)
  ra_unit_test(agent_decide ra_client)
  ra_unit_test(agent_parts ra_client)
endif()
