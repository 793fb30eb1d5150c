/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The settings of a share by name: they agree with the parameters, and each is one field. */
#include "shares/share_keys.h"
#include "support.h"

static void test_each_key_is_one_field(void **state)
{
	(void)state;
	for (enum share_key key = 0; key < SHARE_KEYS; key++) {
		struct share s = {0};

		assert_false(share_is_set(&s));
		share_set(&s, key, share_keys[key].max);
		assert_true(share_is_set(&s));
		for (enum share_key other = 0; other < SHARE_KEYS; other++)
			assert_int_equal(share_get(&s, other),
					 other == key ? share_keys[key].max : 0);
		assert_int_equal(share_key_find(share_keys[key].name), key);
	}
	assert_int_equal(share_key_find("floor_time"), SHARE_FLOOR_TIME);
	assert_int_equal(share_key_find("Floor"), SHARE_KEYS);
}

/* clang-format off */
#define EXPORT_ONLY_EXPORT(...) __VA_ARGS__,
#define EXPORT_ONLY_MODULE(...)

static const struct { const char *name, *unit; uint64_t min, max, preset; } params[] = {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	EXPORT_ONLY_##scope({#Name, unit, min, max, def})
#include "fsal_ra/params.def"
};
/* clang-format on */

static void test_they_are_parameters_of_exports(void **state)
{
	enum share_key found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		const struct share_key_kind *kind = &share_keys[found];

		if (found == SHARE_KEYS || strcmp(params[i].name, kind->name) != 0)
			continue;
		assert_string_equal(params[i].unit, kind->unit);
		assert_int_equal(params[i].max, kind->max);
		assert_int_equal(params[i].min, 0);
		assert_int_equal(params[i].preset, 0);
		found++;
	}
	assert_int_equal(found, SHARE_KEYS);
}

static void test_units(void **state)
{
	struct share s = {0};

	(void)state;
	share_set(&s, SHARE_CEILING_BANDWIDTH, 40);
	assert_int_equal(s.ceiling.bandwidth, 40000000);
}

static void test_what_is_refused(void **state)
{
	struct share s = {0};
	char why[256];

	(void)state;
	assert_false(share_change(&s, SHARE_FLOOR_TIME, 91, why, sizeof(why)));
	assert_string_equal(why, "Floor_Time = 91 is out of range: 0 to 90 percent");
	assert_true(share_change(&s, SHARE_CEILING_IOPS, 10, why, sizeof(why)));
	assert_true(share_change(&s, SHARE_FLOOR_BANDWIDTH, 500, why, sizeof(why)));
	assert_true(share_change(&s, SHARE_FLOOR_IOPS, 10, why, sizeof(why)));
	assert_false(share_change(&s, SHARE_FLOOR_IOPS, 11, why, sizeof(why)));
	assert_string_equal(why, "Floor_Iops = 11 is above Ceiling_Iops = 10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_key_is_one_field),
		cmocka_unit_test(test_they_are_parameters_of_exports),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
