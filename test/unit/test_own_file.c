/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A file that was loaded, and what has become of it. */
#include "common/own_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct own_file own;
static char directory[] = "/tmp/own-file-XXXXXX", path[64], other[64];

static void make(const char *name)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void an_update_and_a_removal_are_seen(void **unused)
{
	make(path);
	own_file_note(&own, path);
	assert_string_equal(own_file_state(&own), "loaded");
	make(other);
	assert_int_equal(rename(other, path), 0);
	assert_string_equal(own_file_state(&own), "replaced");
	assert_int_equal(unlink(path), 0);
	assert_string_equal(own_file_state(&own), "removed");
}

static void a_link_is_followed(void **unused)
{
	make(path);
	assert_int_equal(symlink(path, other), 0);
	own_file_note(&own, other);
	assert_int_equal(unlink(other), 0);
	assert_string_equal(own_file_state(&own), "loaded");
	assert_int_equal(unlink(path), 0);
}

static void what_cannot_be_found_is_unknown(void **unused)
{
	own_file_note(&own, "/nowhere/at/all");
	assert_string_equal(own_file_state(&own), "unknown");
}

static void an_address_leads_to_its_file(void **unused)
{
	own_file_note_address(&own, &own);
	assert_string_equal(own_file_state(&own), "loaded");
	own_file_note_address(&own, NULL);
	assert_string_equal(own_file_state(&own), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_update_and_a_removal_are_seen),
		cmocka_unit_test(a_link_is_followed),
		cmocka_unit_test(what_cannot_be_found_is_unknown),
		cmocka_unit_test(an_address_leads_to_its_file),
	};
	int failed;

	if (mkdtemp(directory) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/file", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
