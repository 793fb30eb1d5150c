# SPDX-License-Identifier: LGPL-3.0-or-later
find_package(Threads REQUIRED)
ra_unit_test(run_lengths ra_readahead Threads::Threads)
