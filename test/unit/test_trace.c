/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Traces as text: what is read out of them, what is refused and how, and the order that follows. */
#include "support.h"

#include "nfsreplay/replay.h"
#include "trace_text.h"

#define HEAD "nfs-trace 1\n"

static struct trace t; /* large */

static void read_good(const char *text)
{
	if (read_text(&t, text))
		fail_msg("refused: %s", t.problem);
}

/* That it is refused, and that the complaint has all of PARTS, which are divided by |. */
static void refuses(const char *text, const char *parts)
{
	char copy[256], *rest = copy, *part;

	assert_int_equal(read_text(&t, text), -1);
	snprintf(copy, sizeof(copy), "%s", parts);
	while ((part = strsep(&rest, "|"))) {
		if (!strstr(t.problem, part))
			fail_msg("\"%s\" is not in: %s", part, t.problem);
	}
	trace_free(&t);
}

static void test_fields(void **state)
{
	const struct trace_op *op;
	char path[TRACE_PATH_MAX + 1];

	read_good(HEAD "# comment\n\n  \t\ndir empty\nfile a/b#c 12345 # of mail\r\n"
		       "0 c1 lookup a/b#c\n"
		       "1.5 c1 read a/b#c 8192 4096 took=250\n"
		       "1.500001 c-2 write a/b#c 0 77 stable=file status=28 took=9");
	assert_int_equal(t.op_count, 3);
	assert_int_equal(t.client_count, 2);
	assert_string_equal(t.clients[1].name, "c-2");
	op = &t.ops[1];
	assert_int_equal(op->at, 1500000);
	assert_int_equal(op->kind, TRACE_READ);
	assert_int_equal(op->offset, 8192);
	assert_int_equal(op->length, 4096);
	assert_int_equal(op->took, 250);
	assert_int_equal(op->line, 8);
	assert_string_equal(trace_path(&t, op->object, path), "a/b#c");
	assert_int_equal(t.objects[op->object].prepared_size, 12345);
	op = &t.ops[2];
	assert_int_equal(op->at, 1500001);
	assert_int_equal(op->stable, 2);
	assert_int_equal(op->status, 28);
	trace_free(&t);
}

static void test_directories_come_before_what_they_hold(void **state)
{
	read_good(HEAD "file x/y/z 1\n0 c getattr x/y/z\n");
	assert_int_equal(t.object_count, 3);
	for (uint32_t i = 0; i < t.object_count; i++) {
		assert_true(t.objects[i].parent == TRACE_NONE || t.objects[i].parent < i);
		assert_int_equal(t.objects[i].prepared, i == 2 ? TRACE_FILE : TRACE_DIR);
	}
	trace_free(&t);
}

