/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Answers as text. Two right servers may differ in what the clock or chance decides: those values
 * become words here, everything else stays a number and is compared.
 *
 *   times       "now" when within a day of this machine's clock (clients of this test set times
 *               only in the past), else the exact value; in the weak cache consistency data only
 *               the relation of before and after: a change that vanishes or comes late shows
 *   atime       left out of READ's answer: Ganesha's MDCACHE sets it just after a READ's callback,
 *               in which the answer to an asynchronous READ is already sent
 *   handles     their length; the bytes hold inode generations, which are random
 *   fileid      given to the caller, who keeps a one-to-one map: ext4 may pick different free
 *               inodes for equal creates
 *   fsid        given to the caller, who compares it with the root's of the same server
 *   verifiers   given to the caller or reduced to zero / set
 */
#include "parity.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400

const char *const proc_name[PROCS] = {
	[P_NULL] = "NULL",     [P_GETATTR] = "GETATTR", [P_SETATTR] = "SETATTR",
	[P_LOOKUP] = "LOOKUP", [P_ACCESS] = "ACCESS",	[P_READLINK] = "READLINK",
	[P_READ] = "READ",     [P_WRITE] = "WRITE",	[P_CREATE] = "CREATE",
	[P_MKDIR] = "MKDIR",   [P_SYMLINK] = "SYMLINK", [P_MKNOD] = "MKNOD",
	[P_REMOVE] = "REMOVE", [P_RMDIR] = "RMDIR",	[P_RENAME] = "RENAME",
	[P_LINK] = "LINK",     [P_READDIR] = "READDIR", [P_READDIRPLUS] = "READDIRPLUS",
	[P_FSSTAT] = "FSSTAT", [P_FSINFO] = "FSINFO",	[P_PATHCONF] = "PATHCONF",
	[P_COMMIT] = "COMMIT",
};

void text_clear(struct text *text)
{
	text->len = 0;
	if (text->p)
		text->p[0] = '\0';
}

static void text_reserve(struct text *text, size_t more)
{
	size_t cap = text->cap ? text->cap : 512;

	while (cap < text->len + more + 1)
		cap *= 2;
	if (cap == text->cap)
		return;
	text->p = realloc(text->p, cap);
	if (!text->p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	text->cap = cap;
}

void text_add(struct text *text, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	text_reserve(text, (size_t)n);
	va_start(ap, format);
	vsnprintf(text->p + text->len, (size_t)n + 1, format, ap);
	va_end(ap);
	text->len += (size_t)n;
}

void text_add_name(struct text *text, const char *name)
{
	size_t len = strlen(name);

	text_add(text, "\"");
	for (size_t i = 0; i < len; i++) {
		if (len > 40 && i == 16) {
			text_add(text, "...(%zu bytes)...", len);
			i = len - 8;
		}
		if (name[i] > 32 && name[i] < 127 && name[i] != '"' && name[i] != '\\')
			text_add(text, "%c", name[i]);
		else
			text_add(text, "\\x%02x", (unsigned char)name[i]);
	}
	text_add(text, "\"");
}

const char *status_name(int status)
{
	static char number[16];
	static const struct {
		int status;
		const char *name;
	} names[] = {
		{-1, "(no answer)"},
		{NFS3_OK, "OK"},
		{NFS3ERR_PERM, "PERM"},
		{NFS3ERR_NOENT, "NOENT"},
		{NFS3ERR_IO, "IO"},
		{NFS3ERR_NXIO, "NXIO"},
		{NFS3ERR_ACCES, "ACCES"},
		{NFS3ERR_EXIST, "EXIST"},
		{NFS3ERR_XDEV, "XDEV"},
		{NFS3ERR_NODEV, "NODEV"},
		{NFS3ERR_NOTDIR, "NOTDIR"},
		{NFS3ERR_ISDIR, "ISDIR"},
		{NFS3ERR_INVAL, "INVAL"},
		{NFS3ERR_FBIG, "FBIG"},
		{NFS3ERR_NOSPC, "NOSPC"},
		{NFS3ERR_ROFS, "ROFS"},
		{NFS3ERR_MLINK, "MLINK"},
		{NFS3ERR_NAMETOOLONG, "NAMETOOLONG"},
		{NFS3ERR_NOTEMPTY, "NOTEMPTY"},
		{NFS3ERR_DQUOT, "DQUOT"},
		{NFS3ERR_STALE, "STALE"},
		{NFS3ERR_BADHANDLE, "BADHANDLE"},
		{NFS3ERR_NOT_SYNC, "NOT_SYNC"},
		{NFS3ERR_BAD_COOKIE, "BAD_COOKIE"},
		{NFS3ERR_NOTSUPP, "NOTSUPP"},
		{NFS3ERR_TOOSMALL, "TOOSMALL"},
		{NFS3ERR_SERVERFAULT, "SERVERFAULT"},
		{NFS3ERR_BADTYPE, "BADTYPE"},
		{NFS3ERR_JUKEBOX, "JUKEBOX"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].status == status)
			return names[i].name;
	}
	snprintf(number, sizeof(number), "%d", status);
	return number;
}

