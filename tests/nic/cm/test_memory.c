/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each allocation fails once. The call fails cleanly, and later calls work. */
#include "harness.h"
#include "no_memory.h"

static void test_create(void **state)
{
	struct adv_cm_config config = {.seed = 1};
	unsigned n;

	for (n = 1; n <= 6; n++) {
		no_memory_at = n;
		assert_null(adv_cm_create(&config));
	}
	no_memory_at = 0;
}

static void test_ids(void **state)
{
	struct adv_cm_config config = {.seed = 1};
	struct adv_cm *cm = adv_cm_create(&config);
	struct adv_cm_addr any = {.family = AF_INET, .port = 5};
	struct adv_cm_id *id;
	unsigned n;

	for (n = 1; n <= 2; n++) {
		no_memory_at = n;
		assert_null(adv_cm_id_create(cm, RDMA_PS_TCP, IBV_QPT_RC, NULL));
	}
	no_memory_at = 0;
	id = adv_cm_id_create(cm, RDMA_PS_TCP, IBV_QPT_RC, NULL);
	no_memory_at = 1;
	assert_int_equal(adv_cm_bind(id, &any, 0), ENOMEM);
	no_memory_at = 1;
	assert_int_equal(adv_cm_listen(id, 0), ENOMEM);
	no_memory_at = 0;
	assert_int_equal(adv_cm_bind(id, &any, 0), 0);
	adv_cm_destroy(cm);
}

/* Acts as a consumer; returns the number of handled events. */
static unsigned serve(struct pair *p, struct node *n)
{
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_event event;
	unsigned events = 0;

	while (adv_cm_next_event(n->cm, &event)) {
		events |= 1u << event.type;
		if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			adv_cm_request_taken(event.id);
			assert_int_equal(adv_cm_accept(event.id, p->now, &param), 0);
		} else if (event.type == RDMA_CM_EVENT_CONNECT_RESPONSE) {
			assert_int_equal(adv_cm_establish(event.id, p->now), 0);
		}
	}
	return events;
}

/* Runs both nodes until nothing is left to do. Returns the number of handled events. */
static unsigned run(struct pair *p)
{
	unsigned events = 0, i;

	for (i = 0; i < 10000; i++) {
		uint64_t a = adv_cm_deadline(p->a.cm), b = adv_cm_deadline(p->b.cm);

		pump(p);
		events |= serve(p, &p->a) | serve(p, &p->b);
		if (!adv_list_empty(&p->a.cm->outgoing) || !adv_list_empty(&p->b.cm->outgoing))
			continue;
		a = adv_cm_deadline(p->a.cm);
		b = adv_cm_deadline(p->b.cm);
		if (a == UINT64_MAX && b == UINT64_MAX)
			return events;
		p->now = a < b ? a : b;
		adv_cm_expire(p->a.cm, p->now);
		adv_cm_expire(p->b.cm, p->now);
	}
	fail();
	return 0;
}

/* Runs a whole connection or SIDR resolution, in which allocation number `failure` fails. */
static void one_life(enum rdma_port_space ps, bool answered, unsigned failure)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *listen, *id;
	struct pair *p;
	void *state;
	unsigned events;

	pair_setup(&state);
	p = state;
	listen = listener(&p->b, ps, true, 0);
	id = routed(&p->a, &p->b, ps);
	if (!answered)
		adv_cm_id_destroy(listen, p->now);
	no_memory_at = failure;
	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	events = run(p);
	if (answered && ps == RDMA_PS_TCP) {
		assert_true(events & 1u << RDMA_CM_EVENT_ESTABLISHED);
		assert_int_equal(adv_cm_disconnect(id, p->now), 0);
		events = run(p);
		assert_true(events & 1u << RDMA_CM_EVENT_DISCONNECTED);
		assert_true(events & 1u << RDMA_CM_EVENT_TIMEWAIT_EXIT);
	} else if (answered) {
		assert_true(events & 1u << RDMA_CM_EVENT_ESTABLISHED);
	} else {
		assert_true(events &
			    (1u << RDMA_CM_EVENT_REJECTED | 1u << RDMA_CM_EVENT_UNREACHABLE));
	}
	no_memory_at = 0;
	pair_teardown(&state);
}

static void test_lives(void **state)
{
	unsigned n;

	for (n = 1; n <= 40; n++) {
		one_life(RDMA_PS_TCP, true, n);
		one_life(RDMA_PS_UDP, true, n);
		one_life(RDMA_PS_TCP, false, n);
		one_life(RDMA_PS_UDP, false, n);
	}
}

/* If no answer arrives and there is no memory for the event, the event is delivered later. */
static void test_giving_up(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = routed(&p->a, &p->b, RDMA_PS_TCP);
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_mad mad;
	unsigned i;

	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	for (i = 0; i < 8; i++) {
		while (adv_cm_tx(p->a.cm, p->now, &mad))
			;
		no_memory_at = i == 7;
		p->now = adv_cm_deadline(p->a.cm);
		adv_cm_expire(p->a.cm, p->now);
	}
	no_event(&p->a);
	pass(p);
	event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE);
}

/* If there is no memory for its event, an RTU counts as lost. adv_cm_establish() then returns an
 * error. */
static void test_established(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);

	no_memory_at = 1;
	assert_int_equal(adv_cm_establish(c.passive, p->now), ENOMEM);
	no_memory_at = 0;
	assert_int_equal(adv_cm_establish(c.passive, p->now), 0);
}

static void test_lost(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_packet rej = {.attribute = ADV_CM_REJ, .tid = c.active->tid};

	rej.rej.about = ADV_CM_ABOUT_OTHER;
	rej.rej.local_comm_id = c.passive->local_comm_id;
	rej.rej.remote_comm_id = c.active->local_comm_id;
	no_memory_at = 1;
	give(p, &p->a, &rej);
	no_event(&p->a);
	give(p, &p->a, &rej);
	event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create), cmocka_unit_test(test_ids),
		cmocka_unit_test(test_lives),  TEST(test_giving_up),
		TEST(test_established),	       TEST(test_lost),
	};

	return cmocka_run_group_tests_name("cm memory", tests, NULL, NULL);
}
