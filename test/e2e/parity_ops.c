/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Random NFSv3 operations. No model of the file system is kept: the two servers are each other's
 * model. What is kept is a set of handle pairs (some of them stale by now, on purpose), and names
 * come from a small set, so that operations meet: creates collide, renames hit existing objects,
 * unlinked files are read.
 */
#include "parity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE_NAMES	     24
#define INODE_AND_GENERATION 12		 /* bytes at a handle's end, padding too */
#define PAST_S		     1000000000u /* client-set times stay before 2001: see parity_answer.c */

/* Share of each procedure, in 1/1000. */
static const int weight[PROCS] = {
	[P_NULL] = 5,	   [P_GETATTR] = 50, [P_SETATTR] = 85,	   [P_LOOKUP] = 75, [P_ACCESS] = 35,
	[P_READLINK] = 30, [P_READ] = 145,   [P_WRITE] = 165,	   [P_CREATE] = 85, [P_MKDIR] = 30,
	[P_SYMLINK] = 25,  [P_MKNOD] = 25,   [P_REMOVE] = 50,	   [P_RMDIR] = 18,  [P_RENAME] = 45,
	[P_LINK] = 30,	   [P_READDIR] = 25, [P_READDIRPLUS] = 30, [P_FSSTAT] = 12, [P_FSINFO] = 5,
	[P_PATHCONF] = 5,  [P_COMMIT] = 25,
};

static const struct {
	uint32_t uid, gid, extra_gid;
	int share; /* per cent */
} users[] = {
	{0, 0, 0, 60},
	{1000, 1000, 1000, 20},
	{1001, 1001, 1000, 12},
	{65534, 65534, 65534, 8},
};

