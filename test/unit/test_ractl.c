/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ractl, the program, against the channel's server over a made-up host: what it prints, what it
 * refuses, its exit status. The host's numbers are set before the server starts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_cmocka.h"

#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "common/log.h"
#include "common/trace.h"
#include "control/commands.h"
#include "fake_host.h"

static struct {
	char dir[64], path[96];
	struct control *control;
	char output[65536];
} place;

static void keep_quiet(enum log_level level, const char *format, va_list args)
{
}

static void keep_line(const char *line)
{
}

static int set_up(void **state)
{
	memset(&place, 0, sizeof(place));
	snprintf(place.dir, sizeof(place.dir), "/tmp/ra-ractl-XXXXXX");
	assert_non_null(mkdtemp(place.dir));
	snprintf(place.path, sizeof(place.path), "%s/ra.sock", place.dir);
	log_set_writer(keep_quiet);
	fake_host_reset();
	return 0;
}

static void serve(void)
{
	struct control_settings settings = {.path = place.path,
					    .group = (gid_t)-1,
					    .peers = 4,
					    .timeout_ms = 10000,
					    .commands = commands_start(&host),
					    .log = keep_line,
					    .tick = commands_tick,
					    .released = commands_released};

	assert_int_equal(control_start(&settings, &place.control), 0);
}

static int tear_down(void **state)
{
	control_stop(place.control);
	unlink(place.path);
	assert_int_equal(rmdir(place.dir), 0);
	return 0;
}

