/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* REJ, sent and received in every state. */
#include "harness.h"
#include "base/bytes.h"

static struct adv_cm_packet rej_about(const struct adv_cm_id *to, enum adv_cm_about about,
				      uint16_t reason)
{
	struct adv_cm_packet rej = {.attribute = ADV_CM_REJ, .tid = to->tid};

	rej.rej.about = about;
	rej.rej.reason = reason;
	rej.rej.local_comm_id = to->remote_comm_id;
	rej.rej.remote_comm_id = to->local_comm_id;
	memcpy(rej.rej.private_data, "no", 2);
	return rej;
}

static struct adv_cm_id *asking(struct pair *p)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);

	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	sent(p, &p->a);
	return id;
}

static void test_of_request(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p);
	struct adv_cm_event event;
	char big[200] = "";

	assert_int_equal(adv_cm_reject(c.passive, p->now, 28, big, 149), EINVAL);
	assert_int_equal(adv_cm_reject(c.passive, p->now, 28, "thanks", 7), 0);
	assert_int_equal(adv_cm_reject(c.passive, p->now, 28, "thanks", 7), EINVAL);
	pump(p);
	event = event_of(&p->a, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event.status, 28);
	assert_int_equal(event.param.private_data_len, ADV_CM_REJ_PRIVATE);
	assert_string_equal((char *)event.param.private_data, "thanks");
	assert_false(adv_cm_id_busy(c.active));
	assert_false(adv_cm_id_busy(c.passive));
	no_event(&p->b);
	assert_true(adv_cm_deadline(p->a.cm) == UINT64_MAX);
}

static void test_of_response(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);
	struct adv_cm_conn_param param = conn_param(0x2002, "");

	assert_int_equal(adv_cm_reject(c.active, p->now, 28, NULL, 0), 0);
	pump(p);
	assert_int_equal(event_of(&p->b, RDMA_CM_EVENT_REJECTED).status, 28);
	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), ECONNABORTED);
	assert_true(adv_cm_deadline(p->b.cm) == UINT64_MAX);
}

/* ---- path MTU ---- */

/* If the request's MTU is too large, the peer repeats the request with the MTU that the REJ
 * names. */
static void test_mtu(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "hello"),
				 answer = conn_param(0x2002, "");
	struct adv_cm_packet first, rej, again;
	struct ibv_qp_attr attr;
	struct connection c = {.listen = listener(&p->b, RDMA_PS_TCP, true, 0)};
	int mask;

	c.active = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_connect(c.active, p->now, &param), 0);
	first = sent(p, &p->a);
	give(p, &p->b, &first);
	c.passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_reject_mtu(c.passive, p->now, (enum ibv_mtu)6), EINVAL);
	assert_int_equal(adv_cm_reject_mtu(c.passive, p->now, IBV_MTU_512), 0);
	assert_int_equal(adv_cm_reject_mtu(c.passive, p->now, IBV_MTU_512), EINVAL);
	adv_cm_id_destroy(c.passive, p->now);
	rej = sent(p, &p->b);
	assert_int_equal(rej.rej.reason, ADV_CM_REJ_INVALID_MTU);
	assert_int_equal(rej.rej.about, ADV_CM_ABOUT_REQ);
	assert_int_equal(rej.rej.info_len, 1);
	assert_int_equal(rej.rej.info[0], IBV_MTU_512);
	give(p, &p->a, &rej);
	no_event(&p->a);
	assert_true(adv_cm_id_busy(c.active));
	assert_int_equal(adv_cm_id_route(c.active)->mtu, IBV_MTU_512);
	again = sent(p, &p->a);
	assert_int_equal(again.attribute, ADV_CM_REQ);
	assert_int_equal(again.req.path_mtu, IBV_MTU_512);
	assert_int_not_equal(again.tid, first.tid);
	assert_int_not_equal(again.req.local_comm_id, first.req.local_comm_id);
	/* The repeated request differs in nothing else, and answers to the first request are
	 * ignored. */
	give(p, &p->a, &rej);
	nothing_sent(p, &p->a);
	first.tid = again.tid;
	first.req.local_comm_id = again.req.local_comm_id;
	first.req.starting_psn = again.req.starting_psn;
	first.req.path_mtu = again.req.path_mtu;
	assert_memory_equal(&again, &first, sizeof(again));
	give(p, &p->b, &again);
	c.passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_accept(c.passive, p->now, &answer), 0);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(adv_cm_qp_attr(c.active, IBV_QPS_RTR, &attr, &mask), 0);
	assert_int_equal(attr.path_mtu, IBV_MTU_512);
	assert_int_equal(attr.rq_psn, again.req.starting_psn);
	assert_int_equal(adv_cm_qp_attr(c.passive, IBV_QPS_RTR, &attr, &mask), 0);
	assert_int_equal(attr.path_mtu, IBV_MTU_512);
}

/* The consumer gets rejects for the MTU that name no usable MTU. */
static void test_mtu_useless(void **state)
{
	static const uint8_t info[] = {0, IBV_MTU_1024, IBV_MTU_2048, 6, 0xf, 0x60, 0x11, 0xff};
	struct pair *p = *state;

	for (unsigned i = 0; i <= sizeof(info); i++) {
		struct adv_cm_id *id = asking(p);
		struct adv_cm_packet rej = rej_about(id, ADV_CM_ABOUT_REQ, ADV_CM_REJ_INVALID_MTU);

		rej.rej.local_comm_id = 0;
		rej.rej.info_len = i < sizeof(info);
		rej.rej.info[0] = i < sizeof(info) ? info[i] : IBV_MTU_512;
		give(p, &p->a, &rej);
		assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status,
				 ADV_CM_REJ_INVALID_MTU);
		nothing_sent(p, &p->a);
	}
}

