/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prefetching changes nothing, and needs no queue pair, timer or packet to exist. */
#include <string.h>

#include "../requester/requester_bed.h"
#include "nic/engine/prefetch.h"

static void fetch_all(const struct adv_engine *e, const struct adv_qp *qp)
{
	adv_engine_fetch(e);
	adv_engine_fetch_turn(e, NULL);
	adv_engine_fetch_turn(e, qp);
	adv_engine_fetch_timers(e);
	adv_engine_fetch_timer(e);
	adv_engine_fetch_qpn(e, 0);
	adv_engine_fetch_qpn(e, ADV_QPN_MASK);
	adv_qp_fetch_turn(qp);
	adv_qp_fetch_request(qp);
	adv_qp_fetch_next(qp);
}

static void test_nothing(void **state)
{
	const struct adv_engine_config c = {.seed = {1}, .qpn_first = 256, .qpn_count = 16};
	struct adv_engine *e = adv_engine_create(&c);

	assert_non_null(e);
	fetch_all(e, NULL);
	assert_false(adv_engine_tx_ready(e));
	adv_engine_destroy(e);
}

/* Between all steps of a message. */
static void test_message(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	struct adv_engine *e;
	struct adv_qp before;
	struct bed bed;

	bed_open(&bed, &o);
	e = bed.net->node[0].e;
	end_op(bed.a, IBV_WR_RDMA_WRITE, 1, bed.ra, 0, 5000, bed.rb, 0);
	memcpy(&before, bed.a->qp, sizeof(before));
	fetch_all(e, bed.a->qp);
	adv_engine_fetch_qpn(e, adv_qp_num(bed.a->qp));
	assert_memory_equal(&before, bed.a->qp, sizeof(before));
	net_run(bed.net, MS);
	fetch_all(e, bed.a->qp);
	assert_int_equal(bed.a->send_count, 1);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
