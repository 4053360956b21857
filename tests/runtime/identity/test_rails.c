/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests runtime/identity/rails.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "runtime/identity/rails.h"

static struct adv_gid_table machine;
static struct adv_rail_list rails;
static char why[ADV_RAILS_WHY];

static void add_address(const char *ifname, uint8_t last)
{
	struct adv_gid_entry *e = &machine.entry[machine.count++];

	memset(e, 0, sizeof(*e));
	adv_gid_set_ipv4(&e->gid, (const uint8_t[]){10, 0, 0, last});
	snprintf(e->ifname, sizeof(e->ifname), "%s", ifname);
	e->path_mtu = last == 1 ? 1024 : 4096;
}

static int make_machine(void **state)
{
	memset(&machine, 0, sizeof(machine));
	machine.node_guid = 4711;
	machine.port_active = 1;
	add_address("eth0", 1);
	add_address("eth1", 2);
	add_address("eth0", 3);
	add_address("lo", 4);
	return 0;
}

static bool parse_rails(const char *text)
{
	*why = 0;
	return adv_rail_list_parse(&rails, text, &machine, why, sizeof(why));
}

/* What is printed is read as the same again, without a table. */
static void prints_as(const char *text, const char *printed)
{
	static const struct adv_gid_table none;
	char out[ADV_RAILS_TEXT], again[ADV_RAILS_TEXT];
	struct adv_rail_list read;

	assert_true(parse_rails(text));
	assert_true(adv_rail_list_print(&rails, out, sizeof(out)));
	assert_string_equal(out, printed);
	assert_true(adv_rail_list_parse(&read, out, &none, why, sizeof(why)));
	assert_true(adv_rail_list_print(&read, again, sizeof(again)));
	assert_string_equal(again, printed);
	for (unsigned i = 0; i < rails.count; i++)
		assert_int_equal(rails.rail[i].index, i);
}

static void test_texts(void **state)
{
	prints_as("adverb0=*", "adverb0=*");
	prints_as("eth0", "adverb0=eth0");
	prints_as("eth1,eth0", "adverb0=eth1,adverb1=eth0");
	prints_as("all", "adverb0=eth0,adverb1=eth1,adverb2=lo");
	prints_as("3", "adverb0=*,adverb1=*,adverb2=*");
	prints_as("mlx5_0=eth0,rail-1.x=10.0.0.2", "mlx5_0=eth0,rail-1.x=10.0.0.2");
	prints_as("a=10.0.0.1+FE80::1,eth0", "a=10.0.0.1+fe80::1,adverb1=eth0");
}

static void test_refused(void **state)
{
	static const char *const texts[][2] = {
		{"", "neither an interface"},
		{"eth0,", "neither an interface"},
		{"0", "between 1 and 32"},
		{"33", "between 1 and 32"},
		{"4x", "between 1 and 32"},
		{"a=eth0,a=eth1", "two devices"},
		{"adverb1=eth0,eth1", "two devices"},
		{"a/b=eth0", "cannot be the name"},
		{"..=eth0", "cannot be the name"},
		{"=eth0", "cannot be the name"},
		{"a=", "neither an interface"},
		{"a=eth0/1", "neither an interface"},
		{"a=an-interface-of-16", "neither an interface"},
		{"a=10.0.0.1+10.0.0", "no address"},
		{"a=10.0.0.1+", "no address"},
		{"a=10.0.0", "no address"},
		{"a=fe80:", "no address"},
		{"a=1.1.1.1+1.1.1.2+1.1.1.3+1.1.1.4+1.1.1.5+1.1.1.6+1.1.1.7+1.1.1.8+1.1.1.9",
		 "more than 8 addresses"},
	};
	char longest[ADV_RAILS_TEXT + 1];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(texts); i++) {
		assert_false(parse_rails(texts[i][0]));
		assert_non_null(strstr(why, texts[i][1]));
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_false(parse_rails(longest));
	longest[ADV_RAIL_NAME_LEN] = '=';
	longest[ADV_RAIL_NAME_LEN + 1] = '*';
	longest[ADV_RAIL_NAME_LEN + 2] = 0;
	assert_false(parse_rails(longest));
	assert_non_null(strstr(why, "cannot be the name"));
	machine.count = 0;
	assert_false(parse_rails("all"));
	assert_non_null(strstr(why, "no interface has an address"));
}

