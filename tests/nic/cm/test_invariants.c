/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each invariant of nic/cm/invariants.h is found broken if it is. The harness of the other tests
 * asks after each step whether all are kept. */
#include "harness.h"
#include "nic/cm/invariants.h"

static void expect_broken(const struct adv_cm *cm, const char *word)
{
	const char *broken = adv_cm_check(cm);

	assert_non_null(broken);
	if (!strstr(broken, word))
		fail_msg("'%s' has no '%s'", broken, word);
}

/* Adds one to a count, expects the invariant to be broken, and takes it back. */
static void break_count(const struct adv_cm *cm, unsigned *count, const char *word)
{
	++*count;
	expect_broken(cm, word);
	--*count;
	assert_null(adv_cm_check(cm));
}

static void test_counts(void **state)
{
	struct pair *p = *state;
	struct adv_cm *cm = p->a.cm;

	(void)new_id(&p->a, RDMA_PS_TCP);
	break_count(cm, &cm->owned, "with or without an owner");
	break_count(cm, &cm->ending, "with or without an owner");
	break_count(cm, &cm->busy, "busy or closing");
	break_count(cm, &cm->closing, "busy or closing");
	break_count(cm, &cm->outgoing_count, "queued MADs");
	break_count(cm, &cm->early_count, "early requests");
}

static void test_ids(void **state)
{
	struct pair *p = *state;
	struct adv_cm *cm = p->a.cm;
	struct adv_cm_id *id = new_id(&p->a, RDMA_PS_TCP);

	break_count(cm, &id->waiting, "waiting requests");
	id->timer.position = 1;
	expect_broken(cm, "waits for nothing");
	id->state = ADV_CM_TIMEWAIT;
	id->timer.position = 0;
	expect_broken(cm, "without a timer");
	id->state = ADV_CM_IDLE;
	id->owned = false;
	expect_broken(cm, "nothing to finish");
	id->owned = true;
	assert_null(adv_cm_check(cm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counts, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_ids, pair_setup, pair_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
