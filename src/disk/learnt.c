/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Numbers <-> text, with a check. See learnt.h. */
#include "disk/learnt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define HEAD  "nfs-ganesha-ra learnt "
#define CHECK "check "
/* In the text times are whole numbers: ns, and of a byte ps. No device is beyond these. */
#define SEEK_MAX    UINT64_C(10000000000)
#define PS_BYTE_MAX UINT64_C(100000000)
#define RETURNS_MAX 1000
#define DIFFERS	    1.25
#define CONTRADICTS 3.0
#define PS_OF_A_NS  1000

/* FNV-1a, 64 bits: it is to notice accidents, no attacker. */
static uint64_t hash(const char *text, size_t n)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return h;
}

void learnt_name(const struct device_identity *id, char name[LEARNT_NAME])
{
	snprintf(name, LEARNT_NAME, "device-%016" PRIx64, hash(id->name, strlen(id->name)));
}

/* ---- the text ---------------------------------------------------------------------------- */

/* A number of the text, and where it is. */
struct field {
	const char *name;
	uint64_t max;
};

enum {
	SAVED,
	BYTES,
	ROTATING,
	SEEK,
	PS_BYTE,
	FREE,
	RETURNS,
	DECIDED,
	TOGETHER,
	ALONE_NS,
	TOGETHER_NS,
	FIELDS
};

static const struct field fields[FIELDS] = {
	[SAVED] = {"saved ", INT64_MAX},
	[BYTES] = {"bytes ", INT64_MAX},
	[ROTATING] = {"rotating ", 1},
	[SEEK] = {"seek_ns ", SEEK_MAX},
	[PS_BYTE] = {"ps_per_byte ", PS_BYTE_MAX},
	[FREE] = {"seeks_free ", 1},
	[RETURNS] = {"returns ", RETURNS_MAX},
	[DECIDED] = {"together_decided ", 1},
	[TOGETHER] = {"together ", 1},
	[ALONE_NS] = {"alone_read_ns ", SEEK_MAX},
	[TOGETHER_NS] = {"together_read_ns ", SEEK_MAX},
};

static void to_numbers(const struct learnt *l, uint64_t v[FIELDS])
{
	const struct dispatcher_learnt *q = &l->queue;

	v[SAVED] = l->saved;
	v[BYTES] = l->id.bytes;
	v[ROTATING] = l->id.rotating;
	v[SEEK] = (uint64_t)q->seek_ns;
	v[PS_BYTE] = (uint64_t)(q->ns_per_byte * PS_OF_A_NS);
	v[FREE] = l->seeks_free;
	v[RETURNS] = l->returns;
	v[DECIDED] = q->decided;
	v[TOGETHER] = q->together;
	v[ALONE_NS] = (uint64_t)q->read_ns[0];
	v[TOGETHER_NS] = (uint64_t)q->read_ns[1];
}

static void from_numbers(struct learnt *l, const uint64_t v[FIELDS])
{
	l->saved = v[SAVED];
	l->id.bytes = v[BYTES];
	l->id.rotating = v[ROTATING];
	l->seeks_free = v[FREE];
	l->returns = (uint32_t)v[RETURNS];
	l->queue = (struct dispatcher_learnt){
		.seek_ns = (double)v[SEEK],
		.ns_per_byte = (double)v[PS_BYTE] / PS_OF_A_NS,
		.decided = v[DECIDED],
		.together = v[TOGETHER],
		.read_ns = {(double)v[ALONE_NS], (double)v[TOGETHER_NS]},
	};
}

size_t learnt_print(const struct learnt *l, char *text, size_t size)
{
	uint64_t v[FIELDS];
	int n = snprintf(text, size, HEAD "%d\nidentity %s\n", LEARNT_VERSION, l->id.name);

	to_numbers(l, v);
	for (int i = 0; i < FIELDS && n < (int)size; i++)
		n += snprintf(text + n, size - (size_t)n, "%s%" PRIu64 "\n", fields[i].name,
			      v[i] < fields[i].max ? v[i] : fields[i].max);
	if (n < (int)size)
		n += snprintf(text + n, size - (size_t)n, CHECK "%016" PRIx64 "\n",
			      hash(text, (size_t)n));
	return n < (int)size ? (size_t)n : 0;
}

