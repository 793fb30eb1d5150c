/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Files of /proc kept open: read anew each time, bounded, closed at the end. */
#include <dirent.h>
#include <unistd.h>

#include "pricing/proc_source.h"
#include "support.h"

static char dir[] = "/tmp/test_proc_source.XXXXXX";

static unsigned int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static char *name_of(unsigned int n)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s/%u", dir, n);
	return name;
}

static void put(unsigned int n, const char *text)
{
	FILE *f = fopen(name_of(n), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct proc_source *make(void)
{
	struct proc_source *p = malloc(sizeof(*p));

	assert_non_null(p);
	proc_source_init(p);
	return p;
}

static void destroy(struct proc_source *p)
{
	proc_source_fini(p);
	free(p);
}

static void test_read_anew_each_time(void **state)
{
	struct proc_source *p = make();

	put(1, "one\n");
	assert_true(source_read(&p->source, "%s/%d", dir, 1));
	assert_string_equal(p->source.text, "one\n");
	put(1, "another\n");
	assert_true(source_read(&p->source, "%s/%d", dir, 1));
	assert_string_equal(p->source.text, "another\n");
	assert_true(source_read(&p->source, "/proc/stat"));
	assert_non_null(strstr(p->source.text, "cpu"));
	unlink(name_of(1));
	destroy(p);
}

/* A card may be renamed, and another have its name: an open file would stay that of the first. */
static void test_cards_are_looked_up_each_time(void **state)
{
	struct proc_source *p = make();
	unsigned int before = open_files();

	assert_true(source_read(&p->source, "/sys/class/net/%s/ifindex", "lo"));
	assert_string_equal(p->source.text, "1\n");
	assert_int_equal(open_files(), before);
	assert_false(source_read(&p->source, "/sys/class/net/%s/ifindex", "none0"));
	destroy(p);
}

static void test_what_is_not_there(void **state)
{
	struct proc_source *p = make();

	assert_false(source_read(&p->source, "%s/nothing", dir));
	assert_false(source_read(&p->source, "%s/nothing", dir));
	assert_false(
		source_read(&p->source, "%s", dir)); /* a directory: it opens, and tells nothing */
	assert_int_equal(p->source.text[0], '\0');
	destroy(p);
}

static void test_what_comes_later(void **state)
{
	struct proc_source *p = make();

	assert_false(source_read(&p->source, "%s/1", dir));
	put(1, "50000 100000\n"); /* a limit of the server's group, while it runs */
	assert_true(source_read(&p->source, "%s/1", dir));
	unlink(name_of(1));
	destroy(p);
}

static void test_bounded_and_closed(void **state)
{
	struct proc_source *p = make();
	unsigned int before = open_files();

	for (unsigned int n = 0; n < 2 * PROC_FILES; n++) {
		put(n, "x\n");
		assert_true(source_read(&p->source, "%s/%u", dir, n));
	}
	assert_int_equal(open_files(), before + PROC_FILES);
	assert_true(source_read(&p->source, "%s/%u", dir, 0)); /* opened again */
	proc_source_fini(p);
	assert_int_equal(open_files(), before);
	for (unsigned int n = 0; n < 2 * PROC_FILES; n++)
		unlink(name_of(n));
	free(p);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_anew_each_time),
		cmocka_unit_test(test_cards_are_looked_up_each_time),
		cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_what_comes_later),
		cmocka_unit_test(test_bounded_and_closed),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
