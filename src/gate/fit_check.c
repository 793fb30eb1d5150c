/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fit-check: does the installed plugin fit the installed nfs-ganesha? It loads the server's core library,
 * then asks what the gate asks in a server (plugin.h). Packages run it when either changed.
 *
 * Exit status: 0 it fits, 1 it does not, 2 wrong usage.
 */
#include "gate/plugin.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

/* The library without its version, or, where only development packages have that name, with one. */
static void *load_core(const char *path, char why[PLUGIN_WHY_MAX])
{
	void *core = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	char pattern[PLUGIN_WHY_MAX];
	glob_t found = {0};

	if (core != NULL)
		return core;
	snprintf(why, PLUGIN_WHY_MAX, "%s", dlerror());
	snprintf(pattern, sizeof(pattern), "%s.*", path);
	if (glob(pattern, 0, NULL, &found) == 0)
		core = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
	globfree(&found);
	return core;
}

int main(int argc, char **argv)
{
	const char *plugin = argc > 1 ? argv[1] : RA_PLUGIN_FILE;
	const char *core = argc > 2 ? argv[2] : RA_CORE_LIBRARY;
	char why[PLUGIN_WHY_MAX];

	if (argc > 3 || plugin[0] == '-') {
		fprintf(stderr, "usage: fit-check [PLUGIN [CORE]]\n"
				"default: " RA_PLUGIN_FILE " " RA_CORE_LIBRARY "\n");
		return 2;
	}
	if (load_core(core, why) != NULL && plugin_fits(plugin, why)) {
		printf("%s, built for nfs-ganesha " RA_BUILT_FOR ", fits %s\n", plugin, core);
		return 0;
	}
	printf("%s, built for nfs-ganesha " RA_BUILT_FOR ", does not fit %s: %s\n", plugin, core,
	       why);
	return 1;
}
