/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is said of what changes again and again. See tell.h. */
#include "tell.h"

enum log_level tell_change(struct tell *t, bool back, double now)
{
	const bool anew = !t->changed || now - t->at >= TELL_CALM;

	t->left_out = !anew && !(back && t->said);
	t->said = !back && (anew || t->said);
	t->changed = true;
	t->at = now;
	return t->left_out ? LOG_LEVEL_DEBUG : LOG_LEVEL_EVENT;
}

bool tell_calm(struct tell *t, double now)
{
	if (!t->left_out || now - t->at < TELL_CALM)
		return false;
	t->left_out = false;
	return true;
}
