/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Directories and files as the fetcher opens them, and that the pieces of all of them come. */
#include "disk/residency.h"
#include "disk/tree_pieces.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* Directories do not say what their entries are; or they have links without end. */
static bool untold, links_without_end;

ssize_t __real_getdents64(int fd, void *buffer, size_t size);
ssize_t __wrap_getdents64(int fd, void *buffer, size_t size);

ssize_t __wrap_getdents64(int fd, void *buffer, size_t size)
{
	struct dirent64 *link = buffer;
	ssize_t got;

	if (links_without_end) {
		*link = (struct dirent64){.d_ino = 1, .d_type = DT_LNK, .d_reclen = 32};
		strcpy(link->d_name, "link");
		return link->d_reclen;
	}
	got = __real_getdents64(fd, buffer, size);
	for (ssize_t at = 0; untold && at < got;) {
		struct dirent64 *e = (struct dirent64 *)(void *)((char *)buffer + at);

		e->d_type = DT_UNKNOWN;
		at += e->d_reclen;
	}
	return got;
}

static char top[] = "/tmp/ra-tree-XXXXXX";
static struct tree_dir dir;
static atomic_bool spoilt;

static void make(const char *name, size_t len)
{
	char path[256], *data = calloc(1, len + 1);
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	free(data);
}

static int setup(void **state)
{
	char path[256];

	assert_non_null(mkdtemp(top));
	make("small", 300);
	make("large", 3 * MIB);
	make("empty", 0);
	snprintf(path, sizeof(path), "%s/sub", top);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/pipe", top);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/link", top);
	assert_int_equal(symlink("small", path), 0);
	dir.fd = open(top, O_RDONLY | O_DIRECTORY);
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"small", "large", "empty", "pipe", "link"};
	char path[256];

	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sub", top);
	rmdir(path);
	tree_dir_close(&dir);
	return rmdir(top);
}

/* The directory once more, as opened from within it. */
static void open_top(struct tree_dir *again)
{
	struct stat st;

	assert_int_equal(fstat(dir.fd, &st), 0);
	dir.dev = st.st_dev;
	assert_true(tree_dir_open_at(again, &dir, "."));
	assert_int_equal(again->inode, st.st_ino);
	assert_int_equal(again->id, tree_id(st.st_dev, st.st_ino));
}

static uint32_t pauses, pauses_max;

static bool pause_reading(void *arg)
{
	return ++pauses < pauses_max;
}

static const struct tree_dir_pause pausing = {.pause = pause_reading};

/* Not read on the disk's time without end, nor without a pause, nor after it is wanted. */
static void test_a_directory_without_end(void **state)
{
	struct dir_list *files, *dirs;
	struct tree_dir again;

	open_top(&again);
	links_without_end = true;
	pauses = 0;
	pauses_max = UINT32_MAX;
	assert_true(tree_dir_read(&again, &pausing, &files, &dirs));
	assert_int_equal(pauses, TREE_ENTRIES_MAX);
	assert_int_equal(dir_list_count(files), 0);
	dir_list_free(files);
	dir_list_free(dirs);
	pauses = 0;
	pauses_max = 3;
	assert_false(tree_dir_read(&again, &pausing, &files, &dirs));
	assert_int_equal(pauses, 3);
	assert_null(files);
	links_without_end = false;
	tree_dir_close(&again);
}

static void test_entries(void **state)
{
	struct dir_list *files, *dirs;
	struct tree_dir again;

	open_top(&again);
	pauses = 0;
	pauses_max = UINT32_MAX;
	assert_true(tree_dir_read(&again, &pausing, &files, &dirs));
	assert_true(pauses >= 1);
	assert_int_equal(dir_list_count(files), 3); /* no pipe, no link */
	assert_int_equal(dir_list_count(dirs), 1);
	assert_string_equal(dir_list_name(dirs, 0), "sub");
	dir_list_free(files);
	dir_list_free(dirs);
	tree_dir_close(&again);
	assert_false(tree_dir_open_at(&again, &dir, "small"));
	assert_false(tree_dir_open_at(&again, &dir, "none"));
	tree_dir_close(&again);
}

/* Of a directory that does not say what its entries are the inodes do; of more than a few those count as files. */
static void test_entries_untold(void **state)
{
	struct dir_list *files, *dirs;
	struct tree_dir again;
	char name[32];

	pauses = 0;
	pauses_max = UINT32_MAX;
	untold = true;
	open_top(&again);
	assert_true(tree_dir_read(&again, &pausing, &files, &dirs));
	assert_int_equal(dir_list_count(files), 3);
	assert_int_equal(dir_list_count(dirs), 1);
	assert_string_equal(dir_list_name(dirs, 0), "sub");
	dir_list_free(files);
	dir_list_free(dirs);
	for (int i = 0; i < 2 * TREE_UNKNOWN_MAX; i++) {
		snprintf(name, sizeof(name), "more%d", i);
		assert_int_equal(mkdirat(dir.fd, name, 0700), 0);
	}
	assert_true(tree_dir_read(&again, &pausing, &files, &dirs));
	assert_in_range(dir_list_count(dirs), TREE_UNKNOWN_MAX - 5, TREE_UNKNOWN_MAX);
	assert_in_range(dir_list_count(files), TREE_UNKNOWN_MAX,
			2 * TREE_UNKNOWN_MAX + 6 - dir_list_count(dirs));
	for (int i = 0; i < 2 * TREE_UNKNOWN_MAX; i++) {
		snprintf(name, sizeof(name), "more%d", i);
		assert_int_equal(unlinkat(dir.fd, name, AT_REMOVEDIR), 0);
	}
	dir_list_free(files);
	dir_list_free(dirs);
	tree_dir_close(&again);
	untold = false;
}

