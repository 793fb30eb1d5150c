/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where ext4's inodes are. See tree_tables.h. */
#include "disk/tree_tables.h"

#include <endian.h>
#include <string.h>
#include <unistd.h>

/* The superblock's place and length, places within it, and what they may hold: all little endian. */
#define SUPER		  1024
#define SUPER_INODES	  0x00
#define SUPER_FIRST_BLOCK 0x14
#define SUPER_BLOCK_SIZE  0x18
#define SUPER_OF_GROUP	  0x28
#define SUPER_MAGIC	  0x38
#define SUPER_REVISION	  0x4c
#define SUPER_INODE_SIZE  0x58
#define SUPER_FEATURES	  0x60
#define SUPER_DESCRIPTOR  0xfe
#define MAGIC		  0xef53
#define BLOCK_SIZE_MIN	  1024
#define BLOCK_SIZE_SHIFTS 6
#define INODE_SIZE_OLD	  128
#define FEATURE_META_BG	  0x10 /* descriptors lie elsewhere */
#define FEATURE_64BIT	  0x80
/* A group's descriptor: without the feature, and at least with it; the table's first block, low and high. */
#define DESCRIPTOR_OLD	 32
#define DESCRIPTOR_64BIT 64
#define DESCRIPTOR_LOW	 0x08
#define DESCRIPTOR_HIGH	 0x28

static uint32_t number16(const uint8_t *at)
{
	uint16_t n;

	memcpy(&n, at, sizeof(n));
	return le16toh(n);
}

static uint32_t number32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return le32toh(n);
}

static bool is_power(uint32_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static bool is_sound(const struct tree_tables *t)
{
	return t->block_size >= (uint64_t)sysconf(_SC_PAGESIZE) && t->inodes != 0 &&
	       t->of_group != 0 && is_power(t->inode_size) && t->inode_size >= INODE_SIZE_OLD &&
	       t->inode_size <= t->block_size && is_power(t->descriptor_size) &&
	       t->descriptor_size <= t->block_size;
}

bool tree_tables_read(struct tree_tables *t, int fd)
{
	uint8_t super[SUPER];
	uint32_t shift, features;

	if (pread(fd, super, sizeof(super), SUPER) != sizeof(super) ||
	    number16(super + SUPER_MAGIC) != MAGIC)
		return false;
	shift = number32(super + SUPER_BLOCK_SIZE);
	features = number32(super + SUPER_FEATURES);
	if (shift > BLOCK_SIZE_SHIFTS || (features & FEATURE_META_BG))
		return false;
	*t = (struct tree_tables){
		.fd = fd,
		.inodes = number32(super + SUPER_INODES),
		.of_group = number32(super + SUPER_OF_GROUP),
		.inode_size = number32(super + SUPER_REVISION) != 0
				      ? number16(super + SUPER_INODE_SIZE)
				      : INODE_SIZE_OLD,
		.block_size = BLOCK_SIZE_MIN << shift,
		.descriptor_size = features & FEATURE_64BIT ? number16(super + SUPER_DESCRIPTOR)
							    : DESCRIPTOR_OLD,
	};
	t->descriptors = ((uint64_t)number32(super + SUPER_FIRST_BLOCK) + 1) * t->block_size;
	return is_sound(t);
}

/* Where GROUP's table is (bytes); 0: it is not to be had. */
static uint64_t find_table(const struct tree_tables *t, uint64_t group)
{
	uint8_t descriptor[DESCRIPTOR_64BIT] = {0};
	size_t len =
		t->descriptor_size < sizeof(descriptor) ? t->descriptor_size : sizeof(descriptor);
	uint64_t block;

	if (pread(t->fd, descriptor, len, (off_t)(t->descriptors + group * t->descriptor_size)) !=
	    (ssize_t)len)
		return 0;
	block = number32(descriptor + DESCRIPTOR_LOW);
	block |= (uint64_t)number32(descriptor + DESCRIPTOR_HIGH) << 32;
	return block <= INT64_MAX / t->block_size ? block * t->block_size : 0;
}

uint64_t tree_tables_place(struct tree_tables *t, uint64_t inode)
{
	uint64_t group = (inode - 1) / t->of_group;

	if (inode == 0 || inode > t->inodes)
		return 0;
	if (t->group != group + 1)
		t->table = find_table(t, group);
	t->group = group + 1;
	return t->table != 0 ? t->table + (inode - 1) % t->of_group * t->inode_size : 0;
}

bool tree_tables_run(struct tree_tables *t, const struct dir_list *list, uint32_t *place,
		     struct tree_run *run)
{
	uint64_t group = 0;

	*run = (struct tree_run){0};
	for (; *place < dir_list_count(list); ++*place) {
		uint32_t index = dir_list_at(list, DIR_BY_INODE, *place);
		uint64_t at = tree_tables_place(t, dir_list_inode(list, index));

		if (at == 0)
			continue;
		at -= at % t->block_size;
		if (run->upto == 0)
			run->from = at;
		else if (t->group != group || at > run->upto + TREE_RUN_GAP ||
			 at - run->from >= TREE_RUN_MAX)
			break;
		group = t->group;
		run->upto = at + t->block_size;
	}
	return run->upto != 0;
}
