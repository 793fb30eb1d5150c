/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The server below src/shares: its devices and exports. */
#ifndef RA_SHARES_HOST_H
#define RA_SHARES_HOST_H

#include "shares/shares.h"

extern const struct shares_ops ra_shares_ops;

#endif /* RA_SHARES_HOST_H */
