/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The fit of the plugin with the core library that this process has loaded: the loader says whether every
 * library and symbol is there, registration whether the FSAL's version is right, and the plugin's own
 * ra_fit() (src/fsal_ra/fit.h) whether structures are laid out as it was compiled for.
 */
#include "gate/plugin.h"
#include "gate/trial.h"

#include <dlfcn.h>

void *plugin_load(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

static bool loads_and_fits(FILE *says, void *path)
{
	void *plugin = plugin_load(path);
	int (*fit)(FILE * out);

	if (plugin == NULL) {
		fprintf(says, "%s\n", dlerror());
		return false;
	}
	*(void **)&fit = dlsym(plugin, "ra_fit");
	if (fit == NULL) {
		fprintf(says, "%s\n", dlerror());
		return false;
	}
	return fit(says) == 0;
}

bool plugin_fits(const char *path, char why[PLUGIN_WHY_MAX])
{
	return trial(loads_and_fits, (void *)path, TRIAL_MS, why, PLUGIN_WHY_MAX);
}
