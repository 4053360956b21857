/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that arrive before a listener exists. */
#include "harness.h"

#define WAIT (100 * MS)

static int early_setup(void **state)
{
	struct pair *p;
	int rc = pair_setup(state);

	p = *state;
	p->b.cm->config.early_ns = WAIT;
	return rc;
}

static struct adv_cm_id *ask(struct pair *p, enum rdma_port_space ps)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "hello");
	struct adv_cm_id *id = routed(&p->a, &p->b, ps);

	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	pump(p);
	return id;
}

static void test_listener_comes(void **state)
{
	static const enum rdma_port_space spaces[] = {RDMA_PS_TCP, RDMA_PS_UDP};

	for (int i = 0; i < 2; i++) {
		struct pair *p = *state;
		struct adv_cm_conn_param param = conn_param(0x2002, "");
		struct adv_cm_id *asks = ask(p, spaces[i]), *listens;
		struct adv_cm_event event;

		no_event(&p->a);
		listens = listener(&p->b, spaces[i], i == 0, 4);
		event = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST);
		assert_ptr_equal(event.listen, listens);
		assert_memory_equal(event.param.private_data, "hello", 5);
		assert_int_equal(adv_cm_accept(event.id, p->now, &param), 0);
		pump(p);
		event = event_of(&p->a, i == 0 ? RDMA_CM_EVENT_CONNECT_RESPONSE
					       : RDMA_CM_EVENT_ESTABLISHED);
		assert_ptr_equal(event.id, asks);
		assert_int_equal(p->b.cm->early_count, 0);
	}
}

static void test_nobody_comes(void **state)
{
	struct pair *p = *state;
	uint64_t start = p->now;

	ask(p, RDMA_PS_TCP);
	assert_true(adv_cm_deadline(p->b.cm) == start + WAIT);
	pass(p);
	pump(p);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_REJECTED).status,
			 ADV_CM_REJ_INVALID_SERVICE_ID);
	start = p->now;
	ask(p, RDMA_PS_UDP);
	assert_true(adv_cm_deadline(p->b.cm) == start + WAIT);
	pass(p);
	pump(p);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE).status,
			 ADV_CM_SIDR_UNSUPPORTED);
	assert_true(adv_cm_deadline(p->b.cm) == UINT64_MAX);
}

/* If a listener was closed recently, requests for its port are held longer. */
static void test_listener_comes_back(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *listens = listener(&p->b, RDMA_PS_TCP, true, 0);
	uint64_t start;

	p->b.cm->config.again_ns = 20 * WAIT;
	adv_cm_expect_relisten(listens, p->now);
	adv_cm_id_destroy(listens, p->now);
	p->now += SEC;
	start = p->now;
	ask(p, RDMA_PS_TCP);
	assert_true(adv_cm_deadline(p->b.cm) == start + 20 * WAIT);
	ask(p, RDMA_PS_UDP); /* no UDP listener was closed */
	assert_true(adv_cm_deadline(p->b.cm) == start + WAIT);
	p->now = start + WAIT;
	adv_cm_expire(p->b.cm, p->now);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE);
	assert_true(adv_cm_deadline(p->b.cm) == start + 20 * WAIT);
	listens = listener(&p->b, RDMA_PS_TCP, false, 0);
	assert_ptr_equal(event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).listen, listens);
	no_event(&p->a);
	/* The longer wait ends, too. Only requests that arrive within ten seconds after the close
	 * get it. */
	adv_cm_expect_relisten(listens, p->now);
	adv_cm_id_destroy(listens, p->now);
	start = p->now;
	p->now += 9 * SEC;
	ask(p, RDMA_PS_TCP);
	p->now += 20 * WAIT;
	adv_cm_expire(p->b.cm, p->now);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_REJECTED);
	no_event(&p->a);
	p->now = start + 11 * SEC;
	ask(p, RDMA_PS_TCP);
	p->now += WAIT;
	adv_cm_expire(p->b.cm, p->now);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_REJECTED);
}

/* A listener at another port does not count; a duplicate request is refused once. */
static void test_others(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);
	struct adv_cm_packet req;

	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	req = sent(p, &p->a);
	give(p, &p->b, &req);
	give(p, &p->b, &req);
	assert_int_equal(adv_cm_counters(p->b.cm)->rx_duplicates, 1);
	listener(&p->b, RDMA_PS_UDP, true, 4);
	no_event(&p->b);
	nothing_sent(p, &p->b);
	pass(p);
	assert_int_equal(sent(p, &p->b).attribute, ADV_CM_REJ);
	nothing_sent(p, &p->b);
}

/* The number of held requests is bounded, and further ones are refused at once. Requests still held
 * at the end are freed. */
static void test_bound(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 256; i++)
		ask(p, RDMA_PS_TCP);
	no_event(&p->a);
	ask(p, RDMA_PS_TCP);
	event_of(&p->a, RDMA_CM_EVENT_REJECTED);
	no_event(&p->a);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, early_setup, pair_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_listener_comes), TEST(test_nobody_comes), TEST(test_listener_comes_back),
		TEST(test_others),	   TEST(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
