/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ractl: the operator's command line to a running server. It turns arguments into a request and
 * shows the answer; which names are right is the server's knowledge, and comes in its answer.
 *
 * `trace` asks again and again on one connection: the server traces as long as that lasts. `clients`
 * and `top` compare two answers (top.h).
 *
 * Exit status: 0 done, 1 refused or no answer, 2 wrong usage.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "control/client.h"
#include "control/local.h"
#include "control/options.h"
#include "control/show.h"
#include "control/top.h"

#define TIMEOUT_S 10
/* Between two looks at the decisions, and the time that one look alone takes. */
#define TRACE_PAUSE_MS 50
#define TRACE_TIME_MS  1000

enum { EXIT_DONE, EXIT_REFUSED, EXIT_USAGE };

#define INTERVAL_DEFAULT 1000 /* ms, of top */

struct verb {
	const char *name;
	const char *arguments; /* for the help */
	const char *help;
	void (*show)(struct json_object *answer);
	/* The request's members that the arguments become, so many of them required. */
	const char *members[3];
	int required;
	bool second_is_number;
	bool is_trace, is_share, is_metrics, is_advise;
	bool subject;	    /* the argument is a file or, by its address, a client */
	unsigned int takes; /* TAKES_... */
	bool (*compare)(const struct top_options *o); /* two answers, in place of showing one */
};

static const struct verb verbs[] = {
	{"status", "", "versions, uptime, exports", show_status},
	{"devices", "", "the devices' queues", show_devices},
	{"scheduler",
	 "NAME [DEVICE]",
	 "change the policy of a device, or of all",
	 show_scheduler,
	 {"name", "device"},
	 1},
	{"heuristic",
	 "NAME [EXPORT]",
	 "change the heuristic of an export, or of all",
	 show_heuristic,
	 {"name", "export"},
	 1,
	 true},
	{"files", "", "files read lately, and what is fetched ahead of them", show_files},
	{"cursors",
	 "FILE",
	 "its streams: by inode number or path",
	 show_cursors,
	 {"file"},
	 1,
	 .subject = true},
	{"explain",
	 "FILE|CLIENT",
	 "in words: why it is fetched ahead or not, or waits",
	 show_explain,
	 {"file"},
	 1,
	 .subject = true},
	{"get", "[NAME]", "parameters: now, in the file, by default", show_get, {"name"}},
	{"set",
	 "NAME VALUE [EXPORT|DEVICE]",
	 "change one on the running server",
	 show_set,
	 {"name", "value", "of"},
	 2},
	{"diff", "", "parameters that differ from file or default", show_diff},
	{"prices", "", "what the resources cost, and what FSSTAT says of it", show_prices},
	{"stats", "[--reset]", "counters since the start or the last reset", show_stats,
	 .takes = TAKES_RESET},
	{"clients", "[--interval S] [--by WHAT] [--sort WHAT]", "who uses the devices",
	 .takes = TAKES_ROWS | TAKES_INTERVAL | TAKES_BY, .compare = top_clients},
	{"top", "[--batch] [-n N] [as clients]", "the same, live",
	 .takes = TAKES_ROWS | TAKES_INTERVAL | TAKES_BY | TAKES_BATCH, .compare = top_live},
	{"shares", "", "weights, floors and ceilings in force", show_shares},
	{"share", "client|export WHICH KEY VALUE", "change one of them", show_shares,
	 .is_share = true},
	{"metrics", "[--output FILE] [--clients N]", "for Prometheus: text, also into a file", NULL,
	 .takes = TAKES_OUTPUT | TAKES_CLIENTS, .is_metrics = true},
	{"advise", "[--root DIR]", "what one would change on this machine; changes nothing", NULL,
	 .takes = TAKES_ROOT, .is_advise = true},
	{"trace",
	 "[FILE|CLIENT] [--follow] [--events NAME,...]",
	 "decisions as they are taken",
	 show_trace,
	 {"file"},
	 .takes = TAKES_TRACE,
	 .is_trace = true,
	 .subject = true},
};

