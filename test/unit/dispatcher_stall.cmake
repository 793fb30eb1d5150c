# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(dispatcher_stall ra_sched)
target_link_options(test_dispatcher_stall PRIVATE -Wl,--wrap=pthread_create)
