/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request with a forged source address causes answers to the owner of that address. Until the
 * address proves itself, the CM sends it at most three times as many MADs as arrived from it.
 */
#include <limits.h>

#include "nic/cm/proof.h"
#include "harness.h"

#define FACTOR	  3u
#define STRANGERS 4
#define KEPT	  16
#define TRIES	  8 /* transmissions of a message in all */

/* in[i]: MADs whose source is address i; out[i]: MADs sent to address i. */
struct balance {
	struct pair *pair;
	unsigned in[STRANGERS];
	unsigned out[STRANGERS];
	struct adv_cm_id *kept[KEPT]; /* requests that were delivered to their consumer */
};

static struct adv_gid stranger(unsigned i)
{
	return ipv4(70 + i);
}

static void set_header(uint8_t *out, const struct adv_gid *from, const struct adv_gid *to)
{
	const struct adv_cm_ip_header ip = {
		.ip_version = 4, .source_port = 40000, .source = *from, .destination = *to};

	adv_cm_ip_header_encode(&ip, out);
}

static struct adv_cm_packet req_of(const struct pair *p, unsigned i, uint32_t number)
{
	struct adv_cm_packet m = {.attribute = ADV_CM_REQ, .tid = 0x1234};
	struct adv_cm_req *r = &m.req;

	r->local_comm_id = number;
	r->service_id = adv_cm_service_id(RDMA_PS_TCP, PORT);
	r->local_ca_guid = 0xaaaa;
	r->local_qpn = 0x1000 + number;
	r->pkey = 0xffff;
	r->path_mtu = IBV_MTU_1024;
	r->primary.local_gid = stranger(i);
	r->primary.remote_gid = p->b.gid;
	set_header(r->private_data, &r->primary.local_gid, &p->b.gid);
	return m;
}

static struct adv_cm_packet sidr_req_of(const struct pair *p, unsigned i, uint32_t number)
{
	struct adv_cm_packet m = {.attribute = ADV_CM_SIDR_REQ, .tid = 0x1234};
	struct adv_gid from = stranger(i);

	m.sidr_req.request_id = number;
	m.sidr_req.pkey = 0xffff;
	m.sidr_req.service_id = adv_cm_service_id(RDMA_PS_UDP, PORT);
	set_header(m.sidr_req.private_data, &from, &p->b.gid);
	return m;
}

static void send_as(struct balance *x, unsigned i, const struct adv_cm_packet *packet)
{
	struct adv_gid from = stranger(i);

	x->in[i]++;
	give_from(x->pair, &x->pair->b, &from, packet);
}

/* Dequeues all MADs of b and checks the balance. */
static void settle(struct balance *x)
{
	struct adv_cm_mad mad;

	while (adv_cm_tx(x->pair->b.cm, x->pair->now, &mad))
		x->out[mad.path.dgid.raw[15] - 70]++;
	for (unsigned i = 0; i < STRANGERS; i++)
		assert_true(x->out[i] <= FACTOR * x->in[i]);
}

static void keep_requests(struct balance *x)
{
	struct adv_cm_event event;
	unsigned i;

	while (adv_cm_next_event(x->pair->b.cm, &event)) {
		if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		for (i = 0; i < KEPT && x->kept[i]; i++)
			;
		if (i < KEPT)
			x->kept[i] = event.id;
		else
			adv_cm_id_destroy(event.id, x->pair->now);
	}
}

/* Advances b's time until it has nothing left to do. */
static void outwait(struct balance *x)
{
	struct pair *p = x->pair;

	settle(x);
	while (adv_cm_deadline(p->b.cm) != UINT64_MAX) {
		p->now = adv_cm_deadline(p->b.cm);
		adv_cm_expire(p->b.cm, p->now);
		settle(x);
	}
}

static struct adv_cm_id *accepted(struct balance *x, const struct adv_cm_packet *req, unsigned i)
{
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_id *id;

	send_as(x, i, req);
	id = event_of(&x->pair->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_accept(id, x->pair->now, &param), 0);
	return id;
}

/* ---- sent MADs ---- */

