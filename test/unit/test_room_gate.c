/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A few places, and clients that want more of them than there are. */
#include "common/room_gate.h"
#include "unit_cmocka.h"

static void test_a_client_may_have_what_is_left(void **state)
{
	struct room_gate g = ROOM_GATE_INITIALIZER(4);

	assert_true(room_gate_enter(&g, 1));
	assert_true(room_gate_enter(&g, 1));
	assert_false(room_gate_enter(&g, 1)); /* two are left, and it has two */
	assert_true(room_gate_enter(&g, 2));
	assert_false(room_gate_enter(&g, 2));
	assert_true(room_gate_enter(&g, 3));
	assert_false(room_gate_enter(&g, 4)); /* none is left */
	room_gate_leave(&g, 1);
	assert_true(room_gate_enter(&g, 4));
	room_gate_leave(&g, 1);
	room_gate_leave(&g, 2);
	room_gate_leave(&g, 3);
	room_gate_leave(&g, 4);
	room_gate_set_max(&g, 0);
	assert_false(room_gate_enter(&g, 1));
	room_gate_set_max(&g, UINT32_MAX);
	for (int i = 0; i < ROOM_GATE_MAX / 2; i++)
		assert_true(room_gate_enter(&g, 1));
	assert_false(room_gate_enter(&g, 1));
	for (int i = 0; i < ROOM_GATE_MAX / 2; i++)
		room_gate_leave(&g, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_client_may_have_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
