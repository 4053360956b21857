/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DREQ, DREP, TIMEWAIT, and ids destroyed in every state. */
#include "nic/cm/id.h"
#include "harness.h"

static void test_from_either_side(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_packet dreq, drep;

	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	dreq = sent(p, &p->a);
	assert_int_equal(dreq.attribute, ADV_CM_DREQ);
	assert_int_equal(dreq.dreq.remote_qpn, 0x2002);
	assert_int_equal(dreq.dreq.local_comm_id, c.active->local_comm_id);
	assert_int_equal(dreq.dreq.remote_comm_id, c.passive->local_comm_id);
	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	nothing_sent(p, &p->a);
	give(p, &p->b, &dreq);
	assert_int_equal(event_of(&p->b, RDMA_CM_EVENT_DISCONNECTED).status, 0);
	drep = sent(p, &p->b);
	assert_int_equal(drep.attribute, ADV_CM_DREP);
	assert_true(drep.tid == dreq.tid);
	assert_int_equal(drep.drep.local_comm_id, c.passive->local_comm_id);
	give(p, &p->b, &dreq); /* the DREP was lost */
	assert_int_equal(sent(p, &p->b).attribute, ADV_CM_DREP);
	no_event(&p->b);
	assert_int_equal(adv_cm_disconnect(c.passive, p->now), 0);
	give(p, &p->a, &drep);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED).status, 0);
	give(p, &p->a, &drep);
	no_event(&p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_duplicates, 1);
	/* TIMEWAIT is 4.096 us << 19: twice the path's 2^18, plus the peer's ACK delay of 2^15,
	 * rounded up. */
	assert_true(adv_cm_deadline(p->a.cm) == p->now + adv_cm_iba_ns(19));
	pass(p);
	event_of(&p->a, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	event_of(&p->b, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	assert_int_equal(p->a.cm->by_comm_id.count, 0);
}

static void test_crossing(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);

	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	assert_int_equal(adv_cm_disconnect(c.passive, p->now), 0);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	event_of(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	no_event(&p->a);
	no_event(&p->b);
}

static void test_no_answer(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	unsigned i;

	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	for (i = 0; i < 8; i++) {
		assert_int_equal(sent(p, &p->a).attribute, ADV_CM_DREQ);
		no_event(&p->a);
		pass(p);
	}
	nothing_sent(p, &p->a);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED).status, -ETIMEDOUT);
	pass(p);
	event_of(&p->a, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

static void test_forged(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_packet dreq = {.attribute = ADV_CM_DREQ, .tid = 5}, out;
	struct adv_cm_packet drep = {.attribute = ADV_CM_DREP};
	struct adv_gid stranger = ipv4(9);

	dreq.dreq.local_comm_id = c.active->local_comm_id;
	dreq.dreq.remote_comm_id = c.passive->local_comm_id;
	dreq.dreq.remote_qpn = 0x2003;
	give(p, &p->b, &dreq); /* another QP */
	nothing_sent(p, &p->b);
	/* A DREQ for an unknown id or from an unknown sender gets a DREP: that connection is
	 * already released. */
	dreq.dreq.remote_qpn = 0x2002;
	dreq.dreq.local_comm_id++;
	give(p, &p->b, &dreq);
	out = sent(p, &p->b);
	assert_int_equal(out.attribute, ADV_CM_DREP);
	assert_true(out.tid == 5);
	assert_int_equal(out.drep.remote_comm_id, dreq.dreq.local_comm_id);
	dreq.dreq.local_comm_id--;
	give_from(p, &p->b, &stranger, &dreq);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_unmatched, 3);
	drep.drep.local_comm_id = c.active->local_comm_id;
	drep.drep.remote_comm_id = c.passive->local_comm_id;
	give(p, &p->b, &drep); /* a DREP to a DREQ that was not sent */
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_unmatched, 4);
	no_event(&p->b);
	assert_true(adv_cm_id_busy(c.passive));
}

/* A DREQ before the RTU works: from the accepting side, and to either side. */
static void test_before_rtu(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	assert_int_equal(adv_cm_disconnect(c.active, p->now), EINVAL);
	assert_int_equal(adv_cm_disconnect(c.passive, p->now), 0);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	event_of(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(adv_cm_establish(c.active, p->now), EINVAL);
}

static void test_rtu_was_lost(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	assert_int_equal(adv_cm_establish(c.active, p->now), 0);
	sent(p, &p->a);
	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	pump(p);
	event_of(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
}

/* A DREQ has no effect on an unanswered request. */
static void test_dreq_to_request(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p);
	struct adv_cm_packet dreq = {.attribute = ADV_CM_DREQ};

	dreq.dreq.local_comm_id = c.active->local_comm_id;
	dreq.dreq.remote_comm_id = c.passive->local_comm_id;
	give(p, &p->b, &dreq);
	nothing_sent(p, &p->b);
	no_event(&p->b);
}

static void test_lap(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_packet lap = {.attribute = ADV_CM_LAP, .tid = 8}, apr;

	lap.lap.local_comm_id = c.active->local_comm_id;
	lap.lap.remote_comm_id = c.passive->local_comm_id;
	give(p, &p->b, &lap); /* a LAP for another QP number */
	nothing_sent(p, &p->b);
	lap.lap.remote_qpn = 0x2002;
	give(p, &p->b, &lap);
	apr = sent(p, &p->b);
	assert_int_equal(apr.attribute, ADV_CM_APR);
	assert_true(apr.tid == 8);
	assert_int_equal(apr.apr.status, ADV_CM_APR_UNSUPPORTED);
	assert_int_equal(apr.apr.remote_comm_id, c.active->local_comm_id);
	give(p, &p->a, &apr);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 1);
	no_event(&p->a);
}

