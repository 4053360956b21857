/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns at a memory of some units: nobody overtakes, and each gets one unit a turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "storage/kit/turn.h"

enum { SEATS = 3 };

/* One that needs `size` units for each of `wanted` things. */
struct seat {
	struct adv_kit_turn turn;
	char name;
	unsigned size, wanted;
};

static struct adv_list queue;
static unsigned units;
static struct seat seats[SEATS];
static char order[64];

static bool take(struct adv_kit_turn *t)
{
	struct seat *s = adv_container_of(t, struct seat, turn);

	assert_true(adv_kit_turn_has_come(&queue, t));
	if (s->size > units)
		return false;
	units -= s->size;
	strncat(order, &s->name, 1);
	if (--s->wanted > 0)
		adv_kit_turn_wait(&queue, t);
	return true;
}

static int set_up(void **state)
{
	adv_list_init(&queue);
	units = 0;
	order[0] = 0;
	for (unsigned i = 0; i < SEATS; i++) {
		seats[i] = (struct seat){.name = (char)('a' + i), .size = 1, .wanted = 1};
		adv_kit_turn_init(&seats[i].turn, take);
	}
	return 0;
}

static void free_units(unsigned n)
{
	units += n;
	adv_kit_turn_serve(&queue);
}

/* One that always wants more goes behind the others each time. */
static void test_greedy(void **state)
{
	seats[0].wanted = 100;
	for (unsigned i = 0; i < SEATS; i++)
		adv_kit_turn_wait(&queue, &seats[i].turn);
	for (unsigned i = 0; i < 5; i++)
		free_units(1);
	assert_string_equal(order, "abcaa");
}

/* Seats that need little memory do not overtake one that needs much. */
static void test_large(void **state)
{
	seats[1].size = 3;
	for (unsigned i = 0; i < SEATS; i++)
		adv_kit_turn_wait(&queue, &seats[i].turn);
	free_units(3);
	assert_string_equal(order, "a");
	/* Not even by its own smaller wants. */
	assert_false(adv_kit_turn_has_come(&queue, &seats[0].turn));
	assert_false(adv_kit_turn_has_come(&queue, &seats[1].turn));
	free_units(1);
	assert_string_equal(order, "ab");
	free_units(1);
	assert_string_equal(order, "abc");
	assert_true(adv_kit_turn_has_come(&queue, &seats[0].turn));
}

static void test_end(void **state)
{
	seats[0].size = 3;
	adv_kit_turn_wait(&queue, &seats[0].turn);
	adv_kit_turn_wait(&queue, &seats[1].turn);
	adv_kit_turn_wait(&queue, &seats[1].turn); /* once is enough */
	free_units(2);
	assert_string_equal(order, "");
	adv_kit_turn_end(&seats[0].turn);
	adv_kit_turn_serve(&queue);
	assert_string_equal(order, "b");
	assert_true(adv_list_empty(&queue));
	adv_kit_turn_end(&seats[1].turn); /* it does not wait */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_greedy, set_up),
		cmocka_unit_test_setup(test_large, set_up),
		cmocka_unit_test_setup(test_end, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
