/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line as one text. See command_line.h. */
#include "command_line.h"

#include <stdlib.h>
#include <string.h>

char *command_line_text(int argc, char **argv)
{
	size_t length = 1;
	char *all;

	for (int i = 0; i < argc; i++)
		length += strlen(argv[i]) + 1;
	all = calloc(1, length);
	for (int i = 0; all && i < argc; i++) {
		if (i)
			strcat(all, " ");
		strcat(all, argv[i]);
	}
	return all;
}