/* splitmix64 */
uint64_t draw_bits(struct draw *draw)
{
	uint64_t z = draw->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint32_t draw_below(struct draw *draw, uint32_t n)
{
	return (uint32_t)((draw_bits(draw) >> 32) % n);
}

static bool chance(struct draw *draw, uint32_t per_cent)
{
	return draw_below(draw, 100) < per_cent;
}

void draw_learn(struct draw *draw, const struct node *node)
{
	int i = draw->nodes;

	if (draw->nodes < NODES_MAX) {
		draw->nodes++;
	} else {
		do
			i = (int)draw_below(draw, NODES_MAX);
		while (draw->node[i].root);
	}
	draw->node[i] = *node;
}

/* A node of type `type` (0: any), for the most part. */
static const struct node *pick_node(struct draw *draw, int type)
{
	const struct node *node = NULL;

	for (int tries = 0; tries < 24; tries++) {
		node = &draw->node[draw_below(draw, (uint32_t)draw->nodes)];
		if (!type || node->type == type || (tries == 0 && chance(draw, 3)))
			break;
	}
	return node;
}

static const struct node *pick_dir(struct draw *draw)
{
	if (chance(draw, 25))
		return &draw->node[chance(draw, 30)]; /* one of the two roots */
	return pick_node(draw, NF3DIR);
}

static uint32_t mutate_length(struct draw *draw, uint32_t len, int how)
{
	if (how == 0)
		return 0;
	if (how == 1)
		return draw_below(draw, len + 1);
	if (how == 2)
		return len + draw_below(draw, NFS3_FHSIZE - len + 1);
	return len;
}

/*
 * How many bytes of a pair of handles may be changed so that neither is a right one. Both sides choose generations by
 * themselves: handles that are alike are of a root, without one, and with the number of an inode at their end.
 * With another number in it that is a right handle, of two objects perhaps.
 */
static uint32_t mutable_bytes(const struct nfsc_fh fh[SIDES])
{
	bool alike = fh[0].len == fh[1].len && !memcmp(fh[0].data, fh[1].data, fh[0].len);

	if (!alike)
		return fh[0].len;
	return fh[0].len > INODE_AND_GENERATION ? fh[0].len - INODE_AND_GENERATION : 0;
}

/* Damages both handles of a pair in the same way. */
static void mutate(struct draw *draw, struct nfsc_fh fh[SIDES])
{
	int how = (int)draw_below(draw, 6);
	uint32_t len = mutate_length(draw, fh[0].len, how);
	uint32_t bytes = mutable_bytes(fh), at = draw_below(draw, bytes ? bytes : 1);
	char flip = (char)(1 + draw_below(draw, 255));
	uint64_t noise_seed = draw_bits(draw);

	for (int side = 0; side < SIDES; side++) {
		struct draw noise = {.rng = noise_seed};

		if (len > fh[side].len)
			memset(fh[side].data + fh[side].len, 0, len - fh[side].len);
		fh[side].len = len;
		if (how == 3 || how == 4)
			fh[side].data[at] ^= flip;
		for (uint32_t i = 0; how == 5 && i < len; i++)
			fh[side].data[i] = (char)draw_bits(&noise);
	}
}

static void use_node(struct draw *draw, struct op *op, struct nfsc_fh fh[SIDES],
		     const struct node *node)
{
	memcpy(fh, node->fh, sizeof(node->fh));
	text_add(&op->what, " #%d%s%s", (int)(node - draw->node), node->type == NF3DIR ? "/" : "",
		 node->export ? "(squash)" : "");
	if (chance(draw, 2)) {
		mutate(draw, fh);
		text_add(&op->what, "(damaged, %u bytes)", fh[0].len);
	}
}

/* The first object of an operation also says in which export its answers live. */
static void use_object(struct draw *draw, struct op *op, const struct node *node)
{
	op->export = node->export;
	use_node(draw, op, op->fh, node);
}

static void fill_name(struct draw *draw, char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		name[i] = (char)('a' + draw_below(draw, 26));
	name[len] = '\0';
}

static void odd_name(struct draw *draw, char *name)
{
	/* No name may lead out of the export: Ganesha 4.3 hands names with slashes to the kernel
	 * as they are. ("./" makes it abort.) */
	static const char *const odd[] = {
		"",	    ".",	"..",	  "a/b",       "n1/", "n1/n2",
		"\xff\xfe", "\xc3\xa4", "sp ace", "new\nline", "*",
	};
	static const size_t lengths[] = {255, 256, 257, 300, 1023, 1024, 2000};

	if (chance(draw, 60))
		strcpy(name, odd[draw_below(draw, sizeof(odd) / sizeof(odd[0]))]);
	else
		fill_name(draw, name, lengths[draw_below(draw, 7)]);
}

static void say_name(struct op *op, const char *name)
{
	text_add(&op->what, " ");
	text_add_name(&op->what, name);
}

static void draw_name(struct draw *draw, struct op *op, char *name)
{
	if (chance(draw, 5))
		odd_name(draw, name);
	else
		snprintf(name, NAME_SIZE, "n%u", draw_below(draw, BASE_NAMES));
	say_name(op, name);
}

static uint64_t draw_offset(struct draw *draw)
{
	static const uint64_t edges[] = {
		0x7ffff000,	    0x80000000,		0xfffff000,	    0x100000000,
		0xffffffff000,	    0xfffffffffff,	0x100000000000,	    0x7fffffffffffefff,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x10000000000,
	};
	uint32_t kind = draw_below(draw, 100);

	if (kind < 25)
		return 0;
	if (kind < 60)
		return 4096ull * draw_below(draw, 64);
	if (kind < 80)
		return draw_below(draw, 256 * 1024);
	if (kind < 96)
		return draw_below(draw, 4 * 1024 * 1024);
	return edges[draw_below(draw, sizeof(edges) / sizeof(edges[0]))];
}

static uint32_t draw_count(struct draw *draw)
{
	uint32_t kind = draw_below(draw, 100);

	if (kind < 3)
		return 0;
	if (kind < 45)
		return 1 + draw_below(draw, 8192);
	if (kind < 90)
		return 4096 * (1 + draw_below(draw, 16));
	return 1 + draw_below(draw, WRITE_MAX);
}

static nfstime3 draw_past(struct draw *draw)
{
	nfstime3 t = {.seconds = draw_below(draw, PAST_S), .nseconds = draw_below(draw, 999999999)};

	return t;
}

static uint32_t draw_mode(struct draw *draw)
{
	static const uint32_t modes[] = {0644, 0666,  0600,  0755,  0777,  0777,  0000,
					 0444, 04755, 06777, 02666, 01777, 04777, 0222};

	return modes[draw_below(draw, sizeof(modes) / sizeof(modes[0]))];
}

static uint32_t draw_owner(struct draw *draw)
{
	static const uint32_t owners[] = {0, 1000, 1001, 65534};

	return owners[draw_below(draw, 4)];
}

static void draw_times(struct draw *draw, struct op *op)
{
	sattr3 *at = &op->attr;

	if (chance(draw, 15)) {
		at->atime.set_it = chance(draw, 70) ? SET_TO_CLIENT_TIME : SET_TO_SERVER_TIME;
		at->atime.set_atime_u.atime = draw_past(draw);
		text_add(&op->what, " atime=%d", at->atime.set_it);
	}
	if (chance(draw, 15)) {
		at->mtime.set_it = chance(draw, 70) ? SET_TO_CLIENT_TIME : SET_TO_SERVER_TIME;
		at->mtime.set_mtime_u.mtime = draw_past(draw);
		text_add(&op->what, " mtime=%d", at->mtime.set_it);
	}
}

static void draw_attr(struct draw *draw, struct op *op, uint32_t mode_per_cent,
		      uint32_t size_per_cent)
{
	sattr3 *at = &op->attr;

	if (chance(draw, mode_per_cent)) {
		at->mode.set_it = 1;
		at->mode.set_mode3_u.mode = draw_mode(draw);
		text_add(&op->what, " mode=%o", at->mode.set_mode3_u.mode);
	}
	if (chance(draw, 12)) {
		at->uid.set_it = 1;
		at->uid.set_uid3_u.uid = draw_owner(draw);
		text_add(&op->what, " uid=%u", at->uid.set_uid3_u.uid);
	}
	if (chance(draw, 12)) {
		at->gid.set_it = 1;
		at->gid.set_gid3_u.gid = draw_owner(draw);
		text_add(&op->what, " gid=%u", at->gid.set_gid3_u.gid);
	}
	if (chance(draw, size_per_cent)) {
		at->size.set_it = 1;
		at->size.set_size3_u.size = chance(draw, 30) ? 0 : draw_offset(draw);
		text_add(&op->what, " size=%llu", (unsigned long long)at->size.set_size3_u.size);
	}
	draw_times(draw, op);
}

static void draw_any(struct draw *draw, struct op *op)
{
	use_object(draw, op, pick_node(draw, 0));
	op->mask = chance(draw, 70) ? 0x3f : draw_below(draw, 128);
}

static void draw_fsstat(struct draw *draw, struct op *op)
{
	use_object(draw, op, draw->fsstat_root ? &draw->node[0] : pick_node(draw, 0));
}

static void draw_setattr(struct draw *draw, struct op *op)
{
	use_object(draw, op, pick_node(draw, chance(draw, 70) ? NF3REG : 0));
	draw_attr(draw, op, 35, 35);
	op->guard = chance(draw, 20);
	if (op->guard)
		text_add(&op->what, " guarded");
}

/* A name in a directory, which it returns. */
static const struct node *draw_entry(struct draw *draw, struct op *op)
{
	const struct node *dir = pick_dir(draw);

	use_object(draw, op, dir);
	draw_name(draw, op, op->name);
	return dir;
}

static void draw_dir_name(struct draw *draw, struct op *op)
{
	draw_entry(draw, op);
}

static void draw_read(struct draw *draw, struct op *op)
{
	use_object(draw, op, pick_node(draw, NF3REG));
	op->offset = draw_offset(draw);
	op->count = draw_count(draw);
	if (op->count < draw->read_min)
		op->count = draw->read_min;
	if (chance(draw, 20)) {
		op->offset = 0;
		op->count = 8192u << draw_below(draw, 4);
		op->burst = 2 + (int)draw_below(draw, BURST_MAX - 1);
	} else if (op->count <= 65536 && chance(draw, 12)) {
		op->burst = AGAIN;
		op->again = true;
	}
	text_add(&op->what, " offset=%llu count=%u", (unsigned long long)op->offset, op->count);
	if (op->burst > 1)
		text_add(&op->what, " x%d%s", op->burst, op->again ? " again" : "");
}

static void draw_write(struct draw *draw, struct op *op)
{
	use_object(draw, op, pick_node(draw, NF3REG));
	op->offset = draw_offset(draw);
	op->count = draw_count(draw);
	if (chance(draw, 4)) { /* fills the file system in time */
		op->offset = (uint64_t)WRITE_MAX * draw_below(draw, 6);
		op->count = WRITE_MAX;
	}
	op->stable = chance(draw, 80) ? UNSTABLE : 1 + (int)draw_below(draw, 2);
	op->data = draw->noise + draw_below(draw, 4096);
	text_add(&op->what, " offset=%llu count=%u stable=%d", (unsigned long long)op->offset,
		 op->count, op->stable);
}

static void draw_create(struct draw *draw, struct op *op)
{
	draw_dir_name(draw, op);
	op->how = (createmode3)(chance(draw, 60) ? UNCHECKED : 1 + (int)draw_below(draw, 2));
	text_add(&op->what, " how=%d", op->how);
	if (op->how == EXCLUSIVE) {
		/* A server keeps the verifier in the times: two small numbers, few values, so that
		 * a create is repeated now and then. */
		uint32_t verf[2] = {draw_below(draw, 3), draw_below(draw, 3)};

		memcpy(op->createverf, verf, sizeof(verf));
		text_add(&op->what, " verf=%u.%u", verf[0], verf[1]);
		return;
	}
	draw_attr(draw, op, 80, 10);
}

static void draw_mkdir(struct draw *draw, struct op *op)
{
	const struct node *dir = draw_entry(draw, op);

	draw_attr(draw, op, 80, 0);
	draw->made.dir = (int)(dir - draw->node);
	strcpy(draw->made.name, op->name);
}

/* Of any name few are directories, and of these fewer are empty. */
static void draw_rmdir(struct draw *draw, struct op *op)
{
	if (!draw->made.name[0] || chance(draw, 60)) {
		draw_dir_name(draw, op);
		return;
	}
	use_object(draw, op, &draw->node[draw->made.dir]);
	strcpy(op->name, draw->made.name);
	say_name(op, op->name);
}

static void draw_symlink(struct draw *draw, struct op *op)
{
	static const size_t lengths[] = {1, 10, 59, 60, 255, 1000, 1023, 1024, 2000, 0};

	draw_dir_name(draw, op);
	fill_name(draw, op->name2, lengths[draw_below(draw, 10)]);
	text_add(&op->what, " -> ");
	text_add_name(&op->what, op->name2);
	draw_attr(draw, op, 50, 0);
}

static void draw_mknod(struct draw *draw, struct op *op)
{
	static const ftype3 types[] = {NF3CHR, NF3BLK, NF3SOCK, NF3FIFO, NF3FIFO, NF3REG};

	draw_dir_name(draw, op);
	op->type = types[draw_below(draw, 6)];
	op->spec.specdata1 = draw_below(draw, 300);
	op->spec.specdata2 = draw_below(draw, 300);
	text_add(&op->what, " type=%d %u:%u", op->type, op->spec.specdata1, op->spec.specdata2);
	draw_attr(draw, op, 80, 0);
}

static void draw_rename(struct draw *draw, struct op *op)
{
	draw_dir_name(draw, op);
	if (chance(draw, 60)) {
		memcpy(op->fh2, op->fh, sizeof(op->fh2));
		text_add(&op->what, " to =");
	} else {
		text_add(&op->what, " to");
		use_node(draw, op, op->fh2, pick_dir(draw));
	}
	draw_name(draw, op, op->name2);
}

static void draw_link(struct draw *draw, struct op *op)
{
	use_object(draw, op, pick_node(draw, chance(draw, 85) ? NF3REG : 0));
	text_add(&op->what, " as");
	use_node(draw, op, op->fh2, pick_dir(draw));
	draw_name(draw, op, op->name);
}

static void draw_listing(struct draw *draw, struct op *op)
{
	bool plus = op->proc == P_READDIRPLUS;

	op->dircount = 512 + draw_below(draw, 4096);
	op->count = chance(draw, 90) ? 256 + draw_below(draw, 16384) : draw_below(draw, 300);
	if (draw->listing.open && draw->listing.plus == plus && chance(draw, 80)) {
		memcpy(op->fh, draw->listing.dir, sizeof(op->fh));
		op->cookie = draw->listing.cookie;
		memcpy(op->cookieverf, draw->listing.verf, sizeof(op->cookieverf));
		text_add(&op->what, " continued");
	} else {
		use_object(draw, op, pick_dir(draw));
		if (chance(draw, 4))
			op->cookie = draw_bits(draw) >> draw_below(draw, 64);
	}
	if (chance(draw, 4)) {
		memset(op->cookieverf, 0x55, sizeof(op->cookieverf));
		text_add(&op->what, " wrong verifier");
	}
	text_add(&op->what, " cookie=%llx count=%u dircount=%u", (unsigned long long)op->cookie,
		 op->count, op->dircount);
}

static void draw_commit(struct draw *draw, struct op *op)
{
	const struct node *node = pick_node(draw, NF3REG);

	/* Ganesha 4.3 opens whatever COMMIT names: a FIFO blocks it for good, and the numbers of
	 * devices here are random. */
	if (node->type != NF3REG && node->type != NF3LNK)
		node = &draw->node[0];
	use_object(draw, op, node);
	op->offset = chance(draw, 70) ? 0 : draw_offset(draw);
	op->count = chance(draw, 70) ? 0 : draw_count(draw);
	text_add(&op->what, " offset=%llu count=%u", (unsigned long long)op->offset, op->count);
}

static void draw_nothing(struct draw *draw, struct op *op)
{
}

static void (*const draw_proc[PROCS])(struct draw *, struct op *) = {
	[P_NULL] = draw_nothing,    [P_GETATTR] = draw_any,	[P_SETATTR] = draw_setattr,
	[P_LOOKUP] = draw_dir_name, [P_ACCESS] = draw_any,	[P_READLINK] = draw_any,
	[P_READ] = draw_read,	    [P_WRITE] = draw_write,	[P_CREATE] = draw_create,
	[P_MKDIR] = draw_mkdir,	    [P_SYMLINK] = draw_symlink, [P_MKNOD] = draw_mknod,
	[P_REMOVE] = draw_dir_name, [P_RMDIR] = draw_rmdir,	[P_RENAME] = draw_rename,
	[P_LINK] = draw_link,	    [P_READDIR] = draw_listing, [P_READDIRPLUS] = draw_listing,
	[P_FSSTAT] = draw_fsstat,   [P_FSINFO] = draw_any,	[P_PATHCONF] = draw_any,
	[P_COMMIT] = draw_commit,
};

static enum proc draw_which(struct draw *draw)
{
	int total = 0;
	int at;

	for (int p = 0; p < PROCS; p++)
		total += weight[p];
	at = (int)draw_below(draw, (uint32_t)total);
	for (int p = 0; p < PROCS; p++) {
		at -= weight[p];
		if (at < 0)
			return (enum proc)p;
	}
	return P_NULL;
}

static void draw_user(struct draw *draw, struct op *op)
{
	int at = (int)draw_below(draw, 100);
	int i = 0;

	while (at >= users[i].share)
		at -= users[i++].share;
	op->uid = users[i].uid;
	op->gid = users[i].gid;
	op->extra_gid = users[i].extra_gid;
}

void draw_op(struct draw *draw, struct op *op)
{
	struct text what = op->what;

	memset(op, 0, sizeof(*op));
	op->what = what;
	text_clear(&op->what);
	op->proc = draw_which(draw);
	op->conn = (int)draw_below(draw, CONNS);
	op->timed = chance(draw, 1);
	op->burst = 1;
	draw_user(draw, op);
	text_add(&op->what, "%s uid=%u", proc_name[op->proc], op->uid);
	draw_proc[op->proc](draw, op);
}

static mknoddata3 mknod_data(const struct op *op)
{
	mknoddata3 what = {.type = op->type};

	if (op->type == NF3CHR || op->type == NF3BLK) {
		what.mknoddata3_u.chr_device.dev_attributes = op->attr;
		what.mknoddata3_u.chr_device.spec = op->spec;
	} else {
		what.mknoddata3_u.pipe_attributes = op->attr;
	}
	return what;
}

static int send_data(const struct op *op, int side, int i, struct rpc_context *rpc,
		     struct answer *a)
{
	nfs_fh3 fh = nfsc_wire(&op->fh[side]);

	if (op->proc == P_READ) {
		uint64_t ahead = op->again ? 0 : (uint64_t)i * op->count;
		READ3args args = {fh, op->offset + ahead, op->count};

		return rpc_nfs3_read_async(rpc, answer_cb, &args, a);
	}
	if (op->proc == P_WRITE) {
		WRITE3args args = {
			fh, op->offset, op->count, (stable_how)op->stable, {op->count, op->data}};

		return rpc_nfs3_write_async(rpc, answer_cb, &args, a);
	}
	COMMIT3args args = {fh, op->offset, op->count};

	return rpc_nfs3_commit_async(rpc, answer_cb, &args, a);
}

static int send_setattr(const struct op *op, int side, struct rpc_context *rpc, struct answer *a)
{
	SETATTR3args args = {.object = nfsc_wire(&op->fh[side]), .new_attributes = op->attr};

	args.guard.check = op->guard;
	args.guard.sattrguard3_u.obj_ctime = op->guard_time[side];
	return rpc_nfs3_setattr_async(rpc, answer_cb, &args, a);
}

static int send_create(const struct op *op, diropargs3 where, struct rpc_context *rpc,
		       struct answer *a)
{
	CREATE3args args = {.where = where, .how.mode = op->how};

	if (op->how == EXCLUSIVE)
		memcpy(args.how.createhow3_u.verf, op->createverf, sizeof(createverf3));
	else
		args.how.createhow3_u.obj_attributes = op->attr;
	return rpc_nfs3_create_async(rpc, answer_cb, &args, a);
}

/* The calls that name an entry of a directory. */
static int send_entry(const struct op *op, int side, struct rpc_context *rpc, struct answer *a)
{
	diropargs3 where = {nfsc_wire(&op->fh[side]), (char *)op->name};

	switch (op->proc) {
	case P_LOOKUP:
		return rpc_nfs3_lookup_async(rpc, answer_cb, &(LOOKUP3args){where}, a);
	case P_CREATE:
		return send_create(op, where, rpc, a);
	case P_MKDIR:
		return rpc_nfs3_mkdir_async(rpc, answer_cb, &(MKDIR3args){where, op->attr}, a);
	case P_SYMLINK:
		return rpc_nfs3_symlink_async(
			rpc, answer_cb, &(SYMLINK3args){where, {op->attr, (char *)op->name2}}, a);
	case P_MKNOD:
		return rpc_nfs3_mknod_async(rpc, answer_cb, &(MKNOD3args){where, mknod_data(op)},
					    a);
	case P_REMOVE:
		return rpc_nfs3_remove_async(rpc, answer_cb, &(REMOVE3args){where}, a);
	case P_RMDIR:
		return rpc_nfs3_rmdir_async(rpc, answer_cb, &(RMDIR3args){where}, a);
	default:
		return -1;
	}
}

static int send_two(const struct op *op, int side, struct rpc_context *rpc, struct answer *a)
{
	nfs_fh3 fh = nfsc_wire(&op->fh[side]);
	nfs_fh3 fh2 = nfsc_wire(&op->fh2[side]);

	if (op->proc == P_RENAME) {
		RENAME3args args = {{fh, (char *)op->name}, {fh2, (char *)op->name2}};

		return rpc_nfs3_rename_async(rpc, answer_cb, &args, a);
	}
	LINK3args args = {fh, {fh2, (char *)op->name}};

	return rpc_nfs3_link_async(rpc, answer_cb, &args, a);
}

static int send_readdir(const struct op *op, int side, struct rpc_context *rpc, struct answer *a)
{
	nfs_fh3 fh = nfsc_wire(&op->fh[side]);

	if (op->proc == P_READDIRPLUS) {
		READDIRPLUS3args args = {.dir = fh,
					 .cookie = op->cookie,
					 .dircount = op->dircount,
					 .maxcount = op->count};

		memcpy(args.cookieverf, op->cookieverf[side], sizeof(cookieverf3));
		return rpc_nfs3_readdirplus_async(rpc, answer_cb, &args, a);
	}
	READDIR3args args = {.dir = fh, .cookie = op->cookie, .count = op->count};

	memcpy(args.cookieverf, op->cookieverf[side], sizeof(cookieverf3));
	return rpc_nfs3_readdir_async(rpc, answer_cb, &args, a);
}

/* The calls with a handle and at most a mask. */
static int send_simple(const struct op *op, int side, struct rpc_context *rpc, struct answer *a)
{
	nfs_fh3 fh = nfsc_wire(&op->fh[side]);

	switch (op->proc) {
	case P_NULL:
		return rpc_nfs3_null_async(rpc, answer_cb, a);
	case P_GETATTR:
		return rpc_nfs3_getattr_async(rpc, answer_cb, &(GETATTR3args){fh}, a);
	case P_ACCESS:
		return rpc_nfs3_access_async(rpc, answer_cb, &(ACCESS3args){fh, op->mask}, a);
	case P_READLINK:
		return rpc_nfs3_readlink_async(rpc, answer_cb, &(READLINK3args){fh}, a);
	case P_FSSTAT:
		return rpc_nfs3_fsstat_async(rpc, answer_cb, &(FSSTAT3args){fh}, a);
	case P_FSINFO:
		return rpc_nfs3_fsinfo_async(rpc, answer_cb, &(FSINFO3args){fh}, a);
	case P_PATHCONF:
		return rpc_nfs3_pathconf_async(rpc, answer_cb, &(PATHCONF3args){fh}, a);
	default:
		return -1;
	}
}

int send_op(const struct op *op, int side, int i, struct rpc_context *rpc, struct answer *answer)
{
	switch (op->proc) {
	case P_READ:
	case P_WRITE:
	case P_COMMIT:
		return send_data(op, side, i, rpc, answer);
	case P_SETATTR:
		return send_setattr(op, side, rpc, answer);
	case P_RENAME:
	case P_LINK:
		return send_two(op, side, rpc, answer);
	case P_READDIR:
	case P_READDIRPLUS:
		return send_readdir(op, side, rpc, answer);
	case P_LOOKUP:
	case P_CREATE:
	case P_MKDIR:
	case P_SYMLINK:
	case P_MKNOD:
	case P_REMOVE:
	case P_RMDIR:
		return send_entry(op, side, rpc, answer);
	default:
		return send_simple(op, side, rpc, answer);
	}
}
