/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cmocka as the tests use it, version 1 and 2: every test includes it through here.
 */
#ifndef UNIT_CMOCKA_H
#define UNIT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Version 2 tells ranges of signed and unsigned numbers apart, and warns of the old name. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

/* A macro of version 2 that no test uses; several have a function of that name. */
#undef stop

#endif
