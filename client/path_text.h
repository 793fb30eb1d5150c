/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Paths as people write them, and as the kernel's tables have them. Pure. */
#ifndef CLIENT_PATH_TEXT_H
#define CLIENT_PATH_TEXT_H

/* Behind the slashes at PATH, and behind components of it that mean nothing. */
static inline const char *path_component(const char *path)
{
	while (*path == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0')))
		path++;
	return path;
}

/* PATH, which begins with a slash, without slashes and components that mean nothing. What ".." means links may say. */
static inline void path_tidy(char *path)
{
	const char *from = path;
	char *to = path;

	while (*(from = path_component(from))) {
		*to++ = '/';
		while (*from && *from != '/')
			*to++ = *from++;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

#endif
