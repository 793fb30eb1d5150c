/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Groups out of text, and their files: how many, how large, what is in them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "number.h"
#include "work.h"

#define FILES_MAX   1000000u
#define GAMMA_SHAPE 1.5 /* filebench's */
#define GAMMA_MOST  16	/* times the mean */
#define PREALLOCATED                                                                               \
	80 /* percent of fileserver's files are there at the beginning, as filebench's */

static const char *const work_names[WORK_KINDS] = {
	"randread", "seqread", "randwrite", "seqwrite", "log", "copy", "fileserver", "webserver",
};
static const char *const size_names[] = {"fixed", "gamma", "log"};

static int name_in(const char *const *names, unsigned int n, const char *text)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(names[i], text) == 0)
			return (int)i;
	return -1;
}

static uint64_t *number_of(struct group_spec *g, const char *key)
{
	struct {
		const char *key;
		uint64_t *value;
	} const known[] = {{"threads", &g->threads}, {"files", &g->files},   {"dirs", &g->dirs},
			   {"size", &g->size},	     {"least", &g->least},   {"total", &g->total},
			   {"io", &g->io},	     {"append", &g->append}, {"count", &g->count},
			   {"rate", &g->rate},	     {"think", &g->think},   {"start", &g->start}};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].key, key) == 0)
			return known[i].value;
	return NULL;
}

static bool *flag_of(struct group_spec *g, const char *key)
{
	if (strcmp(key, "background") == 0)
		return &g->background;
	if (strcmp(key, "hold") == 0)
		return &g->hold;
	if (strcmp(key, "warm") == 0)
		return &g->warm;
	return strcmp(key, "fsync") == 0 ? &g->fsync : NULL;
}

static const char *set_clients(struct group_spec *g, char *value)
{
	char *dash = strchr(value, '-');

	if (dash)
		*dash++ = '\0';
	if (options_number(value, &g->first) || options_number(dash ? dash : value, &g->last) ||
	    g->last < g->first)
		return "clients: must be N or FIRST-LAST";
	return NULL;
}

static const char *set_one(struct group_spec *g, char *key, char *value)
{
	uint64_t *number = number_of(g, key);
	bool *flag = flag_of(g, key);
	int found;

	if (number)
		return options_number(value, number) ? "a number is needed" : NULL;
	if (flag) {
		*flag = strcmp(value, "1") == 0;
		return *flag || strcmp(value, "0") == 0 ? NULL : "must be 0 or 1";
	}
	if (strcmp(key, "clients") == 0)
		return set_clients(g, value);
	if (strcmp(key, "work") == 0) {
		found = name_in(work_names, WORK_KINDS, value);
		g->work = (enum work_kind)found;
		return found < 0 ? "no such work" : NULL;
	}
	if (strcmp(key, "sizes") == 0) {
		found = name_in(size_names, 3, value);
		g->sizes = (enum size_law)found;
		return found < 0 ? "sizes: must be fixed, gamma or log" : NULL;
	}
	if (strcmp(key, "name") && strcmp(key, "dir"))
		return "no such key";
	if (!*value || strlen(value) >= GROUP_NAME / 2)
		return "name, dir: must have 1 to 15 characters";
	strcpy(key[0] == 'n' ? g->name : g->dir, value);
	return NULL;
}

static const char *check(struct group_spec *g)
{
	if (!*g->name)
		strcpy(g->name, work_names[g->work]);
	if (!*g->dir)
		strcpy(g->dir, g->name);
	if (g->threads < 1 || g->threads > 10000)
		return "threads: must be from 1 to 10000";
	if (g->files < 1 || g->files > FILES_MAX)
		return "files: must be from 1 to 1000000";
	if (g->dirs < 1 || g->dirs > GROUP_DIRS)
		return "dirs: must be from 1 to 64";
	if (g->io < 512 || g->io > 1 << 30 || g->io % 512)
		return "io: must be a multiple of 512, up to 1G";
	if (g->size < g->io && g->sizes == SIZES_FIXED && g->work <= WORK_LOG)
		return "size: must be at least io";
	if (g->work == WORK_FILESERVER && g->files < 4 * g->threads)
		return "files: fileserver needs four for each thread";
	if (g->append < PAGE_BYTES || g->append % PAGE_BYTES)
		return "append: must be a multiple of 4096";
	return NULL;
}

