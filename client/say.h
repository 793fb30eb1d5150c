/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One line of news, to the standard output or to syslog. */
#ifndef CLIENT_SAY_H
#define CLIENT_SAY_H

#include <stdbool.h>

void say_to_syslog(bool yes);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