static void usage(FILE *out)
{
	fprintf(out, "usage: ractl [--socket PATH] [--json] COMMAND\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-10s %-40s %s\n", verbs[i].name, verbs[i].arguments,
			verbs[i].help);
	fprintf(out,
		"  --socket PATH  where the server listens (%s)\n"
		"  --json         the server's answer as it is; of clients and top the rows\n"
		"  --interval S   compare two answers, 0.1 to 3600 s apart (top: 1)\n"
		"  --by WHAT      client, export, device, flow (client and export) or file\n"
		"  --sort WHAT    share, bandwidth, iops or latency\n"
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

/* share client|export WHO KEY VALUE: adds the members to REQUEST; NULL, or what is wrong. */
static const char *share_members(struct json_object *request, int argc, char **argv)
{
	bool client = argc > 0 && !strcmp(argv[0], "client");
	struct json_object *who = argc == 4 && !client ? number(argv[1]) : NULL;
	struct json_object *value = argc == 4 ? number(argv[3]) : NULL;

	if (client && argc == 4)
		who = json_object_new_string(argv[1]);
	if (who)
		json_object_object_add(request, argv[0], who);
	if (value)
		json_object_object_add(request, "value", value);
	if (argc != 4 || (!client && strcmp(argv[0], "export")))
		return "share takes: client ADDRESS|RULE, or export ID; and KEY VALUE";
	if (!who)
		return "not the number of an export";
	json_object_object_add(request, "key", json_object_new_string(argv[2]));
	return value ? NULL : "VALUE is not a number";
}

/* A path's file is the inode that it leads to; what holds a dot or colon, and no slash, a client. */
static const char *add_subject(struct json_object *request, const char *text)
{
	struct stat st;

	if (text[0] == '/' || text[0] == '.') {
		if (stat(text, &st))
			return "no such file: ";
		json_object_object_add(request, "file",
				       json_object_new_uint64(st.st_ino & INT64_MAX));
		if (major(st.st_dev) ==
		    0) /* no disk's: the server knows what it calls such files */
			json_object_object_add(request, "dev", json_object_new_uint64(st.st_dev));
	} else if (strpbrk(text, ".:")) {
		json_object_object_add(request, "client", json_object_new_string(text));
	} else {
		struct json_object *file = number(text);

		if (!file)
			return "neither a path, an inode number nor an address: ";
		json_object_object_add(request, "file", file);
	}
	return NULL;
}

/* The Ith argument; NULL, or what is wrong with it. */
static const char *add_member(struct json_object *request, const struct verb *verb, int i,
			      const char *text)
{
	struct json_object *value;

	if (verb->subject)
		return add_subject(request, text);
	value = i == 1 && verb->second_is_number ? number(text) : json_object_new_string(text);
	if (!value)
		return "not the number of an export: ";
	json_object_object_add(request, verb->members[i], value);
	return NULL;
}

/* The request of VERB with ARGC arguments, or NULL after a message. */
static struct json_object *request_of(const struct verb *verb, const struct options *o, int argc,
				      char **argv)
{
	struct json_object *request = json_object_new_object();
	int most = 0;
	const char *wrong = NULL, *what = "";

	while (most < 3 && verb->members[most])
		most++;
	json_object_object_add(request, "command", json_object_new_string(verb->name));
	if (verb->is_share) {
		wrong = share_members(request, argc, argv);
		argc = 0;
	} else if (argc > most) {
		wrong = "too many arguments: ";
		what = argv[most];
	} else if (argc < verb->required) {
		wrong = "missing argument: ";
		what = verb->arguments;
	}
	if (!wrong && o->given & ~verb->takes)
		wrong = options_only_for(o->given & ~verb->takes);
	for (int i = 0; i < argc && !wrong; i++) {
		wrong = add_member(request, verb, i, argv[i]);
		what = argv[i];
	}
	if (o->reset)
		json_object_object_add(request, "reset", json_object_new_boolean(true));
	if (o->clients)
		json_object_object_add(request, "clients", json_object_new_uint64(o->clients));
	if (o->events)
		json_object_object_add(request, "events", json_object_new_string(o->events));
	if (!wrong)
		return request;
	usage_error(wrong, what);
	json_object_put(request);
	return NULL;
}

/* Shows ANSWER, which it puts; false when it is a refusal, or could not be shown. */
static bool show(const struct verb *verb, const struct options *o, struct json_object *answer)
{
	struct json_object *value;
	bool ok = json_object_object_get_ex(answer, "ok", &value) && json_object_get_boolean(value);

	if (o->json) {
		puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN));
	} else if (ok && verb->is_metrics) {
		ok = local_metrics(answer, o->output);
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
		return false;
	}
	return ok;
}

