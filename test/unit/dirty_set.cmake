# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(dirty_set ra_writeback)
