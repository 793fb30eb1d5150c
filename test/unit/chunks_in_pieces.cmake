# SPDX-License-Identifier: LGPL-3.0-or-later
ra_unit_test(chunks_in_pieces ra_sched)