/* Runs ractl with ARGUMENTS; what it printed is in place.output. Returns its exit status. */
static int ractl(const char *arguments)
{
	char command[512];
	FILE *output;
	size_t n;
	int status;

	snprintf(command, sizeof(command), "%s --socket %s %s 2>&1", RACTL, place.path, arguments);
	output = popen(command, "r");
	assert_non_null(output);
	n = fread(place.output, 1, sizeof(place.output) - 1, output);
	place.output[n] = '\0';
	status = pclose(output);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void assert_prints(const char *part)
{
	if (!strstr(place.output, part))
		fail_msg("\"%s\" is not in:\n%s", part, place.output);
}

static void test_status(void **state)
{
	world.export[1].pending = 17;
	serve();
	assert_int_equal(ractl("status"), 0);
	assert_prints("FSAL RA ");
	assert_prints("Ganesha FSAL API 11.0");
	assert_prints(
		"EXPORT  PENDING  HEURISTIC\n     7        0  cursor\n     8       17  cursor\n");
}

static void test_status_after_an_update(void **state)
{
	world.plugin_file = "replaced";
	serve();
	assert_int_equal(ractl("status"), 0);
	assert_prints("was installed since: it is used from the server's next start on\n");
}

static void test_nothing_there(void **state)
{
	world.devices = world.exports = 0;
	serve();
	assert_int_equal(ractl("status"), 0);
	assert_prints("no exports");
	assert_int_equal(ractl("devices"), 0);
	assert_prints("no device is in use");
	assert_int_equal(ractl("prices"), 0);
	assert_prints("no device is in use");
}

static void test_devices(void **state)
{
	struct dispatcher_stats *q = &world.device[0].queue;

	q->queued[SCHED_WRITEBACK] = 12345;
	q->chunk = 6 << 20;
	q->cost.ns_per_byte = 8; /* 125 MB/s */
	q->cost.seek_ns = 9.5e6;
	serve();
	assert_int_equal(ractl("devices"), 0);
	assert_prints("12345");
	assert_prints("125.0");
	assert_prints("9.5");
	assert_prints("6144\n");
}

static void test_changes(void **state)
{
	serve();
	assert_int_equal(ractl("scheduler fifo 4095:1"), 0);
	assert_prints("4095:1  -     turns   fifo\n");
	assert_int_equal(ractl("heuristic off 8"), 0);
	assert_prints("off for 1 export\n");
	assert_int_equal(ractl("heuristic always"), 0);
	assert_prints("always for 2 exports\n");
	control_stop(place.control);
	place.control = NULL;
	assert_string_equal(world.device[0].queue.policy->name, "turns");
	assert_string_equal(world.device[1].queue.policy->name, "fifo");
}

static void test_prices(void **state)
{
	world.price[0] = (struct device_price_facts){
		.age = 412 * CLOCK_MS,
		.length = 6,
		.saturation = 8,
		.snapshot = {.write = 0.309,
			     .write_by = PRICE_DISK,
			     .readahead = 0.309,
			     .readahead_by = PRICE_DISK,
			     .unknown = 1u << PRICE_NETWORK,
			     .utilization = {0.2, 0, 0.75, 0.1},
			     .price = {0, 0, 0.309, 0.1}},
	};
	world.client_prices = 2;
	world.client_price[0] = (struct client_price_facts){.client = 205,
							    .weight = 100,
							    .use = 0.8,
							    .entitled = 0.5,
							    .ratio = 1.5,
							    .write = 0.7};
	world.client_price[1] = (struct client_price_facts){
		.client = 6, .of_export = true, .export_id = 7, .weight = 50, .write = 0.1};
	serve();
	assert_int_equal(ractl("prices"), 0);
	assert_prints("10.0.2.5       -     100  0.800  0.500  1.500  0.700       0.000\n");
	assert_prints("10.0.0.6       7      50  0.000  0.000  0.000  0.100       0.000\n");
	assert_prints("412 ms ago: writes 0.309 (disk), read-ahead 0.309 (disk)\n");
	assert_prints("disk            0.750  0.309  30\n");
	assert_prints("requests waiting and under way: 6.0, saturated at 8\n");
	assert_prints("the use of the network cannot be measured here: it costs nothing\n");
	assert_prints("device 4095:1 (-): no prices yet\n");
	assert_prints("no FSSTAT yet\n");
}

static void test_stats(void **state)
{
	world.counted[READAHEAD_READS] = 4711;
	world.writing.dirty_budget = 77;
	serve();
	assert_int_equal(ractl("stats --reset"), 0);
	assert_prints("4711\n");
	assert_prints("dirty_budget_bytes");
	assert_prints("; reset now\n");
	assert_int_equal(ractl("stats"), 0);
	assert_null(strstr(place.output, "4711"));
	assert_int_equal(ractl("--json stats"), 0);
	assert_int_equal(place.output[0], '{');
}

static void test_shares(void **state)
{
	serve();
	assert_int_equal(ractl("shares"), 0);
	assert_prints("RULE  WEIGHT  FLOOR MB/s  req/s   time  CEILING MB/s  req/s  time  BY"
		      "             CLIENTS\n");
	assert_prints("   0     100           -      -      -             -      -     -  "
		      "configuration  all others\n");
	assert_prints("   1     200           -      -  0.050          40.0      -     -  "
		      "operator       10.1.2.3\n");
	assert_prints("no export has a share of its own");
	assert_int_equal(ractl("share client 10.1.2.3 Weight 55"), 0);
	assert_prints("   1      55 ");
	assert_int_equal(ractl("share export 7 Weight 66"), 0);
	assert_prints("EXPORT  WEIGHT");
	assert_prints("     7      66 ");
	assert_int_equal(ractl("share export 7 Floor 66"), 1);
	assert_prints("Floor of that export cannot be");
}

static void test_wrong_usage(void **state)
{
	static const char *const wrong[][2] = {
		{"", "no command"},
		{"reboot", "no such command: reboot"},
		{"scheduler", "missing argument: NAME [DEVICE]"},
		{"status x", "too many arguments: x"},
		{"heuristic off x7", "not the number of an export: x7"},
		{"heuristic off -7", "usage"},
		{"devices --reset", "--reset is for stats"},
		{"stats --follow", "--follow and --events are for trace"},
		{"stats --events plan", "--follow and --events are for trace"},
		{"--frob", "usage"},
		{"stats --interval 1", "--interval, --by and --sort are for clients and top"},
		{"clients --batch", "--batch and -n are for top"},
		{"top --interval 0.01", "--interval is 0.1 to 3600 s, not 0.01"},
		{"top --interval nan", "--interval is 0.1 to 3600 s, not nan"},
		{"top -n 0", "-n is 1 to 1000000000, not 0"},
		{"top --by name", "--by is client, export, device, flow or file, not name"},
		{"clients --sort name", "--sort is share, bandwidth, iops or latency, not name"},
		{"top x", "too many arguments: x"},
		{"share client 10.1.2.3 Weight", "share takes: client ADDRESS|RULE, or export ID"},
		{"share all 7 Weight 5", "share takes: client ADDRESS|RULE, or export ID"},
		{"share export x7 Weight 5", "not the number of an export"},
		{"share export 7 Weight much", "VALUE is not a number"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(ractl(wrong[i][0]), 2);
		assert_prints(wrong[i][1]);
	}
	assert_int_equal(ractl("--help"), 0);
	assert_prints("trace");
}

static void test_refused(void **state)
{
	static const char *const wrong[][2] = {
		{"scheduler lift", "scheduler \"lift\" is none of fifo"},
		{"scheduler fifo 9:99", "device \"9:99\" is none of 4095:0"},
		{"heuristic off 9", "no export 9"},
		{"trace --events guess", "event \"guess\" is none of observe"},
		{"--socket /tmp status", "nobody listens"},
		{"--socket /tmp/no/ra.sock status", "no server: /tmp/no/ra.sock does not exist"},
	};
	char path[256] = "--socket /";

	serve();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(ractl(wrong[i][0]), 1);
		assert_prints(wrong[i][1]);
	}
	memset(path + strlen(path), 'x', 150);
	strcat(path, " status");
	assert_int_equal(ractl(path), 1);
	assert_prints("longer than 107 bytes");
	assert_int_equal(ractl("--json scheduler lift"), 1);
	assert_prints("\"ok\":false");
	assert_int_equal(ractl("status 3>&1 >/dev/full 2>&3 #"), 1);
	assert_prints("cannot write");
}

/* As soon as somebody follows, the ring is on, and what is noted from then on is printed. */
static void follow(const char *options, const char *const *parts, size_t n)
{
	char command[512];
	FILE *output;

	serve();
	snprintf(command, sizeof(command), "%s --socket %s %s trace --follow 2>&1", RACTL,
		 place.path, options);
	output = popen(command, "r");
	assert_non_null(output);
	while (!atomic_load(&trace_on))
		sched_yield();
	trace(TRACE_PLAN, 1234, 0, 0, 8 << 20, 0, 8 << 20);
	trace(TRACE_TURN, 77, 0, 4096, 12, 820, 5);
	for (size_t i = 0; i < n; i++) {
		do /* of JSON the first answer may have nothing yet */
			assert_non_null(fgets(place.output, sizeof(place.output), output));
		while (strstr(place.output, "\"records\":[]"));
		assert_prints(parts[i]);
	}
	control_stop(place.control);
	place.control = NULL;
	assert_false(atomic_load(&trace_on)); /* its peer is gone */
	while (fgets(place.output, sizeof(place.output), output))
		;
	assert_prints("the server closed");
	assert_int_equal(WEXITSTATUS(pclose(output)), 1);
}

static void test_follow(void **state)
{
	static const char *const lines[] = {
		"plan     file 1234                 offset=0 length=8388608 ahead=0 "
		"window=8388608\n",
		"turn     file 77                   bytes=4096 lasted_us=12 slice_us=820 "
		"error=5\n",
	};

	follow("", lines, 2);
}

static void test_follow_events(void **state)
{
	static const char *const lines[] = {" turn "};

	follow("--events turn,price", lines, 1);
}

static void test_follow_json(void **state)
{
	static const char *const lines[] = {"\"event\":\"plan\""};

	follow("--json", lines, 1);
}

/* ---- clients and top -------------------------------------------------------------------- */

static void add_flows(void)
{
	world.flows[0] = 2;
	for (unsigned int i = 0; i < 2; i++)
		world.flow[0][i] = (struct flow_stats){
			.id = {.client = 17 + i, .export_id = 7},
			.weight = 100,
			.group_weight = 100,
			.backlogged = true,
			.queued = {3},
			.served = {[SCHED_DEMAND] = 4},
			.disk_time = {[SCHED_DEMAND] = (i + 1) * CLOCK_SECOND},
			.behind = {.client = 18, .export_id = 7},
			.behind_time = CLOCK_SECOND,
		};
}

static void test_clients(void **state)
{
	add_flows();
	serve();
	assert_int_equal(ractl("clients"), 0);
	assert_prints("flows by share, since the start, 2 flows");
	assert_prints("10.0.0.18            7 4095:0 ");
	assert_prints("10.0.0.18 7\n");
	assert_int_equal(ractl("clients --by export --sort iops"), 0);
	assert_prints("     7       2 ");
	assert_int_equal(ractl("clients --json"), 0);
	assert_prints("\"client_number\":17,"); /* the server's answer */
	assert_int_equal(ractl("clients --json --interval 0.1"), 0);
	assert_prints("\"from_start\":false,");
	assert_prints("\"rows\":[{\"client\":\"10.0.0.17\",\"export\":7,\"device\":\"4095:0\"");
}

/* Who may write in the directory of the output cannot have another file written by a link. */
static void test_output_follows_no_link(void **state)
{
	char aim[128], link[128], out[128], arguments[160];
	struct stat st;

	snprintf(aim, sizeof(aim), "%s/aim", place.dir);
	snprintf(out, sizeof(out), "%s/out", place.dir);
	snprintf(link, sizeof(link), "%s/out.new", place.dir);
	assert_int_equal(mknod(aim, S_IFREG | 0600, 0), 0);
	assert_int_equal(symlink(aim, link), 0);
	serve();
	snprintf(arguments, sizeof(arguments), "metrics --output %s", out);
	assert_int_equal(ractl(arguments), 0);
	assert_int_equal(stat(aim, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(lstat(out, &st), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size > 0 && (st.st_mode & 0777) == 0644);
	assert_int_equal(lstat(link, &st), -1);
	unlink(aim);
	unlink(out);
}

static void test_batch(void **state)
{
	add_flows();
	serve();
	assert_int_equal(ractl("top --batch -n 1 --interval 0.1"), 0);
	assert_prints("  clients by share, ");
	assert_prints("\n10.0.0.18 ");
	assert_int_equal(ractl("top -n 1 --interval 0.1 --by flow"), 0);
	assert_prints("ractl: not a terminal: going on as with --batch\n");
	assert_prints("  flows by share, ");
	assert_int_equal(ractl("--json top -n 1 --interval 0.1"), 0);
	assert_int_equal(place.output[0], '{');
	assert_int_equal(ractl("top --batch -n 1 --interval 0.1 3>&1 >/dev/full 2>&3 #"), 1);
	assert_prints("cannot write");
	control_stop(place.control);
	place.control = NULL;
	assert_int_equal(ractl("top --batch"), 1);
	assert_prints("no server");
}

/* `ractl top` on a terminal of its own. */
struct live {
	pid_t pid;
	int fd;
	struct termios before;
	size_t seen; /* of place.output */
};

static void live_start(struct live *l, const char *interval)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	int inner;

	assert_int_equal(openpty(&l->fd, &inner, NULL, NULL, &size), 0);
	assert_int_equal(tcgetattr(inner, &l->before), 0);
	l->pid = fork();
	assert_true(l->pid >= 0);
	if (l->pid == 0) {
		login_tty(inner);
		setenv("TERM", "xterm", 1);
		execl(RACTL, "ractl", "--socket", place.path, "top", "--interval", interval, NULL);
		_exit(127);
	}
	close(inner);
	place.output[0] = '\0';
	l->seen = 0;
}

/* Reads what it shows until PART is there; what came before and with it is forgotten next time. */
static void live_until(struct live *l, const char *part)
{
	char *found, *rest = place.output + l->seen;
	size_t n = strlen(rest);

	memmove(place.output, rest, n + 1);
	while (!(found = strstr(place.output, part))) {
		ssize_t got = read(l->fd, place.output + n, sizeof(place.output) - 1 - n);

		if (got <= 0)
			fail_msg("\"%s\" is not in:\n%s", part, place.output);
		n += (size_t)got;
		place.output[n] = '\0';
	}
	l->seen = (size_t)(found - place.output) + strlen(part);
}

static void live_type(struct live *l, const char *keys)
{
	assert_int_equal(write(l->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* It has ended, and the terminal is as it was. Returns its status. */
static int live_end(struct live *l)
{
	struct termios after;
	int status;

	live_until(l, "\033[?25h\033[?1049l");
	assert_int_equal(waitpid(l->pid, &status, 0), l->pid);
	assert_int_equal(tcgetattr(l->fd, &after), 0);
	assert_int_equal(after.c_lflag, l->before.c_lflag);
	close(l->fd);
	return status;
}

static void test_live(void **state)
{
	struct winsize size = {.ws_row = 12, .ws_col = 60};
	struct live l;

	add_flows();
	serve();
	live_start(&l, "3600");
	live_until(&l, "q quit");
	assert_prints("\033[?1049h");
	assert_prints("clients by share, since the start");
	assert_prints("10.0.0.18 ");
	live_type(&l, "\033[A"); /* an arrow is no key of ours */
	live_type(&l, "el");
	live_until(&l, "exports by latency");
	live_until(&l, "q quit");
	assert_int_equal(ioctl(l.fd, TIOCSWINSZ, &size), 0);
	live_until(&l, "p99ms\033[K");
	live_type(&l, "q");
	assert_int_equal(live_end(&l), 0);
}

static void test_live_is_stopped_and_goes_on(void **state)
{
	struct termios after;
	struct live l;
	int status;

	serve();
	live_start(&l, "3600");
	live_until(&l, "q quit");
	kill(l.pid, SIGTSTP);
	live_until(&l, "\033[?25h\033[?1049l");
	assert_int_equal(waitpid(l.pid, &status, WUNTRACED), l.pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(tcgetattr(l.fd, &after), 0);
	assert_int_equal(after.c_lflag, l.before.c_lflag);
	kill(l.pid, SIGCONT);
	live_until(&l, "\033[?1049h");
	live_until(&l, "q quit");
	live_type(&l, "q");
	assert_int_equal(live_end(&l), 0);
}

static void test_live_is_ended(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct live l;
	int status;

	serve();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		live_start(&l, "3600");
		live_until(&l, "q quit");
		kill(l.pid, signals[i]);
		status = live_end(&l);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
	}
	live_start(&l, "0.1");
	live_until(&l, "q quit");
	control_stop(place.control);
	place.control = NULL;
	status = live_end(&l);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(test_status),
		WITH_PLACE(test_status_after_an_update),
		WITH_PLACE(test_nothing_there),
		WITH_PLACE(test_devices),
		WITH_PLACE(test_changes),
		WITH_PLACE(test_prices),
		WITH_PLACE(test_stats),
		WITH_PLACE(test_shares),
		WITH_PLACE(test_wrong_usage),
		WITH_PLACE(test_refused),
		WITH_PLACE(test_follow),
		WITH_PLACE(test_follow_events),
		WITH_PLACE(test_follow_json),
		WITH_PLACE(test_output_follows_no_link),
		WITH_PLACE(test_clients),
		WITH_PLACE(test_batch),
		WITH_PLACE(test_live),
		WITH_PLACE(test_live_is_ended),
		WITH_PLACE(test_live_is_stopped_and_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