static void test_bad_lines(void **state)
{
	static const char *const lines[][2] = {
		{"x", "time x|seconds from 0 to 31622400"},
		{"-1 c getattr .", "time -1"},
		{"1e3 c getattr .", "time 1e3"},
		{"1. c getattr .", "time 1."},
		{"1.1234567 c getattr .", "six decimals"},
		{"31622401 c getattr .", "time 31622401"},
		{"99999999999999999999 c getattr .", "time 9999"},
		{"0", "client is missing|1 to 63 letters"},
		{"0 c/d getattr .", "client c/d"},
		{"0 c", "operation is missing|getattr, setattr"},
		{"0 c open a", "operation open|readdirplus, fsstat or commit"},
		{"0 c getattr", "path is missing"},
		{"0 c getattr /a", "path /a|components of 1 to 255"},
		{"0 c getattr a//b", "path a//b"},
		{"0 c getattr a/", "path a/"},
		{"0 c getattr ../a", "path ../a"},
		{"0 c getattr a/./b", "path a/./b"},
		{"0 c getattr \x01", "path \x01"},
		{"0 c getattr b\xc3\xa4r", "printing ASCII"},
		{"0 c read f", "offset is missing|number from 0 to 1099511627776"},
		{"0 c read f 0", "length is missing|number from 1 to 1048576"},
		{"0 c read f 0 0", "length 0|from 1 to 1048576"},
		{"0 c read f 0 1048577", "length 1048577"},
		{"0 c read f -1 5", "offset -1"},
		{"0 c read f 0x10 5", "offset 0x10"},
		{"0 c read f 1 5 6", "6: too many arguments of read"},
		{"0 c read f 1 5 stable=file", "stable=file|of a write"},
		{"0 c write f 1 5 stable=hard", "stable=hard|unstable, data or file"},
		{"0 c write f 1099511627776 5", "write of f: it must end below 2^40"},
		{"0 c read f 1 5 took=", "took |number from 0 to 4294967295"},
		{"0 c read f 1 5 status=10009", "status 10009|from 0 to 10008"},
		{"0 c read f 1 5 colour=red", "colour=: must be took=, status= or stable="},
		{"0 c setattr f", "size is missing"},
		{"0 c getattr g", "getattr of g: nothing is there then"},
		{"0 c read d 0 1", "read of d: it must be a file"},
		{"0 c readdir f 100", "readdir of f: it must be a directory"},
		{"0 c lookup e/x", "no directory holds it then"},
		{"0 c lookup g", "status=2"},
		{"0 c lookup f status=2", "it is there then"},
		{"0 c create d", "something is there already"},
		{"0 c mkdir f", "something is there already"},
		{"0 c mkdir .", "must be below the root"},
		{"0 c remove d", "use rmdir"},
		{"0 c rmdir f", "use remove"},
		{"0 c rmdir d", "it is not empty then"},
		{"0 c rename f f", "to another name"},
		{"0 c rename d g", "only a file can be renamed"},
		{"0 c rename f d", "only a file can be renamed"},
		{"file f 1", "f is declared already"},
		{"file f/g 1", "f is declared already"},
		{"file h", "size is missing|1099511627776"},
		{"file h 1 2", "2: too many arguments of file"},
		{"dir h 2", "2: too many arguments of dir"},
		{"file . 2", ". is a directory"},
		{"1 c getattr f\nfile h 1", "line 5|file must come before the first operation"},
		{"1 c getattr f\n0.999999 c getattr f", "line 5|time 0.999999|above, 1.000000"},
	};
	char text[512];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(text, sizeof(text), HEAD "file f 100\nfile d/x 1\n%s\n", lines[i][0]);
		refuses(text, lines[i][1]);
		if (!strchr(lines[i][0], '\n'))
			refuses(text, "line 4: ");
	}
}

static void test_bad_wholes(void **state)
{
	static char text[2 * TRACE_LINE_MAX];

	refuses("\n", "line 1|must be: nfs-trace 1");
	refuses("nfs-trace", "line 1|must be: nfs-trace 1");
	refuses("nfs-trace 2\n", "version 2|from 1 to 1");
	refuses("nfs-trace 1 x\n", "must be: nfs-trace 1");
	refuses(HEAD, "no operation");
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, HEAD, strlen(HEAD));
	refuses(text, "line 2: it must have at most 4096 bytes");
	assert_int_equal(read_bytes(&t, HEAD "0 c getattr .\0x\n", 30), -1);
	assert_non_null(strstr(t.problem, "line 2: it must be text"));
	trace_free(&t);
}

static void test_too_many_clients(void **state)
{
	char *text = malloc(64 * TRACE_CLIENTS_MAX), *p = text;

	p += sprintf(p, HEAD);
	for (int i = 0; i <= TRACE_CLIENTS_MAX; i++)
		p += sprintf(p, "0 c%d getattr .\n", i);
	refuses(text, "client c512: a trace has at most 512 clients");
	free(text);
}

