/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ractl: the operator's command line to a running server. It turns arguments into one request and
 * shows the answer; which names are right is the server's knowledge, and comes in its answer.
 *
 * Exit status: 0 done, 1 refused or no answer, 2 wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/client.h"
#include "control/show.h"

#define TIMEOUT_S 10

enum { EXIT_DONE, EXIT_REFUSED, EXIT_USAGE };

struct options {
	const char *socket;
	bool json, reset;
};

struct verb {
	const char *name;
	const char *arguments; /* for the help */
	const char *help;
	void (*show)(struct json_object *answer);
	/* The request's members that the arguments become, the first one required. */
	const char *members[2];
	bool second_is_number;
	bool takes_reset;
};

static const struct verb verbs[] = {
	{"status", "", "versions, uptime, exports", show_status},
	{"devices", "", "the devices' queues", show_devices},
	{"scheduler",
	 "NAME [DEVICE]",
	 "change the policy of a device, or of all",
	 show_scheduler,
	 {"name", "device"}},
	{"heuristic",
	 "NAME [EXPORT]",
	 "change the heuristic of an export, or of all",
	 show_heuristic,
	 {"name", "export"},
	 true},
	{"prices", "", "what the resources cost, and what FSSTAT says of it", show_prices},
	{"stats", "[--reset]", "counters since the start or the last reset", show_stats,
	 .takes_reset = true},
};

static void usage(FILE *out)
{
	fprintf(out, "usage: ractl [--socket PATH] [--json] COMMAND\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-10s %-15s %s\n", verbs[i].name, verbs[i].arguments,
			verbs[i].help);
	fprintf(out,
		"  --socket PATH  where the server listens (%s)\n"
		"  --json         the server's answer as it is\n"
		"See ractl(8).\n",
		CLIENT_SOCKET);
}

static int usage_error(const char *what, const char *argument)
{
	fprintf(stderr, "ractl: %s%s\n", what, argument);
	usage(stderr);
	return EXIT_USAGE;
}

static const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* Export ids are 16 bits wide, but what is too high the server refuses. */
static struct json_object *number(const char *text)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > INT64_MAX)
		return NULL;
	return json_object_new_uint64(n);
}

/* The request of VERB with ARGC arguments, or NULL after a message. */
static struct json_object *request_of(const struct verb *verb, const struct options *o, int argc,
				      char **argv)
{
	struct json_object *request = json_object_new_object();
	int most = !verb->members[0] ? 0 : !verb->members[1] ? 1 : 2;
	const char *wrong = NULL, *what = "";

	json_object_object_add(request, "command", json_object_new_string(verb->name));
	if (argc > most) {
		wrong = "too many arguments: ";
		what = argv[most];
	} else if (most && !argc) {
		wrong = "missing argument: ";
		what = verb->arguments;
	} else if (o->reset && !verb->takes_reset) {
		wrong = "--reset is for ";
		what = "stats";
	}
	for (int i = 0; i < argc && !wrong; i++) {
		struct json_object *value = i == 1 && verb->second_is_number
						    ? number(argv[i])
						    : json_object_new_string(argv[i]);

		if (!value) {
			wrong = "not the number of an export: ";
			what = argv[i];
		}
		json_object_object_add(request, verb->members[i], value);
	}
	if (o->reset)
		json_object_object_add(request, "reset", json_object_new_boolean(true));
	if (!wrong)
		return request;
	usage_error(wrong, what);
	json_object_put(request);
	return NULL;
}

static int ask_and_show(const struct verb *verb, const struct options *o,
			struct json_object *request)
{
	struct json_object *answer, *value;
	char error[512] = "";
	bool ok;

	answer = client_ask(o->socket, request, TIMEOUT_S, error, sizeof(error));
	if (!answer) {
		fprintf(stderr, "ractl: %s\n", error);
		return EXIT_REFUSED;
	}
	ok = json_object_object_get_ex(answer, "ok", &value) && json_object_get_boolean(value);
	if (o->json) {
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	} else if (ok) {
		verb->show(answer);
	} else {
		const char *text = json_object_object_get_ex(answer, "error", &value)
					   ? json_object_get_string(value)
					   : "refused without a reason";

		fprintf(stderr, "ractl: %s\n", text);
	}
	json_object_put(answer);
	if (fflush(stdout)) {
		fprintf(stderr, "ractl: cannot write: %s\n", strerror(errno));
		return EXIT_REFUSED;
	}
	return ok ? EXIT_DONE : EXIT_REFUSED;
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"reset", no_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {.socket = CLIENT_SOCKET};
	struct json_object *request;
	const struct verb *verb;
	int option, status;

	while ((option = getopt_long(argc, argv, "s:jh", long_options, NULL)) != -1) {
		switch (option) {
		case 's':
			o.socket = optarg;
			break;
		case 'j':
			o.json = true;
			break;
		case 'r':
			o.reset = true;
			break;
		case 'h':
			usage(stdout);
			return EXIT_DONE;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind >= argc)
		return usage_error("no command", "");
	verb = verb_find(argv[optind]);
	if (!verb)
		return usage_error("no such command: ", argv[optind]);
	request = request_of(verb, &o, argc - optind - 1, argv + optind + 1);
	if (!request)
		return EXIT_USAGE;
	status = ask_and_show(verb, &o, request);
	json_object_put(request);
	return status;
}
