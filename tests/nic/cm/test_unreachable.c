/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Real and forged ICMP port unreachable messages about the peer's port. */
#include "harness.h"

#define TRIES 8 /* transmissions of a message without an answer */

/* The last MAD from a to b. */
struct quote {
	struct adv_gid from;
	struct adv_gid to;
	uint8_t mad[ADV_MAD_LEN];
};

static struct quote quote_of(struct pair *p, struct node *from)
{
	struct adv_cm_mad mad;
	struct quote q;

	assert_true(adv_cm_tx(from->cm, p->now, &mad));
	q.from = mad.path.sgid;
	q.to = mad.path.dgid;
	memcpy(q.mad, mad.data, sizeof(q.mad));
	nothing_sent(p, from);
	return q;
}

static void refuse(struct pair *p, struct node *from, const struct quote *q, size_t len)
{
	adv_cm_port_unreachable(from->cm, p->now, &q->from, &q->to, q->mad, len);
}

static struct adv_cm_id *asking(struct pair *p, enum rdma_port_space ps)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "");
	struct adv_cm_id *id = routed(&p->a, &p->b, ps);

	assert_int_equal(adv_cm_connect(id, p->now, &param), 0);
	return id;
}

/* The CM gives up only after the third transmission, so that a starting peer has about one
 * second. */
static void test_refused(void **state)
{
	static const enum rdma_port_space spaces[] = {RDMA_PS_TCP, RDMA_PS_UDP};
	struct pair *p = *state;

	for (unsigned i = 0; i < 2; i++) {
		struct adv_cm_id *id = asking(p, spaces[i]);
		uint64_t begin = p->now;
		struct adv_cm_event event;
		struct quote q;

		for (unsigned n = 1; n < 3; n++) {
			q = quote_of(p, &p->a);
			refuse(p, &p->a, &q, ADV_MAD_LEN + 4); /* hosts quote the ICRC too */
			no_event(&p->a);
			assert_true(adv_cm_id_busy(id));
			pass(p);
		}
		q = quote_of(p, &p->a);
		no_event(&p->a);
		refuse(p, &p->a, &q, ADV_MAD_LEN);
		event = event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE);
		assert_ptr_equal(event.id, id);
		assert_int_equal(event.status, -ECONNREFUSED);
		assert_true(p->now - begin < SEC);
		assert_false(adv_cm_id_busy(id));
		refuse(p, &p->a, &q, ADV_MAD_LEN);
		no_event(&p->a);
		if (spaces[i] == RDMA_PS_TCP)
			assert_int_equal(sent(p, &p->a).attribute, ADV_CM_REJ);
		nothing_sent(p, &p->a);
		adv_cm_id_destroy(id, p->now);
	}
}

/* One ICMP message with the shortest quote is enough: hosts may send only one message a second. */
static void test_refused_once(void **state)
{
	struct pair *p = *state;
	struct quote q;

	asking(p, RDMA_PS_TCP);
	q = quote_of(p, &p->a);
	refuse(p, &p->a, &q, 28);
	for (unsigned n = 1; n < 3; n++) {
		no_event(&p->a);
		pass(p);
		sent(p, &p->a);
	}
	pass(p);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE).status, -ECONNREFUSED);
}

/* An ICMP message with one wrong bit in the quote, or a wrong address, has no effect. */
static void test_forged(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = asking(p, RDMA_PS_TCP);
	const struct quote q = quote_of(p, &p->a);
	struct quote wrong;
	unsigned n;

	for (n = 0; n < 8 * ADV_MAD_LEN; n++) {
		wrong = q;
		wrong.mad[n / 8] ^= (uint8_t)(1u << n % 8);
		refuse(p, &p->a, &wrong, ADV_MAD_LEN);
	}
	for (n = 0; n < 28; n++)
		refuse(p, &p->a, &q, n);
	wrong = q;
	wrong.to = ipv4(9);
	refuse(p, &p->a, &wrong, ADV_MAD_LEN);
	wrong = q;
	wrong.from = ipv4(9);
	refuse(p, &p->a, &wrong, ADV_MAD_LEN);
	assert_false(id->refused);
	for (n = 1; n < TRIES; n++) {
		no_event(&p->a);
		pass(p);
		sent(p, &p->a);
	}
	pass(p);
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
}

/* If the peer answers with an MRA after two ICMP messages, the id keeps waiting. */
static void test_answered(void **state)
{
	struct pair *p = *state;
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_id *id = asking(p, RDMA_PS_TCP), *passive;
	struct adv_cm_packet req, mra;
	struct quote q;

	listener(&p->b, RDMA_PS_TCP, true, 0);
	for (unsigned n = 0; n < 2; n++) {
		q = quote_of(p, &p->a);
		refuse(p, &p->a, &q, ADV_MAD_LEN);
		pass(p);
	}
	req = sent(p, &p->a);
	give(p, &p->b, &req);
	passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	give(p, &p->b, &req);
	mra = sent(p, &p->b);
	assert_int_equal(mra.attribute, ADV_CM_MRA);
	give(p, &p->a, &mra);
	pass(p);
	assert_true(adv_cm_id_busy(id));
	no_event(&p->a);
	assert_int_equal(adv_cm_accept(passive, p->now, &param), 0);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	/* ICMP messages about an answered message have no effect. */
	refuse(p, &p->a, &q, ADV_MAD_LEN);
	assert_int_equal(adv_cm_establish(id, p->now), 0);
	pump(p);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
}

/* If the peer's port is closed, the CM also gives up a DREQ and the wait for an RTU. */
static void test_other_messages(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	struct adv_cm_conn_param param = conn_param(0x2003, "");
	struct quote q;
	unsigned n;

	assert_int_equal(adv_cm_disconnect(c.active, p->now), 0);
	for (n = 0; n < 3; n++) {
		no_event(&p->a);
		q = quote_of(p, &p->a);
		refuse(p, &p->a, &q, ADV_MAD_LEN);
		if (n < 2)
			pass(p);
	}
	assert_int_equal(event_of(&p->a, RDMA_CM_EVENT_DISCONNECTED).status, -ETIMEDOUT);
	/* The id has no owner now. */
	adv_cm_id_destroy(c.passive, p->now);
	for (n = 0; n < 3; n++) {
		assert_int_equal(adv_cm_closing_count(p->b.cm), 1);
		q = quote_of(p, &p->b);
		refuse(p, &p->b, &q, ADV_MAD_LEN);
		if (n < 2) {
			p->now = adv_cm_deadline(p->b.cm);
			adv_cm_expire(p->b.cm, p->now);
		}
	}
	assert_int_equal(adv_cm_closing_count(p->b.cm), 0);
	adv_cm_id_destroy(c.active, p->now);
	adv_cm_id_destroy(c.listen, p->now);
	c = requested(p);
	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), 0);
	for (n = 0; n < 3; n++) {
		no_event(&p->b);
		q = quote_of(p, &p->b);
		refuse(p, &p->b, &q, ADV_MAD_LEN);
		if (n < 2) {
			p->now = adv_cm_deadline(p->b.cm);
			adv_cm_expire(p->b.cm, p->now);
		}
	}
	assert_int_equal(event_of(&p->b, RDMA_CM_EVENT_UNREACHABLE).status, -ECONNREFUSED);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_refused),  TEST(test_refused_once),	TEST(test_forged),
		TEST(test_answered), TEST(test_other_messages),
	};

	return cmocka_run_group_tests_name("cm unreachable", tests, NULL, NULL);
}