/* create, write, read, rename over, read, remove, create again: which life each is about. */
static void test_generations(void **state)
{
	read_good(HEAD "file b 5\n"
		       "0 c create a\n" /* 0 */
		       "1 c write a 0 10\n"
		       "2 c read b 0 5\n"
		       "3 c rename a b\n" /* 3 */
		       "4 c read b 0 10\n"
		       "5 c remove b\n" /* 5 */
		       "6 c create b\n"
		       "7 c read b 0 10\n"); /* 7 */
	assert_int_equal(t.ops[1].ref[0].generation, 1);
	assert_int_equal(t.ops[1].ref[0].uses, TRACE_USE);
	assert_int_equal(t.ops[3].refs, 2);
	assert_int_equal(t.ops[3].ref[0].uses, 1); /* of a: the write */
	assert_int_equal(t.ops[3].ref[1].uses, 1); /* of b: the read */
	assert_int_equal(t.ops[4].ref[0].generation, 1);
	assert_int_equal(t.ops[4].content, t.ops[1].content);
	assert_int_equal(t.ops[4].size, 10);
	assert_int_equal(t.ops[5].ref[0].uses, 1);
	assert_int_equal(t.ops[7].ref[0].generation, 3);
	assert_int_equal(t.ops[7].size, 0);
	assert_true(t.ops[7].content != t.ops[4].content && t.ops[7].content != t.ops[2].content);
	trace_free(&t);
}

static void test_holes(void **state)
{
	read_good(HEAD "file a 8\nfile b 8\nfile c 8\n"
		       "0 c write a 8 8\n0 c write b 9 1\n0 c setattr c 20\n0 c setattr a 3\n");
	assert_false(t.sparse[t.ops[0].content]);
	assert_true(t.sparse[t.ops[1].content]);
	assert_true(t.sparse[t.ops[2].content]);
	assert_int_equal(t.objects[t.ops[0].object].size, 3);
	trace_free(&t);
}

/* Two reads on their way together, then one that waited for the first only, then one for both. */
static void test_what_a_client_waited_for(void **state)
{
	read_good(HEAD "file f 9\n"
		       "0.0 c read f 0 1 took=300\n"
		       "0.0 d read f 0 1 took=1000000\n"
		       "0.0001 c read f 1 1 took=100\n"
		       "0.000250 c read f 2 1 took=1\n"
		       "0.000300 c read f 3 1\n"
		       "0.000300 c read f 4 1\n");
	assert_int_equal(t.ops[0].needs, 0);
	assert_int_equal(t.ops[2].needs, 0);
	assert_int_equal(t.ops[3].needs, 1);
	assert_int_equal(t.clients[0].by_end[0], 2);
	assert_int_equal(t.ops[4].needs, 3);
	assert_int_equal(t.ops[5].needs, 4); /* its time is not known: answered at once */
	trace_free(&t);
}

static void test_bytes_are_of_their_place(void **state)
{
	char buffer[64], other[64];
	const char *whole = bytes_of(1, 7, 0, buffer, 40);

	for (size_t at = 0; at < 20; at++)
		assert_memory_equal(bytes_of(1, 7, at, other, 20), whole + at, 20);
	assert_int_equal(bytes_wrong(bytes_of(1, 7, 8, other, 20), whole, 20, false), 20);
	assert_int_not_equal(bytes_wrong(bytes_of(1, 8, 0, other, 20), whole, 20, false), 0);
	memset(other, 0, 20);
	assert_int_not_equal(bytes_wrong(other, whole, 20, false), 0);
	assert_int_equal(bytes_wrong(other, whole, 20, true), 0);
}

static void test_many_names(void **state)
{
	char *text = malloc(3000000), *p = text, path[TRACE_PATH_MAX + 1];

	p += sprintf(p, HEAD);
	for (int i = 0; i < 20000; i++)
		p += sprintf(p, "file d%d/f%d %d\n", i % 100, i, i);
	for (int i = 0; i < 20000; i++)
		p += sprintf(p, "%d.5 c%d getattr d%d/f%d\n", i, i % 9, i % 100, i);
	read_good(text);
	assert_int_equal(t.object_count, 20100);
	for (uint32_t i = 0; i < t.op_count; i++) {
		char want[32];

		snprintf(want, sizeof(want), "d%u/f%u", i % 100, i);
		assert_string_equal(trace_path(&t, t.ops[i].object, path), want);
		assert_int_equal(t.objects[t.ops[i].object].size, i);
	}
	trace_free(&t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_directories_come_before_what_they_hold),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_bad_wholes),
		cmocka_unit_test(test_too_many_clients),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_what_a_client_waited_for),
		cmocka_unit_test(test_bytes_are_of_their_place),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
