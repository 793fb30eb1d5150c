# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(heur_table ra_readahead)
