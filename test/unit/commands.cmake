# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(commands ra_commands)