static void add_time(struct text *text, const char *label, const nfstime3 *t)
{
	int64_t away = (int64_t)t->seconds - (int64_t)time(NULL);

	if (away > -DAY_S && away < DAY_S)
		text_add(text, " %s=now", label);
	else
		text_add(text, " %s=%u.%09u", label, t->seconds, t->nseconds);
}

static void add_id(struct answer *a, uint64_t id)
{
	if (a->n_ids < IDS_MAX)
		a->id[a->n_ids++] = id;
}

static void add_attributes(struct answer *a, const fattr3 *at)
{
	text_add(&a->text,
		 " {type=%d mode=%o nlink=%u uid=%u gid=%u size=%llu used=%llu rdev=%u:%u",
		 at->type, at->mode, at->nlink, at->uid, at->gid, (unsigned long long)at->size,
		 (unsigned long long)at->used, at->rdev.specdata1, at->rdev.specdata2);
	add_id(a, at->fileid);
	if (a->proc != P_READ)
		add_time(&a->text, "atime", &at->atime);
	add_time(&a->text, "mtime", &at->mtime);
	add_time(&a->text, "ctime", &at->ctime);
	text_add(&a->text, "}");
}

/* The attributes of the object itself, as opposed to a directory's beside it. */
static void add_object(struct answer *a, const post_op_attr *post)
{
	const fattr3 *at = &post->post_op_attr_u.attributes;

	if (!post->attributes_follow) {
		text_add(&a->text, " {-}");
		return;
	}
	a->type = (int)at->type;
	a->ctime = at->ctime;
	a->fsid = at->fsid;
	add_attributes(a, at);
}

static void add_post(struct answer *a, const post_op_attr *post)
{
	if (post->attributes_follow)
		add_attributes(a, &post->post_op_attr_u.attributes);
	else
		text_add(&a->text, " {-}");
}

static int compare_times(const nfstime3 *a, const nfstime3 *b)
{
	if (a->seconds != b->seconds)
		return a->seconds < b->seconds ? -1 : 1;
	if (a->nseconds != b->nseconds)
		return a->nseconds < b->nseconds ? -1 : 1;
	return 0;
}

/* Unless the clock has surely moved on, "same" and "later" are one: two changes within a tick of
 * the kernel's coarse clock carry one time. */
static const char *relation(const struct answer *a, const nfstime3 *before, const nfstime3 *after)
{
	int c = compare_times(before, after);

	if (c > 0)
		return "earlier";
	if (!a->timed)
		return "not-earlier";
	return c < 0 ? "later" : "same";
}

static void add_wcc(struct answer *a, const wcc_data *wcc)
{
	const wcc_attr *before = &wcc->before.pre_op_attr_u.attributes;
	const fattr3 *after = &wcc->after.post_op_attr_u.attributes;

	text_add(&a->text, " wcc(");
	if (wcc->before.attributes_follow)
		text_add(&a->text, "before size=%llu", (unsigned long long)before->size);
	if (wcc->before.attributes_follow && wcc->after.attributes_follow)
		text_add(&a->text, " mtime=%s ctime=%s", relation(a, &before->mtime, &after->mtime),
			 relation(a, &before->ctime, &after->ctime));
	add_post(a, &wcc->after);
	text_add(&a->text, ")");
}

static void add_handle(struct answer *a, const post_op_fh3 *fh)
{
	if (!fh->handle_follows) {
		text_add(&a->text, " fh=none");
		return;
	}
	nfsc_keep(&a->fh, &fh->post_op_fh3_u.handle);
	text_add(&a->text, " fh=%u", fh->post_op_fh3_u.handle.data.data_len);
}

static void add_data(struct answer *a, const char *data, size_t len)
{
	if (len > a->data_cap) {
		a->data = realloc(a->data, len);
		if (!a->data)
			exit(2);
		a->data_cap = len;
	}
	memcpy(a->data, data, len);
	a->data_len = len;
}

static void render_getattr(struct answer *a, const GETATTR3res *res)
{
	if (res->status != NFS3_OK)
		return;
	a->type = (int)res->GETATTR3res_u.resok.obj_attributes.type;
	a->ctime = res->GETATTR3res_u.resok.obj_attributes.ctime;
	a->fsid = res->GETATTR3res_u.resok.obj_attributes.fsid;
	add_attributes(a, &res->GETATTR3res_u.resok.obj_attributes);
}

static void render_setattr(struct answer *a, const SETATTR3res *res)
{
	/* resok and resfail of SETATTR, REMOVE, RMDIR are the same member */
	add_wcc(a, &res->SETATTR3res_u.resok.obj_wcc);
}

