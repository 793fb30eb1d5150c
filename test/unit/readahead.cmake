# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(readahead ra_readahead)
ra_unit_test(look ra_readahead)
