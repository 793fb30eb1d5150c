/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the server finds as libfsalra.so. A module that does not fit takes the whole server down: the
 * server ends where dlopen() fails, and crashes later where structures differ. So the plugin lies one
 * directory below, and this, which needs nothing but libc, loads it only after a trial.
 *
 *   server --dlopen--> ganesha/libfsalra.so (the gate) --fork--> child: dlopen, register, ra_fit()
 *                            |                                     |
 *                            |<---------------- fits, or why not --'
 *                            |--fits--> dlopen ganesha/ra/libfsalra.so, which registers
 *                            '--else--> one line in the server's log, in syslog and on stderr; the
 *                                       server says that nothing registered, and goes on without
 */
#include "gate/plugin.h"
#include "gate/trial.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#define SAY_MS 2000 /* for a line in the server's log */

/* Of the server's log.h; the same from 4.3 to 15. It is called in a child, should that change. */
#define COMPONENT_ALL 0
#define LEVEL_CRIT    3
typedef void (*server_log)(int component, const char *file, int line, const char *function,
			   int level, const char *format, ...);

static void *plugin;

/* ra/libfsalra.so beside the file that this code is from. */
static bool find_plugin(char path[PATH_MAX])
{
	static const char below[] = "/ra/libfsalra.so";
	Dl_info self;
	char *slash;

	if (dladdr(&plugin, &self) == 0 || realpath(self.dli_fname, path) == NULL)
		return false;
	slash = strrchr(path, '/');
	if (slash == NULL || (size_t)(slash - path) + sizeof(below) > PATH_MAX)
		return false;
	memcpy(slash, below, sizeof(below));
	return true;
}

static bool say_in_log(FILE *says, void *line)
{
	server_log log;

	*(void **)&log = dlsym(RTLD_DEFAULT, "DisplayLogComponentLevel");
	if (log == NULL)
		return false;
	log(COMPONENT_ALL, __FILE__, __LINE__, __func__, LEVEL_CRIT, "%s", (char *)line);
	return true;
}

static void refuse(const char *path, const char *why)
{
	char line[PATH_MAX + PLUGIN_WHY_MAX + 256], unused[PLUGIN_WHY_MAX];

	snprintf(line, sizeof(line),
		 "FSAL RA: %s does not fit this server and is not loaded: %s. Exports with Name = "
		 "RA are "
		 "not served. Build nfs-ganesha-ra for this nfs-ganesha, or take RA out of the "
		 "exports",
		 path, why);
	trial(say_in_log, line, SAY_MS, unused, sizeof(unused));
	syslog(LOG_DAEMON | LOG_CRIT, "%s", line);
	fprintf(stderr, "%s\n", line);
}

__attribute__((constructor)) static void gate_open(void)
{
	char path[PATH_MAX] = "ra/libfsalra.so", why[PLUGIN_WHY_MAX];

	if (!find_plugin(path)) {
		refuse(path, "the directory of the FSALs cannot be found");
		return;
	}
	if (!plugin_fits(path, why)) {
		refuse(path, why);
		return;
	}
	plugin = plugin_load(path);
	if (plugin == NULL)
		refuse(path, dlerror());
}

/* The server unloads what it loaded: the plugin goes with the gate, but for its code (main.c of fsal_ra). */
__attribute__((destructor)) static void gate_close(void)
{
	if (plugin != NULL)
		dlclose(plugin);
}
