# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(file_begin ra_readahead)
