/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_modify_qp() reads queued notifications of adverbd, and one may change the GID table. The
 * neighbour that was found before is then one of another GID. The program has the library's objects
 * in it, so that the table changes at this very place.
 */
#include "harness.h"

#include "runtime/device/internal.h"
#include "runtime/device/neighbour.h"
#include "abi/verbs/objects.h"

void __wrap_adv_device_catch_up(struct adv_device *d);
void __real_adv_device_catch_up(struct adv_device *d);
int __wrap_adv_device_find_mac(struct adv_device *d, const struct ibv_ah_attr *attr,
			       struct adv_next_hop *n);
int __real_adv_device_find_mac(struct adv_device *d, const struct ibv_ah_attr *attr,
			       struct adv_next_hop *n);

static bool changes;		  /* the next change of the QP changes the table */
static unsigned searches;	  /* for a neighbour */
static struct adv_next_hop found; /* by the last search */

void __wrap_adv_device_catch_up(struct adv_device *d)
{
	__real_adv_device_catch_up(d);
	if (!changes)
		return;
	changes = false;
	pthread_mutex_lock(&d->gids_lock);
	for (unsigned i = 0; i < d->gids.count; i++)
		d->gids.entry[i].type = ADV_GID_ROCE_V1;
	pthread_mutex_unlock(&d->gids_lock);
}

int __wrap_adv_device_find_mac(struct adv_device *d, const struct ibv_ah_attr *attr,
			       struct adv_next_hop *n)
{
	int err = __real_adv_device_find_mac(d, attr, n);

	searches++;
	found = *n;
	return err;
}

static void test_table_changes(void **state)
{
	const struct options o = {.unconnected = true};
	struct adv_device *d;
	struct pair p;

	pair_open(&p, &o);
	assert_int_equal(to_init(&p.a, &o), 0);
	d = adv_ibv_context_of(p.a.ctx)->device;
	assert_true(adv_ibv_enter_device(d));
	d->v1 = true; /* as for a program with ADVERB_ROCE=both */
	adv_device_unlock(d);
	searches = 0;
	changes = true;
	assert_int_equal(to_rtr(&p.a, &p.b, &o), 0);
	assert_int_equal(searches, 2);
	assert_int_equal(found.type, ADV_GID_ROCE_V1);
	assert_memory_equal(found.sgid.raw, p.a.gid.raw, 16);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table_changes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
