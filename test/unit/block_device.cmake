# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(block_device ra_disk)
