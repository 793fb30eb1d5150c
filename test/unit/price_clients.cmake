# SPDX-License-Identifier: LGPL-3.0-or-later
find_package(Threads REQUIRED)
ra_unit_test(client_price ra_pricing)
ra_unit_test(client_board ra_pricing Threads::Threads)
ra_wrap(client_board)
ra_unit_test(ledger ra_pricing)
if(RA_CLIENT)
  ra_unit_test(price_auction ra_pricing ra_client)
endif()