static void test_accepted(void **state)
{
	struct balance x = {.pair = *state};
	struct adv_cm_packet req = req_of(x.pair, 0, 5), sidr = sidr_req_of(x.pair, 1, 6);
	struct adv_cm_id *id;

	listener(&x.pair->b, RDMA_PS_TCP, true, 0);
	listener(&x.pair->b, RDMA_PS_UDP, true, 0);
	id = accepted(&x, &req, 0);
	accepted(&x, &sidr, 1);
	outwait(&x);
	/* The REP is retransmitted. The SIDR_REP is not. */
	assert_int_equal(x.out[0], FACTOR);
	assert_int_equal(x.out[1], 1);
	event_of(&x.pair->b, RDMA_CM_EVENT_UNREACHABLE);
	adv_cm_id_destroy(id, x.pair->now);
	nothing_sent(x.pair, &x.pair->b);
}

/* A duplicate request is answered again, and adds credit. */
static void test_repeated(void **state)
{
	struct balance x = {.pair = *state};
	struct adv_cm_packet req = req_of(x.pair, 0, 5);

	listener(&x.pair->b, RDMA_PS_TCP, true, 0);
	accepted(&x, &req, 0);
	for (unsigned n = 1; n <= 5; n++) {
		settle(&x);
		assert_int_equal(x.out[0], n);
		send_as(&x, 0, &req);
	}
	outwait(&x);
	assert_int_equal(x.in[0], 6);
	assert_true(x.out[0] >= 6 + 5);
}

