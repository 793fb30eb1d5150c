# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(own_file ra_common)
