# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(readahead_faults ra_readahead)
ra_wrap(readahead_faults)
