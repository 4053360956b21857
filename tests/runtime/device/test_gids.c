/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The change of a device's table: the engine and the link get the new one, or keep the old one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/device/internal.h"

static struct adv_gid_table shared;
static unsigned gids_set, pkeys_set, addresses_set;
static int gids_error;

/* The linker gives the device's code these functions in place of the engine's and the link's. */

const struct adv_gid_table *__wrap_adv_control_gids(const struct adv_control *c);
int __wrap_adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids,
			       unsigned count);
int __wrap_adv_engine_set_pkeys(struct adv_engine *e, const struct adv_pkey_table *pkeys);
void __wrap_adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps);
int __wrap_adv_udp_set_addresses(struct adv_link *link, const struct adv_udp_address *addresses,
				 unsigned count);

const struct adv_gid_table *__wrap_adv_control_gids(const struct adv_control *c)
{
	return &shared;
}

int __wrap_adv_engine_set_gids(struct adv_engine *e, const struct adv_engine_gid *gids,
			       unsigned count)
{
	if (!gids_error)
		gids_set = count;
	return gids_error;
}

int __wrap_adv_engine_set_pkeys(struct adv_engine *e, const struct adv_pkey_table *pkeys)
{
	pkeys_set = pkeys->count;
	return 0;
}

void __wrap_adv_engine_set_line_rate(struct adv_engine *e, uint32_t mbps)
{
}

int __wrap_adv_udp_set_addresses(struct adv_link *link, const struct adv_udp_address *addresses,
				 unsigned count)
{
	addresses_set = count;
	return 0;
}

static void expect_table(const struct adv_device *d, unsigned gids, unsigned pkeys)
{
	assert_int_equal(gids_set, gids);
	assert_int_equal(addresses_set, gids);
	assert_int_equal(pkeys_set, pkeys);
	assert_int_equal(d->gids.count, gids);
	assert_int_equal(d->gids.pkeys.count, pkeys);
}

static void test_all_or_nothing(void **state)
{
	static struct adv_device d;

	pthread_mutex_init(&d.gids_lock, NULL);
	shared.count = 2;
	shared.pkeys.count = 1;
	assert_int_equal(adv_device_load_gids(&d), 0);
	expect_table(&d, 2, 1);
	shared.count = 5;
	shared.pkeys.count = 3;
	gids_error = ENOMEM;
	assert_int_equal(adv_device_load_gids(&d), ENOMEM);
	expect_table(&d, 2, 1);
	gids_error = 0;
	assert_int_equal(adv_device_load_gids(&d), 0);
	expect_table(&d, 5, 3);
	shared.pkeys.count = 0; /* the engine needs one */
	assert_int_equal(adv_device_load_gids(&d), EAGAIN);
	expect_table(&d, 5, 3);
	pthread_mutex_destroy(&d.gids_lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
