/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Weights by name. See weights.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "path_text.h"
#include "weights.h"

/* Its place; the first free one where there is none of that name. */
static unsigned int place_of(const struct weights *w, const char *name)
{
	unsigned int i = 0;

	while (i < w->count && strcmp(w->at[i].name, name) != 0)
		i++;
	return i;
}

static size_t length_of(const char *name)
{
	size_t length = strlen(name);

	while (length > 1 && name[length - 1] == '/')
		length--;
	return length;
}

static bool wrong(char *error, size_t size, const char *what, const char *value, const char *why)
{
	snprintf(error, size, "%s = %.200s: %s", what, value, why);
	return false;
}

bool weights_set(struct weights *w, const char *what, const char *value, char *error, size_t size)
{
	char *name, copy[WEIGHT_NAME] = "";
	const double number = strtod(value, &name);
	unsigned int place;

	if (name == value || !(number >= WEIGHT_MIN && number <= WEIGHT_MOST) ||
	    (*name != ' ' && *name != '\t'))
		return wrong(error, size, what, value,
			     "must be a number from 0.01 to 100, a blank and an absolute path");
	name += strspn(name, " \t");
	if (name[0] != '/' || length_of(name) >= WEIGHT_NAME)
		return wrong(error, size, what, value,
			     "behind the number must be an absolute path of at most 191 bytes");
	snprintf(copy, length_of(name) + 1, "%s", name);
	if (strcmp(what, "weight") == 0) /* of a mount: a group has one name only */
		path_tidy(copy);
	place = place_of(w, copy);
	if (place == WEIGHTS_MAX)
		return wrong(error, size, what, value, "more than 64 of them");
	w->count += place == w->count;
	memcpy(w->at[place].name, copy, sizeof(copy));
	w->at[place].weight = number;
	return true;
}

bool weights_has(const struct weights *w, const char *path)
{
	char tidied[WEIGHT_NAME];

	if (snprintf(tidied, sizeof(tidied), "%s", path) >= (int)sizeof(tidied))
		return false;
	path_tidy(tidied);
	return place_of(w, tidied) < w->count;
}

double weights_of(const struct weights *w, const char *name)
{
	const unsigned int place = place_of(w, name);

	return place < w->count ? w->at[place].weight : 1;
}