/* The limit holds for each way in which the connection can end at this side. */
static void test_ended(void **state)
{
	struct balance x = {.pair = *state};
	struct adv_cm_packet req;
	struct adv_cm_id *id;

	listener(&x.pair->b, RDMA_PS_TCP, true, 0);
	req = req_of(x.pair, 0, 5);
	adv_cm_id_destroy(accepted(&x, &req, 0), x.pair->now);
	req = req_of(x.pair, 1, 6);
	assert_int_equal(adv_cm_disconnect(accepted(&x, &req, 1), x.pair->now), 0);
	req = req_of(x.pair, 2, 7);
	for (unsigned n = 0; n < 3; n++)
		send_as(&x, 2, &req);
	id = event_of(&x.pair->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(adv_cm_reject(id, x.pair->now, 28, NULL, 0), 0);
	outwait(&x);
	assert_int_equal(x.out[0], 2); /* REP, REJ */
	assert_int_equal(x.out[1], FACTOR);
	assert_int_equal(x.out[2], 3); /* two MRAs, REJ */
}

static struct adv_cm_packet anything(struct balance *x, struct adv_rng *rng, unsigned i)
{
	uint32_t number = 1 + (uint32_t)adv_rng_below(rng, 3);
	struct adv_cm_packet m = {.tid = 0x1234};

	switch (adv_rng_below(rng, 8)) {
	case 0:
	case 1:
	case 2:
		return req_of(x->pair, i, number);
	case 3:
		return sidr_req_of(x->pair, i, number);
	case 4:
		m.attribute = ADV_CM_DREQ;
		m.dreq.local_comm_id = number;
		m.dreq.remote_comm_id = number;
		break;
	case 5:
		m.attribute = ADV_CM_REP;
		m.rep.local_comm_id = number;
		m.rep.remote_comm_id = number;
		m.rep.local_qpn = 9;
		break;
	case 6:
		m.attribute = ADV_CM_RTU;
		m.rtu.local_comm_id = number;
		m.rtu.remote_comm_id = number;
		break;
	default:
		m.attribute = ADV_CM_REJ;
		m.rej.reason = ADV_CM_REJ_TIMEOUT;
		m.rej.local_comm_id = number;
		break;
	}
	return m;
}

static void consume(struct balance *x, struct adv_rng *rng)
{
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_id **id = &x->kept[adv_rng_below(rng, KEPT)];

	if (!*id)
		return;
	switch (adv_rng_below(rng, 4)) {
	case 0:
		adv_cm_reject(*id, x->pair->now, 28, NULL, 0);
		break;
	case 1:
		adv_cm_disconnect(*id, x->pair->now);
		break;
	case 2:
		adv_cm_id_destroy(*id, x->pair->now);
		*id = NULL;
		break;
	default:
		adv_cm_accept(*id, x->pair->now, &param);
		break;
	}
}

/* Random messages in random order, with forged addresses. */
static void test_any(void **state)
{
	struct balance x = {.pair = *state};
	struct adv_cm_packet packet;
	struct adv_rng rng;

	adv_rng_seed(&rng, 5);
	listener(&x.pair->b, RDMA_PS_TCP, true, 0);
	listener(&x.pair->b, RDMA_PS_UDP, true, 0);
	for (unsigned n = 0; n < 100000; n++) {
		unsigned i = (unsigned)adv_rng_below(&rng, STRANGERS);
		uint64_t deadline = adv_cm_deadline(x.pair->b.cm);

		if (adv_rng_below(&rng, 40) == 0) {
			packet = anything(&x, &rng, i);
			send_as(&x, i, &packet);
		} else if (adv_rng_below(&rng, 2) || deadline == UINT64_MAX) {
			consume(&x, &rng);
		} else {
			x.pair->now = deadline > x.pair->now ? deadline : x.pair->now;
			adv_cm_expire(x.pair->b.cm, x.pair->now);
		}
		settle(&x);
		keep_requests(&x);
	}
	for (unsigned i = 0; i < STRANGERS; i++)
		assert_true(x.out[i] > 500);
}

/* ---- proofs ---- */

/* Counts the MADs that b sends until it has nothing left to do, or has sent `most`. Node a receives
 * none of them. */
static unsigned sendings_up_to(struct pair *p, unsigned most)
{
	struct adv_cm_mad mad;
	unsigned n = 0;

	for (;;) {
		while (adv_cm_tx(p->b.cm, p->now, &mad))
			n++;
		if (n == most || adv_cm_deadline(p->b.cm) == UINT64_MAX)
			return n;
		p->now = adv_cm_deadline(p->b.cm);
		adv_cm_expire(p->b.cm, p->now);
	}
}

static unsigned sendings(struct pair *p)
{
	return sendings_up_to(p, UINT_MAX);
}

/* Makes another connection from a to b's listener, up to the REP. */
static struct connection another(struct pair *p, uint32_t qpn)
{
	struct adv_cm_conn_param param = conn_param(qpn, "");
	struct connection c = {.active = routed(&p->a, &p->b, RDMA_PS_TCP)};
	struct adv_cm_packet req;

	assert_int_equal(adv_cm_connect(c.active, p->now, &param), 0);
	req = sent(p, &p->a);
	give(p, &p->b, &req);
	c.passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	param.qp_num += 0x1000;
	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), 0);
	return c;
}

/* The address of a connection is proven for other connections too, until ten minutes after the last
 * proof. */
static void test_proven(void **state)
{
	struct pair *p = *state;
	struct connection c = connected(p);
	uint64_t last = p->now;

	adv_cm_id_destroy(c.passive, p->now); /* DREQ, DREP */
	pump(p);
	another(p, 0x1111);
	assert_int_equal(sendings(p), TRIES + 1); /* TRIES REPs and a REJ */
	event_of(&p->b, RDMA_CM_EVENT_UNREACHABLE);
	assert_true(p->now < last + 600 * SEC);
	p->now = last + 600 * SEC - 1;
	another(p, 0x1112);
	assert_int_equal(sendings(p), TRIES + 1);
	event_of(&p->b, RDMA_CM_EVENT_UNREACHABLE);
	assert_true(p->now > last + 600 * SEC);
	another(p, 0x1113);
	assert_int_equal(sendings(p), FACTOR);
}

/* An address may be proven by another connection while a connection from it waits. */
static void test_proven_meanwhile(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p), other;
	struct adv_cm_conn_param param = conn_param(0x2002, "");

	other = another(p, 0x1111);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), 0);
	sent(p, &p->b);
	assert_int_equal(adv_cm_establish(other.active, p->now), 0);
	pump(p);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(sendings(p), TRIES - 1 + 1);
}

