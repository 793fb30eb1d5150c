# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET nfsbench_pure)
  ra_unit_test(nfsbench nfsbench_pure)
  ra_unit_test(nfsbench_calls nfsbench_pure)
  ra_unit_test(nfsbench_offered nfsbench_pure)
endif()
