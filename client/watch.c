/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One mount. See watch.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "common/log.h"
#include "watch.h"

/* ---- in threads -------------------------------------------------------------------------- */

static void take_reply(struct watch *w)
{
	FILE *file = fopen(w->settings->replies, "re");

	w->reply.error = file ? 0 : errno;
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &w->reply.total, &w->reply.avail) != 2)
		w->reply.error = EINVAL;
	fclose(file);
}

static void ask(void *arg)
{
	struct watch *w = arg;
	struct statfs fs;

	if (w->settings->replies) {
		take_reply(w);
		return;
	}
	w->reply.error = statfs(w->path, &fs) ? errno : 0;
	if (!w->reply.error && fs.f_type != NFS_SUPER_MAGIC)
		w->reply.error = ENODEV; /* unmounted just now */
	w->reply.total = fs.f_files;
	w->reply.avail = fs.f_ffree;
}

static void push(void *arg)
{
	struct watch *w = arg;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", w->settings->root, w->path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	w->push_error = fd < 0 || syncfs(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
}

int watch_init(struct watch *w, const struct watch *all, const char *path, const struct settings *s,
	       struct machine *m, int wake)
{
	int err;

	memset(w, 0, sizeof(*w));
	w->all = all;
	w->path = path;
	w->settings = s;
	w->machine = m;
	w->ratio_set = w->readahead_set = -1;
	err = async_call_init(&w->ask, ask, w, wake);
	return err ? err : async_call_init(&w->push, push, w, wake);
}

/* ---- what is mounted --------------------------------------------------------------------- */

const char *watch_mount_error(const struct watch *w, char *text, size_t size)
{
	switch (w->mount.kind) {
	case MOUNT_NFS3:
		return NULL;
	case MOUNT_NFS4:
		snprintf(text, size, "%s: is NFS of another version: prices need vers=3", w->path);
		return text;
	case MOUNT_OTHER:
		snprintf(text, size, "%s: is %s, not NFS", w->path, w->mount.type);
		return text;
	default:
		snprintf(text, size, "%s: nothing is mounted there", w->path);
		return text;
	}
}

static void news(struct watch *w, enum news n)
{
	static const char *const text[] = {
		[NEWS_BELIEVED] = "the server states prices",
		[NEWS_NO_PRICES] = "the server states no prices",
		[NEWS_NO_ANSWER] = "no answer",
	};
	char error[256];

	if (n == w->news)
		return;
	w->news = n;
	if (n == NEWS_NOT_MOUNTED)
		log_line(LOG_LEVEL_EVENT, "%s", watch_mount_error(w, error, sizeof(error)));
	else if (n == NEWS_BELIEVED)
		log_line(LOG_LEVEL_EVENT, "%s: %s: write %.3g, read-ahead %.3g", w->path, text[n],
			 w->detector.prices.write, w->detector.prices.readahead);
	else
		log_line(LOG_LEVEL_EVENT, "%s: %s", w->path, text[n]);
}

/* Mounts of one export have their knobs in common: those belong to the mount that came first. */
static const struct watch *owner_of_knobs(const struct watch *w)
{
	for (const struct watch *o = w->all; o < w->all + w->settings->mount_count; o++)
		if (o != w && o->owns && strcmp(o->mount.device, w->mount.device) == 0)
			return o;
	return NULL;
}

static void claim_knobs(struct watch *w)
{
	const char *root = w->settings->root;

	if (w->owns || w->mount.kind != MOUNT_NFS3 || owner_of_knobs(w))
		return;
	w->owns = true;
	knob_init(&w->ratio, root, "/sys/class/bdi/%s/min_ratio", w->mount.device);
	knob_init(&w->readahead, root, "/sys/class/bdi/%s/read_ahead_kb", w->mount.device);
}

/*
 * Another mount: what we knew was of the one before. Its knobs went with it, unless another mount
 * of the same export is still there.
 */
static void adopt_mount(struct watch *w, const struct mount *m, double now)
{
	const struct watch *owner;

	knob_restore(&w->ratio);
	knob_restore(&w->readahead);
	w->ratio.path[0] = w->readahead.path[0] = '\0';
	w->mount = *m;
	w->detector = (struct fsstat_detector){0};
	w->decision = (struct decision){0};
	w->answered = now;
	w->ratio_set = w->readahead_set = -1;
	w->push_told = w->owns = false;
	owner = m->kind == MOUNT_NFS3 ? owner_of_knobs(w) : NULL;
	if (owner)
		log_line(LOG_LEVEL_EVENT, "%s: has its knobs in common with %s, whose they are",
			 w->path, owner->path);
}

void watch_look(struct watch *w, double now)
{
	char path[KNOB_PATH];
	struct mount m;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", w->settings->root);
	if (mount_find(path, w->path, &m) != 0)
		return;
	if (m.id != w->mount.id || m.kind != w->mount.kind ||
	    strcmp(m.device, w->mount.device) != 0)
		adopt_mount(w, &m, now);
	claim_knobs(w);
}

/* ---- acting ------------------------------------------------------------------------------ */

/* Says why a knob cannot be used, and uses it no more. */
static void give_up(struct watch *w, struct knob *k)
{
	log_line(LOG_LEVEL_EVENT, "%s: %s: %s: not used", w->path, k->path, strerror(k->error));
	k->path[0] = '\0';
	k->held = false;
}

