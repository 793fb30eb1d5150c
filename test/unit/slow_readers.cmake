# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(slow_readers ra_readahead)