static void render_lookup(struct answer *a, const LOOKUP3res *res)
{
	const LOOKUP3resok *ok = &res->LOOKUP3res_u.resok;

	if (res->status != NFS3_OK) {
		add_post(a, &res->LOOKUP3res_u.resfail.dir_attributes);
		return;
	}
	nfsc_keep(&a->fh, &ok->object);
	text_add(&a->text, " fh=%u", ok->object.data.data_len);
	add_object(a, &ok->obj_attributes);
	add_post(a, &ok->dir_attributes);
}

static void render_access(struct answer *a, const ACCESS3res *res)
{
	if (res->status == NFS3_OK)
		text_add(&a->text, " access=%x", res->ACCESS3res_u.resok.access);
	add_object(a, &res->ACCESS3res_u.resok.obj_attributes);
}

static void render_readlink(struct answer *a, const READLINK3res *res)
{
	add_object(a, &res->READLINK3res_u.resok.symlink_attributes);
	if (res->status == NFS3_OK) {
		text_add(&a->text, " text=");
		text_add_name(&a->text, res->READLINK3res_u.resok.data);
		add_data(a, res->READLINK3res_u.resok.data, strlen(res->READLINK3res_u.resok.data));
	}
}

static void render_read(struct answer *a, const READ3res *res)
{
	const READ3resok *ok = &res->READ3res_u.resok;

	add_object(a, &ok->file_attributes);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text, " count=%u eof=%u bytes=%u", ok->count, ok->eof, ok->data.data_len);
	add_data(a, ok->data.data_val, ok->data.data_len);
}

static void render_write(struct answer *a, const WRITE3res *res)
{
	const WRITE3resok *ok = &res->WRITE3res_u.resok;

	add_wcc(a, &ok->file_wcc);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text, " count=%u committed=%d", ok->count, ok->committed);
	a->written = ok->count;
	a->has_verf = true;
	memcpy(a->verf, ok->verf, sizeof(a->verf));
}

static void render_create(struct answer *a, const CREATE3res *res)
{
	if (res->status != NFS3_OK) {
		add_wcc(a, &res->CREATE3res_u.resfail.dir_wcc);
		return;
	}
	add_handle(a, &res->CREATE3res_u.resok.obj);
	add_object(a, &res->CREATE3res_u.resok.obj_attributes);
	add_wcc(a, &res->CREATE3res_u.resok.dir_wcc);
}

static void render_rename(struct answer *a, const RENAME3res *res)
{
	add_wcc(a, &res->RENAME3res_u.resok.fromdir_wcc);
	add_wcc(a, &res->RENAME3res_u.resok.todir_wcc);
}

static void render_link(struct answer *a, const LINK3res *res)
{
	add_object(a, &res->LINK3res_u.resok.file_attributes);
	add_wcc(a, &res->LINK3res_u.resok.linkdir_wcc);
}

static const char *zero_or_set(const char verf[8])
{
	static const char zero[8];

	return memcmp(verf, zero, 8) ? "set" : "zero";
}

static void render_readdir(struct answer *a, const READDIR3res *res)
{
	const READDIR3resok *ok = &res->READDIR3res_u.resok;

	add_object(a, &ok->dir_attributes);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text, " verf=%s", zero_or_set(ok->cookieverf));
	for (const entry3 *e = ok->reply.entries; e; e = e->nextentry) {
		text_add(&a->text, "\n    ");
		text_add_name(&a->text, e->name);
		text_add(&a->text, " cookie=%llx", (unsigned long long)e->cookie);
		add_id(a, e->fileid);
		a->last_cookie = e->cookie;
		a->n_entries++;
	}
	text_add(&a->text, " eof=%u", ok->reply.eof);
	a->eof = ok->reply.eof;
	memcpy(a->cookieverf, ok->cookieverf, sizeof(a->cookieverf));
}

static void render_entryplus(struct answer *a, const entryplus3 *e)
{
	struct nfsc_fh saved = a->fh;

	text_add(&a->text, "\n    ");
	text_add_name(&a->text, e->name);
	text_add(&a->text, " cookie=%llx", (unsigned long long)e->cookie);
	add_id(a, e->fileid);
	add_post(a, &e->name_attributes);
	add_handle(a, &e->name_handle);
	/* The ".." of an export's root leads out of the export, to what both servers share. */
	if (e->name_handle.handle_follows && strcmp(e->name, "..") && a->n_learnt < LEARN_MAX) {
		a->learnt[a->n_learnt].fh = a->fh;
		a->learnt[a->n_learnt].type =
			e->name_attributes.attributes_follow
				? (int)e->name_attributes.post_op_attr_u.attributes.type
				: 0;
		a->n_learnt++;
	}
	a->fh = saved;
	a->last_cookie = e->cookie;
	a->n_entries++;
}