/* Whether the last line is the check of all above it. */
static bool is_whole(const char *text, size_t n)
{
	const char *check = text_line(text, CHECK);
	size_t above = check != NULL ? (size_t)(check - text) - strlen(CHECK) : 0;
	char wanted[32];

	if (check == NULL || strlen(text) != n)
		return false;
	snprintf(wanted, sizeof(wanted), "%016" PRIx64 "\n", hash(text, above));
	return strcmp(check, wanted) == 0;
}

static bool read_identity(struct learnt *l, const char *text)
{
	const char *at = text_line(text, "identity ");
	size_t n = at != NULL ? strcspn(at, "\n") : 0;

	if (n == 0 || n >= sizeof(l->id.name))
		return false;
	memcpy(l->id.name, at, n);
	l->id.name[n] = '\0';
	return true;
}

static bool read_numbers(struct learnt *l, const char *text)
{
	uint64_t v[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		const char *at = text_line(text, fields[i].name);

		if (at == NULL || !text_number(&at, &v[i]) || *at != '\n' || v[i] > fields[i].max)
			return false;
	}
	from_numbers(l, v);
	return true;
}

const char *learnt_parse(struct learnt *l, const char *text, size_t n)
{
	const char *at = text + strlen(HEAD);
	uint64_t version = 0;

	if (strncmp(text, HEAD, strlen(HEAD)) != 0 || !text_number(&at, &version))
		return "it is none of ours";
	if (version != LEARNT_VERSION)
		return "it is of another version";
	if (!is_whole(text, n))
		return "it is damaged: its check is wrong";
	if (!read_identity(l, text) || !read_numbers(l, text))
		return "a value in it is missing or out of its range";
	return NULL;
}

/* ---- what it is worth -------------------------------------------------------------------- */

const char *learnt_judge(const struct learnt *l, const struct device_identity *id, uint64_t now)
{
	if (strcmp(l->id.name, id->name) != 0)
		return "it is of another disk";
	if (l->id.bytes != id->bytes || l->id.rotating != id->rotating)
		return "the disk has another size or kind since";
	if (l->saved > now + LEARNT_AHEAD_MAX)
		return "it is from the future";
	if (now > l->saved + LEARNT_AGE_MAX)
		return "it is more than a year old";
	return NULL;
}

bool learnt_is_something(const struct learnt *l)
{
	return l->queue.seek_ns > 0 || l->queue.ns_per_byte > 0 || l->seeks_free ||
	       l->queue.decided || l->returns != 0;
}

/* Beyond a factor; what one of the two does not know counts as UNKNOWN. */
static bool apart(double a, double b, double factor, bool unknown)
{
	if ((a > 0) != (b > 0))
		return unknown;
	return a > b * factor || b > a * factor;
}

bool learnt_differs(const struct learnt *a, const struct learnt *b)
{
	const struct dispatcher_learnt *p = &a->queue, *q = &b->queue;

	return a->seeks_free != b->seeks_free || a->returns != b->returns ||
	       p->decided != q->decided || p->together != q->together ||
	       apart(p->seek_ns, q->seek_ns, DIFFERS, true) ||
	       apart(p->ns_per_byte, q->ns_per_byte, DIFFERS, true);
}

bool learnt_contradicts(const struct learnt *a, const struct learnt *b)
{
	const struct dispatcher_learnt *p = &a->queue, *q = &b->queue;

	return apart(p->seek_ns, q->seek_ns, CONTRADICTS, false) ||
	       apart(p->ns_per_byte, q->ns_per_byte, CONTRADICTS, false);
}
