/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See local.h. */
#include "control/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fresh_file.h"
#include "control/advise.h"
#include "control/control.h"
#include "control/metrics.h"
#include "control/show_table.h"

#define PATH_TEXT 4096

static bool complain(const char *what, const char *path)
{
	fprintf(stderr, "ractl: %s %s: %s\n", what, path, strerror(errno));
	return false;
}

/* A new file at PATH. */
static FILE *open_fresh(const char *path)
{
	int fd = fresh_file_open(AT_FDCWD, path, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (fd >= 0 && f == NULL)
		close(fd);
	return f;
}

/* node_exporter may read at any moment, and as another user. */
bool local_metrics(struct json_object *answer, const char *path)
{
	char fresh[PATH_TEXT];
	FILE *f;
	bool good;

	if (path == NULL) {
		metrics_print(stdout, answer);
		return true;
	}
	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh)) {
		errno = ENAMETOOLONG;
		return complain("cannot write", "the output");
	}
	f = open_fresh(fresh);
	if (f == NULL)
		return complain("cannot write", fresh);
	metrics_print(f, answer);
	good = !ferror(f) && fchmod(fileno(f), 0644) == 0;
	good = fclose(f) == 0 && good;
	if (good && rename(fresh, path) == 0)
		return true;
	complain("cannot write", path);
	unlink(fresh);
	return false;
}

/* NULL: no server, or it refused. */
static struct json_object *ask(struct client *c, const char *command)
{
	struct json_object *request = json_object_new_object(), *answer = NULL;

	json_object_object_add(request, "command", json_object_new_string(command));
	if (c != NULL)
		answer = client_ask(c, request);
	json_object_put(request);
	return answer;
}

static void show_advice(struct json_object *o)
{
	struct json_object *how;

	printf("%s: %s, better %s\n", text_of(o, "what"), text_of(o, "now"), text_of(o, "better"));
	printf("    %s\n", text_of(o, "why"));
	if (json_object_object_get_ex(o, "how", &how))
		printf("    %s\n", json_object_get_string(how));
}

static void show_list(struct json_object *list, bool server, bool json)
{
	struct json_object *all;

	if (json) {
		all = json_object_new_object();
		json_object_object_add(all, "ok", json_object_new_boolean(true));
		json_object_object_add(all, "schema", json_object_new_int(CONTROL_SCHEMA));
		json_object_object_add(all, "server", json_object_new_boolean(server));
		json_object_object_add(all, "advice", json_object_get(list));
		puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
		json_object_put(all);
		return;
	}
	if (!server)
		printf("no server answers: all disks, and the parameters' defaults\n");
	for (size_t i = 0; i < json_object_array_length(list); i++)
		show_advice(json_object_array_get_idx(list, i));
	if (json_object_array_length(list) == 0)
		printf("nothing to change\n");
}

bool local_advise(struct client *c, const char *root, bool json)
{
	struct advise_machine m = {.root = root};
	struct json_object *list;

	m.devices = ask(c, "devices");
	m.values = ask(c, "get");
	m.status = ask(c, "status");
	list = advise(&m);
	show_list(list, m.status != NULL, json);
	json_object_put(list);
	json_object_put(m.devices);
	json_object_put(m.values);
	json_object_put(m.status);
	if (fflush(stdout) == 0)
		return true;
	return complain("cannot write", "the output");
}