static void render_readdirplus(struct answer *a, const READDIRPLUS3res *res)
{
	const READDIRPLUS3resok *ok = &res->READDIRPLUS3res_u.resok;

	add_object(a, &ok->dir_attributes);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text, " verf=%s", zero_or_set(ok->cookieverf));
	for (const entryplus3 *e = ok->reply.entries; e; e = e->nextentry)
		render_entryplus(a, e);
	text_add(&a->text, " eof=%u", ok->reply.eof);
	a->eof = ok->reply.eof;
	memcpy(a->cookieverf, ok->cookieverf, sizeof(a->cookieverf));
}

static void render_fsstat(struct answer *a, const FSSTAT3res *res)
{
	const FSSTAT3resok *ok = &res->FSSTAT3res_u.resok;

	add_object(a, &ok->obj_attributes);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text, " bytes=%llu/%llu/%llu files=%llu/%llu/%llu invarsec=%u",
		 (unsigned long long)ok->tbytes, (unsigned long long)ok->fbytes,
		 (unsigned long long)ok->abytes, (unsigned long long)ok->tfiles,
		 (unsigned long long)ok->ffiles, (unsigned long long)ok->afiles, ok->invarsec);
}

static void render_fsinfo(struct answer *a, const FSINFO3res *res)
{
	const FSINFO3resok *ok = &res->FSINFO3res_u.resok;

	add_object(a, &ok->obj_attributes);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text,
		 " rt=%u/%u/%u wt=%u/%u/%u dtpref=%u maxfilesize=%llu delta=%u.%09u "
		 "properties=%x",
		 ok->rtmax, ok->rtpref, ok->rtmult, ok->wtmax, ok->wtpref, ok->wtmult, ok->dtpref,
		 (unsigned long long)ok->maxfilesize, ok->time_delta.seconds,
		 ok->time_delta.nseconds, ok->properties);
}

static void render_pathconf(struct answer *a, const PATHCONF3res *res)
{
	const PATHCONF3resok *ok = &res->PATHCONF3res_u.resok;

	add_object(a, &ok->obj_attributes);
	if (res->status != NFS3_OK)
		return;
	text_add(&a->text, " linkmax=%u name_max=%u no_trunc=%u chown=%u case=%u/%u", ok->linkmax,
		 ok->name_max, ok->no_trunc, ok->chown_restricted, ok->case_insensitive,
		 ok->case_preserving);
}

static void render_commit(struct answer *a, const COMMIT3res *res)
{
	add_wcc(a, &res->COMMIT3res_u.resok.file_wcc);
	if (res->status != NFS3_OK)
		return;
	a->has_verf = true;
	memcpy(a->verf, res->COMMIT3res_u.resok.verf, sizeof(a->verf));
}

/* MKDIR, SYMLINK and MKNOD answer with CREATE's layout, REMOVE and RMDIR with SETATTR's. */
static void render(struct answer *a, const void *res)
{
	switch (a->proc) {
	case P_GETATTR:
		render_getattr(a, res);
		break;
	case P_SETATTR:
	case P_REMOVE:
	case P_RMDIR:
		render_setattr(a, res);
		break;
	case P_LOOKUP:
		render_lookup(a, res);
		break;
	case P_ACCESS:
		render_access(a, res);
		break;
	case P_READLINK:
		render_readlink(a, res);
		break;
	case P_READ:
		render_read(a, res);
		break;
	case P_WRITE:
		render_write(a, res);
		break;
	case P_CREATE:
	case P_MKDIR:
	case P_SYMLINK:
	case P_MKNOD:
		render_create(a, res);
		break;
	case P_RENAME:
		render_rename(a, res);
		break;
	case P_LINK:
		render_link(a, res);
		break;
	case P_READDIR:
		render_readdir(a, res);
		break;
	case P_READDIRPLUS:
		render_readdirplus(a, res);
		break;
	case P_FSSTAT:
		render_fsstat(a, res);
		break;
	case P_FSINFO:
		render_fsinfo(a, res);
		break;
	case P_PATHCONF:
		render_pathconf(a, res);
		break;
	case P_COMMIT:
		render_commit(a, res);
		break;
	default:
		break;
	}
}

void answer_cb(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct answer *a = private_data;

	a->arrived = true;
	--*a->outstanding;
	if (status != RPC_STATUS_SUCCESS) {
		a->status = -1;
		text_add(&a->text, "call failed (%d): %s", status,
			 status == RPC_STATUS_ERROR && data ? (const char *)data : "");
		return;
	}
	if (a->proc == P_NULL) {
		text_add(&a->text, "OK");
		return;
	}
	a->status = (int)*(const nfsstat3 *)data; /* every result starts with it */
	text_add(&a->text, "%s", status_name(a->status));
	render(a, data);
}