/* ---- destroying ---- */

static void finish(struct pair *p)
{
	pump(p);
	while (adv_cm_ending_count(p->a.cm) + adv_cm_ending_count(p->b.cm) > 0) {
		pass(p);
		pump(p);
	}
}

static void test_destroy_connection(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);

	assert_int_equal(adv_cm_busy_count(p->a.cm), 1);
	adv_cm_id_destroy(c.active, p->now);
	assert_int_equal(adv_cm_id_count(p->a.cm), 0);
	assert_int_equal(adv_cm_busy_count(p->a.cm), 0);
	assert_int_equal(adv_cm_ending_count(p->a.cm), 1);
	assert_int_equal(adv_cm_closing_count(p->a.cm), 1);
	pump(p);
	assert_int_equal(adv_cm_closing_count(p->a.cm), 0);
	assert_int_equal(adv_cm_ending_count(p->a.cm), 1);
	finish(p);
	no_event(&p->a);
	event_of(&p->b, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(p->a.cm->by_comm_id.count, 0);
}

/* An id counts until it is freed, and only in the last counter that was set. */
static void test_charged(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	unsigned first = 0, second = 0;

	adv_cm_id_charge(c.active, &first);
	adv_cm_id_charge(c.passive, &first);
	adv_cm_id_charge(c.listen, &first);
	assert_int_equal(first, 3);
	adv_cm_id_charge(c.passive, &second);
	assert_int_equal(first, 2);
	assert_int_equal(second, 1);
	adv_cm_id_destroy(c.listen, p->now);
	adv_cm_id_destroy(c.active, p->now);
	assert_int_equal(first, 1);
	pump(p);
	adv_cm_id_destroy(c.passive, p->now);
	assert_int_equal(adv_cm_id_count(p->b.cm), 0);
	assert_int_equal(first, 1);
	assert_int_equal(second, 1);
	finish(p);
	assert_int_equal(first, 0);
	assert_int_equal(second, 0);
}

/* The DREQ of a destroyed id is retransmitted. */
static void test_destroy_and_lose(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);

	adv_cm_id_destroy(c.passive, p->now);
	assert_int_equal(sent(p, &p->b).attribute, ADV_CM_DREQ);
	pass(p);
	finish(p);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(adv_cm_counters(p->b.cm)->tx_retries, 1);
}

static void test_destroy_while_releasing(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);

	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	adv_cm_id_destroy(c.active, p->now);
	pump(p);
	adv_cm_id_destroy(c.passive, p->now);
	no_event(&p->b);
	assert_int_equal(adv_cm_ending_count(p->a.cm), 1);
	assert_int_equal(adv_cm_ending_count(p->b.cm), 1);
	finish(p);
}

static void test_destroy_before_rtu(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	adv_cm_id_destroy(c.passive, p->now);
	finish(p);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status, 28);
	adv_cm_id_destroy(c.active, p->now);
	finish(p);
}

static void test_destroy_response(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	adv_cm_id_destroy(c.active, p->now);
	finish(p);
	assert_int_equal(event_of(&p->b, RDMA_CM_EVENT_REJECTED).status, 28);
}

static void test_timewait_length(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);

	c.active->timeout = 31; /* a peer may request this: 2.4 hours */
	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	pump(p);
	assert_true(c.active->timer.when == p->now + adv_cm_iba_ns(24));
	p->a.cm->config.timewait_ns = 7 * SEC;
	adv_cm_id_timewait(c.active, p->now);
	assert_true(c.active->timer.when == p->now + 7 * SEC);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_from_either_side),   TEST(test_crossing),
		TEST(test_no_answer),	       TEST(test_forged),
		TEST(test_before_rtu),	       TEST(test_rtu_was_lost),
		TEST(test_dreq_to_request),    TEST(test_lap),
		TEST(test_destroy_connection), TEST(test_charged),
		TEST(test_destroy_and_lose),   TEST(test_destroy_while_releasing),
		TEST(test_destroy_before_rtu), TEST(test_destroy_response),
		TEST(test_timewait_length),
	};

	return cmocka_run_group_tests_name("cm release", tests, NULL, NULL);
}