/* Each repeated request has a smaller MTU, so there are at most four. The MTU code may be in either
 * half of the byte. A REJ with another reason names no MTU. */
static void test_mtu_again_and_again(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = asking(p);
	struct adv_cm_packet rej;

	for (unsigned mtu = IBV_MTU_512; mtu >= IBV_MTU_256; mtu--) {
		rej = rej_about(id, ADV_CM_ABOUT_REQ, ADV_CM_REJ_INVALID_MTU);
		rej.rej.info_len = 1;
		rej.rej.info[0] = (uint8_t)(mtu == IBV_MTU_512 ? mtu << 4 : mtu);
		give(p, &p->a, &rej);
		assert_int_equal(sent(p, &p->a).req.path_mtu, mtu);
	}
	rej = rej_about(id, ADV_CM_ABOUT_REQ, ADV_CM_REJ_INVALID_MTU);
	rej.rej.info_len = 1;
	rej.rej.info[0] = IBV_MTU_256;
	give(p, &p->a, &rej);
	event_of(&p->a, RDMA_CM_EVENT_REJECTED);
	id = asking(p);
	rej = rej_about(id, ADV_CM_ABOUT_REQ, ADV_CM_REJ_CONSUMER_DEFINED);
	rej.rej.info_len = 1;
	rej.rej.info[0] = IBV_MTU_256;
	give(p, &p->a, &rej);
	event_of(&p->a, RDMA_CM_EVENT_REJECTED);
	nothing_sent(p, &p->a);
}

static void test_without_listener(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);

	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	pump(p);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status,
			 ADV_CM_REJ_INVALID_SERVICE_ID);
}

static void test_stale(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = asking(p);
	struct adv_cm_packet rej = rej_about(id, ADV_CM_ABOUT_REQ, ADV_CM_REJ_STALE_CONN);

	give(p, &p->a, &rej);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status, ADV_CM_REJ_STALE_CONN);
	give(p, &p->a, &rej);
	no_event(&p->a);
	pass(p);
	event_of(&p->a, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

static void test_forged(void **state)
{
	struct pair *p = *state;
	struct adv_gid stranger = ipv4(9);
	struct adv_cm_id *id = asking(p);
	struct adv_cm_packet rej = rej_about(id, ADV_CM_ABOUT_REQ, 28), bad;

	give_from(p, &p->a, &stranger, &rej);
	bad = rej;
	bad.tid++;
	give(p, &p->a, &bad);
	bad = rej;
	bad.rej.remote_comm_id++;
	give(p, &p->a, &bad);
	bad = rej; /* a REJ about a message that was not sent */
	bad.rej.about = ADV_CM_ABOUT_REP;
	give(p, &p->a, &bad);
	no_event(&p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 4);
	assert_true(adv_cm_id_busy(id));
}

/* A REJ for a REQ, or with only one of the two communication ids, does not end a connection. */
static void test_forged_at_connection(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_packet rej = rej_about(c.active, ADV_CM_ABOUT_REQ, 28);

	give(p, &p->a, &rej);
	rej = rej_about(c.active, ADV_CM_ABOUT_OTHER, 28);
	rej.rej.local_comm_id ^= 1;
	give(p, &p->a, &rej);
	rej = rej_about(c.active, ADV_CM_ABOUT_OTHER, ADV_CM_REJ_TIMEOUT);
	rej.rej.info_len = 8;
	adv_put_be64(rej.rej.info, p->b.guid + 1);
	give(p, &p->a, &rej);
	adv_put_be64(rej.rej.info, p->b.guid);
	rej.rej.remote_comm_id ^= 1;
	give(p, &p->a, &rej);
	no_event(&p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_unmatched, 4);
	rej.rej.remote_comm_id = 0;
	give(p, &p->a, &rej);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
	/* A duplicate REJ in TIMEWAIT has no effect. */
	give(p, &p->a, &rej);
	no_event(&p->a);
	assert_int_equal(adv_cm_counters(p->a.cm)->rx_duplicates, 1);
	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	nothing_sent(p, &p->a);
}

/* A timeout without a GUID is handled like other reasons. */
static void test_timeout_without_guid(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = asking(p);
	struct adv_cm_packet rej = rej_about(id, ADV_CM_ABOUT_REQ, ADV_CM_REJ_TIMEOUT);

	give(p, &p->a, &rej);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status, ADV_CM_REJ_TIMEOUT);
}

/* The connecting side gives up while the accepting side has not answered. */
static void test_peer_gave_up(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p);
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct ibv_qp_attr attr;
	int mask;

	adv_cm_id_destroy(c.active, p->now);
	pump(p);
	assert_int_equal(event_of(&p->b, RDMA_CM_EVENT_REJECTED).status, ADV_CM_REJ_TIMEOUT);
	assert_int_equal(adv_cm_qp_attr(c.passive, IBV_QPS_RTR, &attr, &mask), ECONNABORTED);
	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), ECONNABORTED);
	assert_int_equal(adv_cm_id_count(p->a.cm), 0);
	assert_int_equal(adv_cm_ending_count(p->a.cm), 0);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_of_request),
		TEST(test_of_response),
		TEST(test_mtu),
		TEST(test_mtu_useless),
		TEST(test_mtu_again_and_again),
		TEST(test_without_listener),
		TEST(test_stale),
		TEST(test_forged),
		TEST(test_forged_at_connection),
		TEST(test_timeout_without_guid),
		TEST(test_peer_gave_up),
	};

	return cmocka_run_group_tests_name("cm reject", tests, NULL, NULL);
}