/* A proven address receives all transmissions of the REP and, if the consumer disconnects after the
 * last one, all of the DREQ. */
static void test_proven_disconnect(void **state)
{
	struct pair *p = *state;
	struct connection c;

	connected(p);
	c = another(p, 0x1111);
	assert_int_equal(sendings_up_to(p, TRIES), TRIES);
	assert_int_equal(adv_cm_disconnect(c.passive, p->now), 0);
	assert_int_equal(sendings(p), TRIES);
}

/* A message with numbers that b never sent does not prove its source address. */
static void test_guessed(void **state)
{
	struct pair *p = *state;
	struct connection c = requested(p);
	struct adv_cm_conn_param param = conn_param(0x2002, "");
	struct adv_cm_packet rtu = {.attribute = ADV_CM_RTU}, mra = {.attribute = ADV_CM_MRA};

	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), 0);
	rtu.rtu.local_comm_id = mra.mra.local_comm_id = c.active->local_comm_id;
	rtu.rtu.remote_comm_id = mra.mra.remote_comm_id = c.passive->local_comm_id ^ 1;
	mra.mra.about = ADV_CM_ABOUT_REP;
	give(p, &p->b, &rtu);
	give(p, &p->b, &mra);
	/* A message with the right number from another address does not prove that address. */
	rtu.rtu.remote_comm_id = c.passive->local_comm_id;
	give_from(p, &p->b, &(struct adv_gid){.raw = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 3}},
		  &rtu);
	no_event(&p->b);
	assert_int_equal(sendings(p), FACTOR);
}

/* The proof counts for one address, and not for others with the same hash. */
static void test_address(void **state)
{
	struct pair *p = *state;
	struct adv_gid gid = p->a.gid;

	connected(p);
	assert_true(adv_cm_proven(p->b.cm, p->now, &gid));
	assert_true(adv_cm_proven(p->a.cm, p->now, &p->b.gid));
	for (unsigned n = 0; n < 16 * ADV_CM_PROOFS; n++) {
		gid.raw[13] = (uint8_t)(n >> 8);
		gid.raw[14] = (uint8_t)n;
		gid.raw[15] = 77;
		assert_false(adv_cm_proven(p->b.cm, p->now, &gid));
	}
}

/* To an unproven address an RTU is sent several times, because that end may not retransmit its REP
 * often. */
static void test_rtu_lost(void **state)
{
	struct pair *p = *state;
	struct connection c = responded(p);
	struct adv_cm_packet rtu;

	assert_int_equal(adv_cm_establish(c.active, p->now), 0);
	rtu = sent(p, &p->a);
	for (unsigned n = 1; n < ADV_CM_RTU_TRIES; n++) {
		struct adv_cm_packet again;

		p->now = adv_cm_deadline(p->a.cm);
		adv_cm_expire(p->a.cm, p->now);
		again = sent(p, &p->a);
		assert_memory_equal(&again, &rtu, sizeof(rtu));
	}
	p->now = adv_cm_deadline(p->a.cm);
	adv_cm_expire(p->a.cm, p->now);
	nothing_sent(p, &p->a);
	assert_true(adv_cm_deadline(p->a.cm) == UINT64_MAX);
	give(p, &p->b, &rtu);
	event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED);
	/* Both addresses are proven: one RTU is enough. */
	c = another(p, 0x1111);
	pump(p);
	event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(adv_cm_establish(c.active, p->now), 0);
	sent(p, &p->a);
	assert_true(adv_cm_deadline(p->a.cm) == UINT64_MAX);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_accepted),
		TEST(test_repeated),
		TEST(test_ended),
		TEST(test_any),
		TEST(test_proven),
		TEST(test_proven_meanwhile),
		TEST(test_proven_disconnect),
		TEST(test_guessed),
		TEST(test_address),
		TEST(test_rtu_lost),
	};

	return cmocka_run_group_tests_name("cm proof", tests, NULL, NULL);
}