/* Turns a knob, or puts it back (-1). SET: what we want of it. */
static void turn(struct watch *w, struct knob *k, int64_t *set, int64_t value, const char *why)
{
	const char *name = strrchr(k->path, '/'), *would = w->settings->dry_run ? "would " : "";

	if (*set == value || !name)
		return;
	name++;
	*set = value;
	if (value < 0) {
		if (w->settings->dry_run || knob_restore(k))
			log_line(LOG_LEVEL_EVENT, "%s: %s as it was", w->path, name);
		else
			log_line(LOG_LEVEL_EVENT, "%s: %s stays as it is: %s", w->path, name,
				 k->error == EBUSY ? "somebody else has turned it"
						   : strerror(k->error));
		return;
	}
	log_line(LOG_LEVEL_EVENT, "%s: %s: %sset %s to %" PRIi64, w->path, why, would, name, value);
	if (w->settings->dry_run)
		return;
	if (!k->held) {
		if (!knob_hold(k)) {
			give_up(w, k);
			return;
		}
		w->held(w->held_arg);
	}
	if (!knob_turn(k, (uint64_t)value))
		give_up(w, k);
}

static int64_t ratio_of(const struct watch *w)
{
	unsigned int share = DEFER_RATIO_SUM / w->settings->mount_count;

	if (w->decision.way != WRITE_DEFER)
		return -1;
	return share < DEFER_RATIO ? share : DEFER_RATIO;
}

static void accelerate(struct watch *w)
{
	const double least = w->settings->dirty_min * 1024;

	if (w->decision.way != WRITE_ACCELERATE || w->pushed ||
	    (double)machine_dirty(w->machine, w->mount.device) < fmax(least, 1))
		return;
	w->pushed = true;
	if (!w->settings->dry_run)
		async_call_start(&w->push);
}

static void after_push(struct watch *w)
{
	if (!async_call_done(&w->push) || !w->push_error || w->push_told)
		return;
	w->push_told = true;
	log_line(LOG_LEVEL_EVENT, "%s: syncfs: %s", w->path, strerror(w->push_error));
}

static bool fresh(const struct watch *w, double now)
{
	return w->mount.kind == MOUNT_NFS3 && w->detector.believed &&
	       now - w->answered < w->settings->answer;
}

static struct decide_input view_of(struct watch *w, double now)
{
	struct decide_input view = {
		.priced = fresh(w, now),
		.write = w->detector.prices.write,
		.readahead = w->detector.prices.readahead,
		.dirty = w->machine->dirty,
		.memory_short = w->machine->memory_short,
	};
	uint64_t found = w->readahead.found;

	if (view.memory_short && (w->readahead.held || knob_read(&w->readahead, &found)))
		view.readahead_found = (uint32_t)found;
	return view;
}

static void act(struct watch *w, double now)
{
	struct decide_input view = view_of(w, now);
	enum write_way was = w->decision.way;
	char why[128];

	decide(&w->decision, &w->settings->decide, &view, now);
	if (w->decision.way != was)
		log_line(LOG_LEVEL_EVENT, "%s: writes: %s (the server's price %.3g, ours %.3g)",
			 w->path, write_way_names[w->decision.way], view.priced ? view.write : 0,
			 w->decision.ours);
	snprintf(why, sizeof(why), "writes: %s", write_way_names[w->decision.way]);
	turn(w, &w->ratio, &w->ratio_set, ratio_of(w), why);
	snprintf(why, sizeof(why), "price of read-ahead %.3g", view.readahead);
	turn(w, &w->readahead, &w->readahead_set,
	     w->decision.readahead ? (int64_t)w->decision.readahead : -1, why);
	accelerate(w);
}

/* ---- asking ------------------------------------------------------------------------------ */

bool watch_feed(struct watch *w, double now)
{
	if (!async_call_done(&w->ask) || w->reply.error)
		return false;
	w->answered = now;
	w->pushed = false;
	fsstat_detector_feed(&w->detector, w->reply.total, w->reply.avail);
	return true;
}

/* A server that may be one with prices is asked more often, so that it does not take long. */
static double interval_of(const struct watch *w)
{
	bool promising = w->detector.turns && !w->detector.disproofs && !w->detector.believed;

	return promising ? fmin(ASK_SOON, w->settings->interval) : w->settings->interval;
}

void watch_ask(struct watch *w, double now)
{
	if (now < w->ask_at)
		return;
	w->ask_at = now + interval_of(w);
	if (w->mount.kind == MOUNT_NFS3)
		async_call_start(&w->ask);
}

static void tell(struct watch *w, double now)
{
	if (w->mount.kind != MOUNT_NFS3)
		news(w, NEWS_NOT_MOUNTED);
	else if (now - w->answered >= w->settings->answer)
		news(w, NEWS_NO_ANSWER);
	else if (w->detector.believed)
		news(w, NEWS_BELIEVED);
	else if (w->detector.disproofs)
		news(w, NEWS_NO_PRICES);
}

void watch_tick(struct watch *w, double now)
{
	if (now >= w->ask_at)
		watch_look(w, now);
	if (watch_feed(w, now))
		w->ask_at = fmin(w->ask_at, now + interval_of(w));
	after_push(w);
	tell(w, now);
	act(w, now);
	watch_ask(w, now);
}

void watch_release(struct watch *w)
{
	turn(w, &w->ratio, &w->ratio_set, -1, "");
	turn(w, &w->readahead, &w->readahead_set, -1, "");
}

void watch_show(const struct watch *w, FILE *out)
{
	static const char *const text[] = {"not asked yet", "believed", "no prices", "no answer",
					   "not an NFSv3 mount"};

	fprintf(out, "mount %s %s: %s", w->path, w->mount.device, text[w->news]);
	if (w->news == NEWS_BELIEVED)
		fprintf(out, ", write %.3g, read-ahead %.3g, ours %.3g, %s",
			w->detector.prices.write, w->detector.prices.readahead, w->decision.ours,
			write_way_names[w->decision.way]);
	fputc('\n', out);
}