const char *group_parse(const char *text, struct group_spec *g)
{
	char *copy = strdup(text), *rest = NULL;
	const char *wrong = copy ? NULL : "no memory";

	*g = (struct group_spec){.threads = 1,
				 .files = 1,
				 .dirs = 1,
				 .size = 1 << 20,
				 .least = 4096,
				 .io = 65536,
				 .append = 16384};
	for (char *key = copy ? strtok_r(copy, ",", &rest) : NULL; key && !wrong;
	     key = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(key, '=');

		if (!value)
			wrong = "must be KEY=VALUE,...";
		else
			*value++ = '\0';
		if (!wrong)
			wrong = set_one(g, key, value);
	}
	free(copy);
	return wrong ? wrong : check(g);
}

static double uniform(struct prng *p)
{
	return ((double)(prng_next(p) >> 11) + 0.5) / 9007199254740992.0;
}

/* Shape 3/2: an exponential and half the square of a normal deviate. */
static double gamma_deviate(struct prng *p)
{
	double normal = sqrt(-2 * log(uniform(p))) * cos(2 * M_PI * uniform(p));

	return (-log(uniform(p)) + normal * normal / 2) / GAMMA_SHAPE;
}

static uint64_t whole_pages(double bytes)
{
	uint64_t pages = (uint64_t)(bytes / PAGE_BYTES + 0.5);

	return (pages ? pages : 1) * PAGE_BYTES;
}

static uint64_t draw_size(const struct group_spec *g, struct prng *p)
{
	double x;

	if (g->sizes == SIZES_FIXED)
		return g->size;
	if (g->sizes == SIZES_GAMMA) {
		x = gamma_deviate(p);
		return whole_pages((double)g->size * (x < GAMMA_MOST ? x : GAMMA_MOST));
	}
	return whole_pages((double)g->least * pow((double)g->size / (double)g->least, uniform(p)));
}

/* The tree has so many bytes in all: files are drawn again until they fit. */
static void fit_total(struct work_set *s, struct prng *p)
{
	uint64_t sum = 0, total = s->spec->total;

	for (uint32_t i = 0; i < s->files; i++)
		sum += s->file[i].size;
	for (uint32_t round = 0; total && round < 100 * s->files; round++) {
		struct work_file *f = &s->file[prng_below(p, s->files)];
		uint64_t size = draw_size(s->spec, p);
		uint64_t now = sum - f->size + size;
		uint64_t off = sum > total ? sum - total : total - sum;

		if ((now > total ? now - total : total - now) < off) {
			f->size = size;
			sum = now;
		}
	}
}

bool work_set_init(struct work_set *s, const struct group_spec *g, uint32_t number, uint64_t seed)
{
	struct prng prng;
	bool twice = g->work == WORK_COPY; /* source and copy */

	*s = (struct work_set){.spec = g, .seed = seed, .number = number};
	s->files = (uint32_t)g->files;
	s->file = calloc(work_set_files(s), sizeof(*s->file));
	if (!s->file)
		return false;
	prng_init(&prng, seed * 1000003 + number);
	for (uint32_t i = 0; i < s->files; i++)
		s->file[i].size = draw_size(g, &prng);
	fit_total(s, &prng);
	for (uint32_t i = 0; i < s->files; i++) {
		struct work_file *f = &s->file[i];

		f->content = content_start(seed, number << 20 | i);
		f->state = work_file_laid_out(s, i) ? FILE_FREE : FILE_ABSENT;
		if (twice)
			s->file[s->files + i] = *f;
	}
	s->file[work_set_files(s) - 1].content = content_start(seed, number << 20 | 0xfffff);
	return true;
}

uint32_t work_set_files(const struct work_set *s)
{
	return s->files * (s->spec && s->spec->work == WORK_COPY ? 2 : 1) + 1;
}

void work_set_free(struct work_set *s)
{
	free(s->file);
}

void work_file_name(const struct work_set *s, uint32_t file, char *name)
{
	char letter = file < s->files ? 'f' : file + 1 < work_set_files(s) ? 't' : 'l';

	file %= s->files;
	snprintf(name, GROUP_NAME, "d%02u/%c%06u", (unsigned int)(file % s->spec->dirs), letter,
		 file);
}

bool work_file_laid_out(const struct work_set *s, uint32_t file)
{
	switch (s->spec->work) {
	case WORK_SEQWRITE:
	case WORK_LOG:
		return false;
	case WORK_FILESERVER:
		return file < (uint64_t)s->files * PREALLOCATED / 100;
	default:
		return file < s->files;
	}
}