static uint64_t inode_of(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir.fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

/* Only what the list meant: no other file in its place, and nothing that opening does something to. */
static void test_files(void **state)
{
	struct tree_dir again;
	uint64_t size = 0;
	int fd;

	open_top(&again);
	fd = tree_file_open(&again, "small", inode_of("small"), &size);
	assert_true(fd >= 0 && size == 300);
	close(fd);
	assert_int_equal(tree_file_open(&again, "small", inode_of("large"), &size), -1);
	assert_int_equal(tree_file_open(&again, "pipe", inode_of("pipe"), &size), -1);
	assert_int_equal(tree_file_open(&again, "link", inode_of("small"), &size), -1);
	assert_int_equal(tree_file_open(&again, "none", 1, &size), -1);
	tree_dir_close(&again);
}

/* In a namespace of our own; returns how many of what is mounted were entered, 64: nothing could be mounted. */
static int enter_what_is_mounted(void)
{
	uint64_t large = inode_of("large"), size;
	struct dir_list *files, *dirs;
	struct tree_dir again, sub;
	char from[256], to[256];
	int entered = 0, fd;

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return 64;
	dir.fd = open(top, O_RDONLY | O_DIRECTORY); /* of this namespace */
	open_top(&again);
	snprintf(from, sizeof(from), "%s/other", top);
	snprintf(to, sizeof(to), "%s/sub", top);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(from, to, NULL, MS_BIND, NULL))
		return 64;
	snprintf(from, sizeof(from), "%s/large", top);
	snprintf(to, sizeof(to), "%s/small", top);
	if (mount(from, to, NULL, MS_BIND, NULL))
		return 64;
	entered += tree_dir_open_at(&sub, &again, "sub");
	entered += tree_dir_look(&again, "sub");
	entered += !tree_dir_look(&again, "large");
	fd = tree_file_open(&again, "small", large, &size);
	entered += fd >= 0;
	untold = true;
	entered += !tree_dir_read(&again, &pausing, &files, &dirs);
	entered += dir_list_count(dirs) != 1; /* the other one */
	return entered;
}

/* The same file system bound to another place looks like a part of it; a dead server would have us wait for it. */
static void test_what_is_mounted_is_left_alone(void **state)
{
	int status = 0;
	pid_t child;

	assert_int_equal(mkdirat(dir.fd, "other", 0700), 0);
	pauses_max = UINT32_MAX;
	child = fork();
	if (child == 0)
		_exit(enter_what_is_mounted());
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_int_equal(unlinkat(dir.fd, "other", AT_REMOVEDIR), 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 64)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_all_pieces_come_once(void **state)
{
	struct tree_dir again;
	struct tree_file files[3];
	struct tree_pieces p = {.spoilt = &spoilt};
	const struct tree_piece *piece;
	static const char *const names[] = {"small", "large", "empty"};
	uint32_t bytes = 0, got = 0;

	open_top(&again);
	for (uint32_t i = 0; i < 3; i++) {
		files[i] = (struct tree_file){
			.dir = &again, .name = names[i], .inode = inode_of(names[i]), .index = i};
		bytes += tree_pieces_add(&p, &files[i], i);
	}
	assert_true(bytes <=
		    300 + TREE_HEAD); /* the head of what is large; less if it is in memory */
	tree_pieces_sort(&p);
	while ((piece = tree_pieces_next(&p, files)) != NULL) {
		got += piece->len;
		files[piece->file].left--;
	}
	assert_int_equal(got, bytes);
	for (int i = 0; i < 3; i++)
		assert_int_equal(files[i].left, 0);
	tree_pieces_fini(&p);
	tree_dir_close(&again);
}

/* Paused, it ends what is under way, and goes on later. */
static void test_pause(void **state)
{
	struct tree_file file = {.dir = &dir, .name = "small"};
	struct tree_pieces p = {.spoilt = &spoilt};
	struct stat st;
	uint32_t n = 0;

	assert_int_equal(fstat(dir.fd, &st), 0);
	dir.dev = st.st_dev;
	file.inode = inode_of("small");
	make("small", 300);
	if (tree_pieces_add(&p, &file, 0) == 0)
		skip(); /* in memory: this file system keeps it */
	tree_pieces_pause(&p, true);
	assert_null(tree_pieces_next(&p, &file));
	tree_pieces_pause(&p, false);
	while (tree_pieces_next(&p, &file) != NULL)
		n++;
	assert_int_equal(n, p.n);
	tree_pieces_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_a_directory_without_end),
		cmocka_unit_test(test_entries_untold),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_what_is_mounted_is_left_alone),
		cmocka_unit_test(test_all_pieces_come_once),
		cmocka_unit_test(test_pause),
	};

	residency_start("auto");
	return cmocka_run_group_tests(tests, setup, teardown);
}