static void test_most_rails(void **state)
{
	char text[ADV_RAILS_TEXT] = "";

	for (unsigned i = 0; i < ADV_RAILS_MAX; i++)
		sprintf(text + strlen(text), "%seth%u", i ? "," : "", i);
	assert_true(parse_rails(text));
	assert_int_equal(rails.count, ADV_RAILS_MAX);
	strcat(text, ",more");
	assert_false(parse_rails(text));
	assert_non_null(strstr(why, "more than 32"));
}

/* Each rail has its part of the table, with indexes of its own. */
static void test_tables(void **state)
{
	struct adv_gid_table t;

	assert_true(parse_rails("a=eth0,b=eth1,c=10.0.0.3+10.0.0.4,d=*,e=eth9"));
	adv_rail_table(&rails.rail[0], &machine, &t);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.entry[0].gid.raw[15], 1);
	assert_int_equal(t.entry[1].gid.raw[15], 3);
	assert_int_equal(t.active_mtu, 1024);
	adv_rail_table(&rails.rail[1], &machine, &t);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.active_mtu, 4096);
	adv_rail_table(&rails.rail[2], &machine, &t);
	assert_int_equal(t.count, 2);
	assert_string_equal(t.entry[0].ifname, "eth0");
	assert_string_equal(t.entry[1].ifname, "lo");
	adv_rail_table(&rails.rail[3], &machine, &t);
	assert_int_equal(t.count, 4);
	assert_true(t.port_active);
	adv_rail_table(&rails.rail[4], &machine, &t);
	assert_int_equal(t.count, 0);
	assert_false(t.port_active);
	assert_int_equal(t.active_mtu, 0);
}

/* All GUIDs differ, and the device that a machine has without rails keeps its own. */
static void test_guids(void **state)
{
	assert_true(parse_rails("4"));
	assert_int_equal(adv_rail_guid(&rails.rail[0], &machine), machine.node_guid);
	for (unsigned i = 0; i < rails.count; i++) {
		uint64_t guid = adv_rail_guid(&rails.rail[i], &machine);

		assert_int_equal(guid, adv_rail_guid(&rails.rail[i], &machine));
		for (unsigned k = 0; k < i; k++)
			assert_true(guid != adv_rail_guid(&rails.rail[k], &machine));
	}
}

/* The environment decides once. */
static void test_own(void **state)
{
	const struct adv_rail_list *own;

	setenv(ADV_RAILS_VARIABLE, "x=eth0,x=eth1", 1);
	own = adv_rail_list_get(&machine, why, sizeof(why));
	assert_null(own);
	assert_non_null(strstr(why, ADV_RAILS_VARIABLE ": two devices"));
	setenv(ADV_RAILS_VARIABLE, "x=eth0,all0", 1);
	assert_true(adv_rail_list_have("x", 1));
	assert_true(adv_rail_list_have("adverb1/ports", 7));
	assert_false(adv_rail_list_have("adverb10", 8));
	own = adv_rail_list_get(&machine, why, sizeof(why));
	assert_non_null(own);
	assert_int_equal(own->count, 2);
	unsetenv(ADV_RAILS_VARIABLE);
	assert_ptr_equal(adv_rail_list_get(&machine, why, sizeof(why)), own);
	assert_true(adv_rail_list_have("x", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_texts, make_machine),
		cmocka_unit_test_setup(test_refused, make_machine),
		cmocka_unit_test_setup(test_most_rails, make_machine),
		cmocka_unit_test_setup(test_tables, make_machine),
		cmocka_unit_test_setup(test_guids, make_machine),
		cmocka_unit_test_setup(test_own, make_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