static bool ask_and_show(struct client *c, const struct verb *verb, const struct options *o,
			 struct json_object *request)
{
	struct json_object *answer = client_ask(c, request);

	if (answer)
		return show(verb, o, answer);
	fprintf(stderr, "ractl: %s\n", c->error);
	return false;
}

/* How many records ANSWER has; the next request goes on from the last of them. */
static size_t go_on_from(struct json_object *request, struct json_object *answer)
{
	struct json_object *last, *records;

	if (json_object_object_get_ex(answer, "last", &last))
		json_object_object_add(request, "after", json_object_get(last));
	return json_object_object_get_ex(answer, "records", &records)
		       ? json_object_array_length(records)
		       : 0;
}

/* The first answer says from where on, or that it is refused; then only what is new is shown. */
static bool trace(struct client *c, const struct verb *verb, const struct options *o,
		  struct json_object *request)
{
	const struct timespec pause = {.tv_nsec = TRACE_PAUSE_MS * 1000000L};
	struct json_object *answer = client_ask(c, request);
	int ms = 0;

	while (answer) {
		size_t records = go_on_from(request, answer);

		if (ms == 0 || records) {
			if (!show(verb, o, answer))
				return false;
		} else {
			json_object_put(answer);
		}
		if (ms >= TRACE_TIME_MS && !o->follow)
			return true;
		nanosleep(&pause, NULL);
		ms = o->follow ? 1 : ms + TRACE_PAUSE_MS;
		answer = client_ask(c, request);
	}
	fprintf(stderr, "ractl: %s\n", c->error);
	return false;
}

static bool compare(const struct verb *verb, const struct options *o)
{
	struct top_options top = o->top;

	top.socket = o->socket;
	top.timeout_s = TIMEOUT_S;
	top.json = o->json;
	if (!(o->given & TAKES_BY) && !(verb->takes & TAKES_BATCH))
		top.by = ROWS_FLOW;
	if (!(verb->takes & TAKES_BATCH))
		return verb->compare(&top);
	if (!(o->given & TAKES_INTERVAL))
		top.interval = INTERVAL_DEFAULT;
	return o->batch || o->json ? top_batch(&top) : verb->compare(&top);
}

/* The server may be away: then it is the machine alone. */
static bool advise_machine(const struct options *o)
{
	struct client c;
	bool server = client_open(&c, o->socket, TIMEOUT_S);
	bool done = local_advise(server ? &c : NULL, o->root ? o->root : "", o->json);

	if (server)
		client_close(&c);
	return done;
}

/* The exit status. */
static int carry_out(const struct verb *verb, const struct options *o, struct json_object *request)
{
	struct client c;
	bool done;

	if (verb->compare && (o->given & TAKES_INTERVAL || !o->json || verb->takes & TAKES_BATCH))
		return compare(verb, o) ? EXIT_DONE : EXIT_REFUSED;
	if (verb->is_advise)
		return advise_machine(o) ? EXIT_DONE : EXIT_REFUSED;
	if (!client_open(&c, o->socket, TIMEOUT_S)) {
		fprintf(stderr, "ractl: %s\n", c.error);
		return EXIT_REFUSED;
	}
	done = verb->is_trace ? trace(&c, verb, o, request) : ask_and_show(&c, verb, o, request);
	client_close(&c);
	return done ? EXIT_DONE : EXIT_REFUSED;
}

int main(int argc, char **argv)
{
	struct options o = {.socket = CLIENT_SOCKET};
	enum options_read options = options_parse(&o, argc, argv);
	struct json_object *request;
	const struct verb *verb;
	int status;

	if (options == OPTIONS_WRONG && o.wrong)
		return usage_error(o.wrong, o.argument);
	if (options != OPTIONS_READ) {
		usage(options == OPTIONS_HELP ? stdout : stderr);
		return options == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
	}
	if (optind >= argc)
		return usage_error("no command", "");
	verb = verb_find(argv[optind]);
	if (!verb)
		return usage_error("no such command: ", argv[optind]);
	request = request_of(verb, &o, argc - optind - 1, argv + optind + 1);
	if (!request)
		return EXIT_USAGE;
	status = carry_out(verb, &o, request);
	json_object_put(request);
	return status;
}
