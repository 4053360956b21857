/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/link/bell.h"

static bool is_ringing(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	assert_true(poll(&p, 1, 0) >= 0);
	return p.revents == POLLIN;
}

static void test_rings(void **state)
{
	adv_bell_name of_a, of_b;
	int a = adv_bell_open(&of_a), b = adv_bell_open(&of_b);

	assert_true(a >= 0 && b >= 0);
	assert_true(of_a != 0 && of_b != 0 && of_a != of_b);
	assert_false(is_ringing(b));
	adv_bell_ring(a, of_b);
	assert_true(is_ringing(b));
	assert_false(is_ringing(a));
	adv_bell_ring(a, of_b);
	adv_bell_still(b);
	assert_false(is_ringing(b));
	adv_bell_ring(b, of_b); /* rings its own bell */
	assert_true(is_ringing(b));
	close(a);
	close(b);
}

/* The ringing process never blocks, even if the owner or another process misuses the bell. */
static void test_nobody_waits(void **state)
{
	adv_bell_name of_a, of_b;
	int a = adv_bell_open(&of_a), b = adv_bell_open(&of_b), c = dup(b);

	assert_int_equal(fcntl(c, F_SETFL, 0), 0); /* blocking mode */
	for (unsigned i = 0; i < 100000; i++)
		adv_bell_ring(a, of_b);
	assert_true(is_ringing(b));
	for (unsigned i = 0; i < 1000 && is_ringing(b); i++)
		adv_bell_still(b);
	assert_false(is_ringing(b));
	assert_int_equal(shutdown(c, SHUT_RDWR), 0);
	adv_bell_ring(a, of_b);
	close(b);
	close(c);
	adv_bell_ring(a, of_b); /* the bell is closed */
	close(a);
}

static void test_any_name(void **state)
{
	adv_bell_name of_a;
	int a = adv_bell_open(&of_a);

	adv_bell_ring(a, 0);
	adv_bell_ring(a, UINT64_MAX);
	adv_bell_ring(a, of_a ^ 1);
	adv_bell_ring(a, 0xff00000000000000);
	assert_false(is_ringing(a));
	close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_nobody_waits),
		cmocka_unit_test(test_any_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
