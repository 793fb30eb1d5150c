/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Does the Ganesha around us lay its structures out as the headers and the config.h that we compile
 * with do? This calls small functions of the core on structures of ours that are filled with a pattern,
 * and looks at which bytes they changed.
 *
 *   pattern  a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5
 *   after    a5a5a5a5[ the core's idea of a field ]a5a5a5a5
 *                    ^ offsetof                   ^ + sizeof, by our headers
 *
 * It is called in a process that may die of it: a child of the server's (src/gate), or scripts/abi-probe.c.
 */
#include "compat.h"
#include "fit.h"

#include <string.h>
#include <sys/stat.h>

#define PATTERN 0xa5
/* A structure of ours and room for the core to think it larger. */
#define ROOM 65536

static int failures;
static FILE *report;

static void check(bool ok, const char *what)
{
	if (!ok)
		failures++;
	fprintf(report, "%-4s %s\n", ok ? "ok" : "FAIL", what);
}

static char *fresh(char *area)
{
	memset(area, PATTERN, ROOM);
	return area;
}

/* Exactly the bytes [start, end) may differ from the pattern, and both ends must. */
static void check_range(const char *area, size_t start, size_t end, const char *what)
{
	size_t first = ROOM, last = 0;

	for (size_t i = 0; i < ROOM; i++) {
		if ((unsigned char)area[i] == PATTERN)
			continue;
		if (first == ROOM)
			first = i;
		last = i;
	}
	check(first == start && last + 1 == end, what);
	if (first != start || last + 1 != end)
		fprintf(report, "     changed [%zu, %zu), expected [%zu, %zu)\n", first, last + 1,
			start, end);
}

static attrmask_t supported_attrs(struct fsal_export *exp)
{
	return 0x5a5a;
}

static char area_a[ROOM], area_b[ROOM];
static char gsh_export_stand_in[ROOM];

static void probe_ops(void)
{
	fsal_default_obj_ops_init((struct fsal_obj_ops *)fresh(area_a));
	check_range(area_a, 0, sizeof(struct fsal_obj_ops), "struct fsal_obj_ops");
}

static void probe_export(void)
{
	struct fsal_export *sub = (struct fsal_export *)fresh(area_a);
	struct fsal_export *super = (struct fsal_export *)fresh(area_b);
	struct req_op_context ctx = {.ctx_export = (struct gsh_export *)gsh_export_stand_in};
	const size_t ops = offsetof(struct fsal_export, exp_ops);

	fsal_export_stack(sub, super);
	check(sub->super_export == super && super->sub_export == sub,
	      "struct fsal_export: sub_export, super_export");

	free_export_ops((struct fsal_export *)fresh(area_a));
	check_range(area_a, ops, ops + sizeof(struct export_ops), "struct export_ops");

	op_ctx = &ctx;
	fsal_export_init((struct fsal_export *)fresh(area_a));
	op_ctx = NULL;
	check(sub->owning_export == ctx.ctx_export && sub->export_id == 0 &&
		      sub->filesystems.next == &sub->filesystems,
	      "struct fsal_export: owning_export, filesystems, export_id");
	check_range(area_a, ops, offsetof(struct fsal_export, export_id) + sizeof(sub->export_id),
		    "struct fsal_export: end");
}

static void probe_handle(void)
{
	struct fsal_obj_handle *obj = (struct fsal_obj_handle *)fresh(area_a);
	static struct fsal_module module;
	static struct fsal_export exp;

	glist_init(&module.exports);
	glist_init(&module.handles);
	PTHREAD_RWLOCK_init(&module.RA_MODULE_LOCK, NULL);
	exp.fsal = &module;
	module.refcount = 1;
	check(fsal_attach_export(&module, &exp.exports) == 0 && module.exports.next == &exp.exports,
	      "struct fsal_module: exports, m_ops, refcount");
	ra_obj_handle_init(obj, &exp, DIRECTORY);
	check(module.handles.next == &obj->handles && obj->fsal == &module &&
		      obj->type == DIRECTORY,
	      "struct fsal_module: handles; struct fsal_obj_handle: handles, fsal, type");
	/* The type's upper bytes are zero: all four count as changed. */
	check_range(area_a, offsetof(struct fsal_obj_handle, handles),
		    offsetof(struct fsal_obj_handle, type) + sizeof(obj->type),
		    "struct fsal_obj_handle: end");
}

/*
 * The core takes references on two strings of the export, and where in it they are is its build's
 * affair: so in this stand-in every word points to a string.
 */
static struct gsh_export *export_of_strings(void)
{
	static uint64_t string[8] = {1};
	static void *words[ROOM / sizeof(void *)];

	for (size_t i = 0; i < ROOM / sizeof(void *); i++)
		words[i] = string;
	return (struct gsh_export *)words;
}

static void probe_op_context(void)
{
	struct req_op_context *ctx = (struct req_op_context *)fresh(area_a);
	static struct fsal_module module;
	static struct fsal_export exp = {.fsal = &module};

	init_op_context_simple(ctx, export_of_strings(), &exp);
	check(op_ctx == ctx && ctx->fsal_export == &exp && ctx->fsal_module == &module,
	      "struct req_op_context: fsal_export, fsal_module");
	check_range(area_a, 0, sizeof(struct req_op_context), "struct req_op_context");
	op_ctx = NULL;
}

static void probe_attributes(void)
{
	struct fsal_attrlist *attrs = (struct fsal_attrlist *)fresh(area_a);
	static struct fsal_export exp = {.exp_ops.fs_supported_attrs = supported_attrs};
	struct req_op_context ctx = {.fsal_export = &exp};
	const struct stat st = {
		.st_mode = S_IFREG | 0640,
		.st_size = 0x123456789,
		.st_ino = 0x1234,
		.st_nlink = 7,
		.st_uid = 8,
		.st_gid = 9,
		.st_blocks = 10,
		.st_mtim = {11, 12},
	};

	op_ctx = &ctx;
	attrs->valid_mask = 0;
	posix2fsal_attributes_all(&st, attrs);
	op_ctx = NULL;
	check(attrs->supported == 0x5a5a, "struct export_ops: fs_supported_attrs");
	check(attrs->type == REGULAR_FILE && attrs->filesize == 0x123456789 &&
		      attrs->fileid == 0x1234 && attrs->mode == 0640 && attrs->numlinks == 7 &&
		      attrs->owner == 8 && attrs->group == 9,
	      "struct fsal_attrlist: type to group");
	check(attrs->mtime.tv_sec == 11 && attrs->mtime.tv_nsec == 12 &&
		      attrs->spaceused == 10 * 512 && attrs->change == 11000000012,
	      "struct fsal_attrlist: mtime to change");
}

int ra_fit(FILE *out)
{
	report = out;
	failures = 0;
	probe_ops();
	probe_export();
	probe_handle();
	probe_op_context();
	probe_attributes();
	fprintf(out, "%d disagreements, FSAL API %d.%d\n", failures, FSAL_MAJOR_VERSION,
		FSAL_MINOR_VERSION);
	return failures;
}
