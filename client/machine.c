/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Memory and its limits. See machine.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "common/log.h"

static ssize_t read_text(struct price_source *s, const char *name, char *buf, size_t size)
{
	const struct machine *m = (const struct machine *)s;
	char path[SOURCE_NAME + KNOB_PATH];
	size_t length = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "%s%s", m->root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (length < size && (n = read(fd, buf + length, size - length)) > 0)
		length += (size_t)n; /* files of /proc come in pieces */
	close(fd);
	return n < 0 ? -1 : (ssize_t)length;
}

void machine_init(struct machine *m, const char *root, uint32_t flush_point, bool dry_run)
{
	static const struct memory_limits unused = {.reads_min = 1, .window = 1};

	memset(m, 0, sizeof(*m));
	m->source.read = read_text;
	m->root = root;
	m->flush_point = flush_point;
	m->dry_run = dry_run;
	meter_memory_init(&m->meter, &unused);
	knob_init(&m->background, root, "/proc/sys/vm/dirty_background_ratio");
	knob_init(&m->limit, root, "/proc/sys/vm/dirty_ratio");
}

static bool number_of(struct machine *m, const char *key, uint64_t *number)
{
	const char *at = text_line(m->source.text, key);

	return at && text_numbers(at, number, 1);
}

void machine_look(struct machine *m)
{
	uint64_t total, available;

	meter_memory_sample(&m->meter, &m->source, 0, NULL);
	m->dirty = m->meter.dirty;
	m->memory_short =
		source_read(&m->source, "/proc/meminfo") && number_of(m, "MemTotal:", &total) &&
		number_of(m, "MemAvailable:", &available) && available < total / MEMORY_SHORT;
}

uint64_t machine_dirty(struct machine *m, const char *device)
{
	uint64_t kib;

	if (source_read(&m->source, "/sys/kernel/debug/bdi/%s/stats", device) &&
	    number_of(m, "BdiReclaimable:", &kib))
		return kib * 1024;
	return m->meter.dirty_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Lets go of both limits, and of the setting: SIGHUP brings it back. */
static bool leave_alone(struct machine *m)
{
	knob_restore(&m->background);
	knob_restore(&m->limit);
	m->flush_point = 0;
	return false;
}

static bool may_raise(struct machine *m)
{
	const uint32_t background = m->flush_point, limit = background + FLUSH_POINT_ROOM;

	if (!knob_hold(&m->background) || !knob_hold(&m->limit)) {
		log_line(LOG_LEVEL_EVENT, "flush-point: %s cannot be read: left alone",
			 m->background.path);
		return leave_alone(m);
	}
	/* 0: somebody has set a number of bytes in its place. */
	if (!m->background.found || !m->limit.found || m->background.found >= background ||
	    m->limit.found >= limit) {
		log_line(LOG_LEVEL_EVENT,
			 "flush-point: vm.dirty_background_ratio is %u and vm.dirty_ratio %u: left "
			 "alone",
			 (unsigned int)m->background.found, (unsigned int)m->limit.found);
		return leave_alone(m);
	}
	return true;
}

/* Both or none. */
static bool raise_limits(struct machine *m, const struct knob_recorder *recorder)
{
	struct knob *failed = NULL;

	if (!may_raise(m))
		return false;
	/* The limit first: the other must stay below it. */
	if (!knob_turn(&m->limit, m->flush_point + FLUSH_POINT_ROOM, recorder))
		failed = &m->limit;
	else if (!knob_turn(&m->background, m->flush_point, recorder))
		failed = &m->background;
	if (!failed)
		return true;
	if (failed->error == ECANCELED) { /* no record: tried again */
		knob_restore(&m->limit);
		knob_restore(&m->background);
		return false;
	}
	log_line(LOG_LEVEL_EVENT, "flush-point: %s: %s: left alone", failed->path,
		 strerror(failed->error));
	return leave_alone(m);
}

void machine_flush_point(struct machine *m, bool raise, const struct knob_recorder *recorder)
{
	if (raise == m->raised || !m->flush_point)
		return;
	if (!m->dry_run && raise && !raise_limits(m, recorder))
		return;
	if (!m->dry_run && !raise) {
		knob_restore(&m->background);
		knob_restore(&m->limit);
	}
	m->raised = raise;
	log_line(LOG_LEVEL_EVENT, "dirty memory: %s%s", m->dry_run ? "would " : "",
		 raise ? "raise the flushing point" : "put the flushing point back");
}

void machine_set_flush_point(struct machine *m, uint32_t percent)
{
	if (percent == m->flush_point)
		return;
	machine_flush_point(m, false, NULL);
	m->flush_point = percent;
}
