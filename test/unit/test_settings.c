/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the parameters of an export come to: each of params.def has an effect, in the right unit. */
#include "fsal_ra/params.h"

#include "support.h"

/* clang-format off */
#define EXPORT_ONLY_EXPORT(...) __VA_ARGS__,
#define EXPORT_ONLY_MODULE(...)

static const struct ra_export_params defaults = {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) EXPORT_ONLY_##scope(.field = def)
#define RA_NAME(scope, Name, field, def, help) EXPORT_ONLY_##scope(.field = (char *)def)
#define RA_BOOL(scope, Name, field, def, help) EXPORT_ONLY_##scope(.field = def)
#include "fsal_ra/params.def"
};

/* The fields that hold a number. */
static const struct { const char *name; size_t at; } numbers[] = {
#define RA_NUMBER(scope, Name, field, unit, min, max, def, help) \
	EXPORT_ONLY_##scope({#Name, offsetof(struct ra_export_params, field)})
#include "fsal_ra/params.def"
};

static const struct { const char *name; size_t at; } flags[] = {
#define RA_BOOL(scope, Name, field, def, help) \
	EXPORT_ONLY_##scope({#Name, offsetof(struct ra_export_params, field)})
#include "fsal_ra/params.def"
};
/* clang-format on */

static struct export_settings of(const struct ra_export_params *p)
{
	struct export_settings s;

	memset(&s, 0, sizeof(s));
	ra_settings_of(p, &s);
	return s;
}

static bool same(const struct ra_export_params *p)
{
	struct export_settings a = of(&defaults), b = of(p);

	return memcmp(&a, &b, sizeof(a)) == 0;
}

static void test_every_number_has_an_effect(void **state)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct ra_export_params p = defaults;

		++*(uint64_t *)((char *)&p + numbers[i].at);
		if (same(&p))
			fail_msg("%s changes nothing", numbers[i].name);
	}
}

static void test_every_switch_has_an_effect(void **state)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct ra_export_params p = defaults;
		bool *flag = (bool *)((char *)&p + flags[i].at);

		*flag = !*flag;
		if (same(&p))
			fail_msg("%s changes nothing", flags[i].name);
	}
}

static void test_names(void **state)
{
	struct ra_export_params p = defaults;
	struct export_settings s;

	p.heuristic = (char *)"off";
	p.rules = (char *)"Paper";
	p.scheduler = (char *)"elevator";
	p.fsstat_prices = (char *)"True";
	s = of(&p);
	assert_string_equal(s.tuning.heuristic->name, "off");
	assert_ptr_equal(s.tuning.rules, &rules_paper);
	assert_string_equal(s.device.policy->name, "elevator");
	assert_int_equal(s.fsstat_rule, FSSTAT_ALWAYS);
	p.fsstat_prices = (char *)"false";
	assert_int_equal(of(&p).fsstat_rule, FSSTAT_NEVER);
	p.fsstat_prices = (char *)"AUTO";
	assert_int_equal(of(&p).fsstat_rule, FSSTAT_AUTO);
}

static void test_units(void **state)
{
	struct ra_export_params p = defaults;
	struct export_settings s;

	p.max_wait = 3;
	p.writeback_share = 25;
	p.commit_wait = 7;
	p.prefetch_step = 65536;
	s = of(&p);
	assert_int_equal(s.device.limits.cost.max_wait, 3 * MSEC);
	assert_true(s.device.limits.writeback_share == 0.25);
	assert_int_equal(s.writeback.commit_wait, 7 * MSEC);
	assert_int_equal(s.prefetch_step, 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number_has_an_effect),
		cmocka_unit_test(test_every_switch_has_an_effect),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
