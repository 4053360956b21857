/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Turns: the time for which a user is served, and the order of connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/session/users.h"

#define MANY 500

struct connection {
	struct adv_user_turn turn;
	uint64_t costs;	   /* time for each serving, ns */
	unsigned messages; /* messages to be read */
	unsigned served;
	uint64_t last; /* time of the last serving, ns */
};

static uint64_t now;
static struct adv_users users;
static struct connection connection[MANY];

static uint64_t clock_ns(void)
{
	return now;
}

static bool serve(struct adv_user_turn *t, uint64_t end)
{
	struct connection *c = adv_container_of(t, struct connection, turn);

	assert_true(end > now && end <= now + ADV_USER_TURN_NS);
	c->served++;
	c->last = now;
	now += c->costs;
	return --c->messages > 0;
}

static void begin(struct connection *c, struct adv_user *user, uint64_t costs, unsigned messages)
{
	*c = (struct connection){.costs = costs, .messages = messages};
	adv_user_turn_init(&users, &c->turn, user, 1000 + (pid_t)(c - connection), serve);
	adv_user_turn_queue(&users, &c->turn);
}

static int setup(void **state)
{
	now = 1000;
	adv_users_init(&users, clock_ns, 0);
	return 0;
}

static int teardown(void **state)
{
	adv_users_free(&users);
	return 0;
}

/* If 500 connections of one user send many requests, another user's connection waits for only one
 * turn of that user. */
static void test_other_user(void **state)
{
	struct adv_user *greedy = adv_users_hold(&users, 1), *other = adv_users_hold(&users, 2);
	struct connection *one = &connection[MANY - 1];

	assert_ptr_not_equal(greedy, other);
	for (unsigned i = 0; i < MANY - 1; i++)
		begin(&connection[i], greedy, 300000, 10);
	begin(one, other, 5000, 3);
	for (unsigned i = 1; i <= 3; i++) {
		uint64_t start = now;

		assert_true(adv_users_pending(&users));
		adv_users_serve(&users);
		assert_int_equal(one->served, i);
		assert_true(one->last - start <= ADV_USER_NS + 300000);
	}
	while (adv_users_pending(&users))
		adv_users_serve(&users);
	for (unsigned i = 0; i < MANY - 1; i++)
		assert_int_equal(connection[i].served, 10);
}

/* No connection of a user is served twice before all others were served. */
static void test_in_turn(void **state)
{
	struct adv_user *user = adv_users_hold(&users, 1);

	for (unsigned i = 0; i < MANY; i++)
		begin(&connection[i], user, 300000, 3);
	while (adv_users_pending(&users)) {
		unsigned least = UINT32_MAX, most = 0;

		adv_users_serve(&users);
		for (unsigned i = 0; i < MANY; i++) {
			least = connection[i].served < least ? connection[i].served : least;
			most = connection[i].served > most ? connection[i].served : most;
		}
		assert_true(most - least <= 1);
	}
	assert_int_equal(connection[MANY - 1].served, 3);
}

/* A round serves each connection once, even if it was queued twice. A connection that has ended is
 * not served. */
static void test_round(void **state)
{
	struct adv_user *user = adv_users_hold(&users, 1);

	begin(&connection[0], user, 1, 5);
	begin(&connection[1], user, 1, 5);
	begin(&connection[2], user, 1, 1);
	adv_user_turn_queue(&users, &connection[0].turn);
	adv_user_turn_end(&connection[1].turn);
	adv_users_serve(&users);
	assert_int_equal(connection[0].served, 1);
	assert_int_equal(connection[1].served, 0);
	assert_int_equal(connection[2].served, 1);
	assert_true(adv_users_have_process(&users, 1000));
	adv_user_turn_end(&connection[0].turn);
	assert_false(adv_users_have_process(&users, 1000));
	adv_users_serve(&users);
	assert_int_equal(connection[0].served, 1);
	assert_false(adv_users_pending(&users));
}

static void test_held(void **state)
{
	struct adv_user *user = adv_users_hold(&users, 7);

	user->clients = 3;
	assert_ptr_equal(adv_users_hold(&users, 7), user);
	adv_users_release(user);
	adv_users_release(adv_users_hold(&users, 8));
	assert_ptr_equal(adv_users_hold(&users, 7), user);
	assert_int_equal(user->clients, 3);
	assert_true(users.list.next == &user->link && users.list.prev == &user->link);
}

static unsigned left_to_read;

static bool read_for_a_while(void *unused)
{
	now += 1000;
	return --left_to_read > 0;
}

/* A turn ends when nothing is left to read, after the largest number of messages, or at its end
 * time. */
static void test_read(void **state)
{
	left_to_read = 3;
	assert_false(adv_user_turn_read(&users, read_for_a_while, NULL, 10, now + 10000));
	left_to_read = 100;
	assert_true(adv_user_turn_read(&users, read_for_a_while, NULL, 10, now + 100000));
	assert_int_equal(left_to_read, 90);
	assert_true(adv_user_turn_read(&users, read_for_a_while, NULL, 50, now + 5000));
	assert_int_equal(left_to_read, 85);
}

static void test_share(void **state)
{
	struct adv_user *user = adv_users_hold(&users, 7);

	user->descriptors = 10;
	assert_true(adv_users_may_open(&users, user, 1000));
	users.share = 12;
	assert_true(adv_users_may_open(&users, user, 2));
	assert_false(adv_users_may_open(&users, user, 3));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_other_user), T(test_in_turn), T(test_round),
					   T(test_held),       T(test_read),	T(test_share)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
