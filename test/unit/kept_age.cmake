# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(kept_age ra_readahead)
