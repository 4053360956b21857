/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A finding as it is received: any process of the user can send one, so each member is hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "abi/check/message.h"
#include "abi/check/rules.h"

static struct adv_check_message m;

/* Makes m a message with one stack of two frames in one module. */
static void make_message(void)
{
	memset(&m, 0, sizeof(m));
	m.magic = ADV_CHECK_MAGIC;
	m.stacks = 1;
	m.modules = 1;
	m.stack[0].frames = 2;
	m.stack[0].frame[1].module = ADV_CHECK_NO_MODULE;
	strcpy(m.module[0], "/usr/bin/true");
}

static int setup(void **state)
{
	make_message();
	return 0;
}

static void test_whole_message(void **state)
{
	assert_true(adv_check_message_valid(&m, sizeof(m)));
	assert_false(adv_check_message_valid(&m, sizeof(m) - 1));
	assert_false(adv_check_message_valid(&m, sizeof(m) + 1));
	assert_false(adv_check_message_valid(&m, 0));
}

static void test_numbers(void **state)
{
	m.magic++;
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	m.rule = ADV_RULES;
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	m.stacks = ADV_CHECK_STACKS + 1;
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	m.modules = ADV_CHECK_MODULES + 1;
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	m.stack[0].frames = ADV_CHECK_FRAMES + 1;
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	m.stack[0].frame[0].module = 1;
	assert_false(adv_check_message_valid(&m, sizeof(m)));
}

/* Texts without an end. */
static void test_texts(void **state)
{
	memset(m.program, 'x', sizeof(m.program));
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	memset(m.what, 'x', sizeof(m.what));
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	memset(m.history, 'x', sizeof(m.history));
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	memset(m.stack[0].title, 'x', sizeof(m.stack[0].title));
	assert_false(adv_check_message_valid(&m, sizeof(m)));
	make_message();
	memset(m.module[0], 'x', sizeof(m.module[0]));
	assert_false(adv_check_message_valid(&m, sizeof(m)));
}

/* What the counts leave out is not read. */
static void test_unused_members(void **state)
{
	memset(m.module[1], 'x', sizeof(m.module[1]));
	m.stack[1].frames = UINT32_MAX;
	m.stack[0].frame[2].module = 7;
	assert_true(adv_check_message_valid(&m, sizeof(m)));
}

/* Each rule has all its texts and a name of its own. */
static void test_rules(void **state)
{
	for (unsigned i = 0; i < ADV_RULES; i++) {
		const struct adv_check_rule_text *r = &adv_check_rules[i];

		assert_non_null(r->name);
		assert_true(r->title && r->why && r->source && r->hardware && r->remedy);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(adv_check_rules[k].name, r->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_whole_message, setup),
		cmocka_unit_test_setup(test_numbers, setup),
		cmocka_unit_test_setup(test_texts, setup),
		cmocka_unit_test_setup(test_unused_members, setup),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
