/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One request in, one answer out. No socket is known here. */
#ifndef CONTROL_PROTOCOL_H
#define CONTROL_PROTOCOL_H

#include <stddef.h>

#include "control/control.h"

/*
 * Answers the request LINE of LEN bytes, without its newline. Returns the answer with newline, of
 * *answer_len bytes, to be freed by the caller; NULL only when out of memory. *HELD becomes true
 * when the peer now holds what the command switched on, and stays as it was else.
 */
char *protocol_answer(const struct control_command *commands, const char *line, size_t len,
		      size_t *answer_len, bool *held);
/* The same for a peer that may only look. */
char *protocol_answer_as(const struct control_command *commands, const char *line, size_t len,
			 size_t *answer_len, bool *held, bool read_only);
/* An answer that only says what is wrong; as protocol_answer(). */
char *protocol_error(const char *text, size_t *answer_len);

#endif /* CONTROL_PROTOCOL_H */
