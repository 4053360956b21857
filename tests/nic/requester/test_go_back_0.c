/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Go-back-0: a loss restarts the whole message at both ends. The tests compare it with
 * go-back-N. */
#include "../engine/harness.h"

#define MTU	256
#define WINDOW	1024
#define LOG	4096
#define NOTHING UINT64_MAX

/* Records the sent packets by direction, and selects the data packets that are lost or late. */
struct watch {
	uint64_t lose;	     /* drop the n-th data packet */
	uint64_t lose_every; /* then drop each lose_every-th packet; 0: no further one */
	uint64_t late_from;  /* data packets from this one to late_to arrive `late` ns later */
	uint64_t late_to;
	uint64_t late;
	uint64_t data; /* data packets so far: of requests or of READ responses */
	unsigned requests;
	uint32_t request[LOG]; /* PSNs of SENDs, WRITEs and READ requests */
	unsigned acks;
	uint32_t ack[LOG]; /* PSNs of node 1's acknowledgements */
	uint8_t syndrome[LOG];
};

struct setup {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct watch watch;
};

static void note(struct watch *v, const struct wire *w)
{
	uint16_t flags = adv_opcode_table[w->h.bth.opcode].flags;

	if (flags & ADV_PKT_RESPONSE) {
		if (v->acks < LOG && (adv_opcode_table[w->h.bth.opcode].headers & ADV_HAS_AETH)) {
			v->syndrome[v->acks] = w->h.aeth.syndrome;
			v->ack[v->acks++] = w->h.bth.psn;
		}
	} else if (v->requests < LOG) {
		v->request[v->requests++] = w->h.bth.psn;
	}
}

static void hook(struct net *net, struct wire *w)
{
	struct watch *v = net->arg;
	uint64_t n;

	note(v, w);
	if (w->payload_len == 0)
		return;
	n = v->data++;
	if (n == v->lose || (v->lose_every && n % v->lose_every == v->lose_every - 1))
		w->copies = 0;
	if (n >= v->late_from && n <= v->late_to)
		w->delay += v->late;
}

static void set_up(struct setup *s, bool go_back_0)
{
	struct adv_engine_config config = {.seed = {1, 2, 3, 4},
					   .window = WINDOW,
					   .total_window = WINDOW,
					   .go_back_0 = go_back_0};
	struct options o = options_default(IBV_QPT_RC);

	memset(s, 0, sizeof(*s));
	s->watch.lose = s->watch.late_from = NOTHING;
	s->net = net_open_config(2, &config);
	s->net->hook = hook;
	s->net->arg = &s->watch;
	o.mtu = IBV_MTU_256;
	o.psn[0] = 0xfffffe;
	s->ra = region_open(&s->net->node[0], WINDOW * MTU, ALL_ACCESS);
	s->rb = region_open(&s->net->node[1], WINDOW * MTU, ALL_ACCESS);
	region_fill(s->ra, 1);
	region_fill(s->rb, 2);
	pair_open(s->net, &o, &s->a, &s->b);
}

static uint32_t psn(uint32_t n)
{
	return (0xfffffe + n) & ADV_PSN_MASK;
}

static void expect_requests(const struct watch *v, unsigned at, uint32_t first, unsigned count)
{
	assert_true(v->requests >= at + count);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(v->request[at + i], psn(first + i));
}

static void test_a_write_begins_again(void **state)
{
	for (unsigned zero = 0; zero < 2; zero++) {
		uint32_t back_to = zero ? 0 : 5;
		struct setup s;

		set_up(&s, zero);
		s.watch.lose = 5;
		end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, 8 * MTU, s.rb, 0);
		net_run(s.net, SEC);
		expect_send(s.a, 0, 7, IBV_WC_SUCCESS);
		expect_pattern(s.rb, 0, 8 * MTU, 1, 0);
		expect_requests(&s.watch, 0, 0, 8);
		expect_requests(&s.watch, 8, back_to, 8 - back_to);
		assert_int_equal(s.watch.requests, 16 - back_to);
		assert_int_equal(s.watch.acks, 2);
		assert_int_equal(s.watch.syndrome[0], ADV_AETH_NAK | ADV_NAK_PSN_SEQUENCE_ERROR);
		assert_int_equal(s.watch.ack[0], psn(back_to));
		assert_int_equal(s.watch.ack[1], psn(7));
		assert_int_equal(adv_engine_counters(s.net->node[1].e)->rx_write_requests,
				 zero ? 2 : 1);
		net_close(s.net);
	}
}

/* A packet inside a message that requests an ACK gets an ACK for the messages before it only. */
static void test_no_ack_inside_a_message(void **state)
{
	for (unsigned zero = 0; zero < 2; zero++) {
		unsigned inside = 0, first_done = 0;
		struct setup s;

		set_up(&s, zero);
		end_op(s.a, IBV_WR_RDMA_WRITE, 1, s.ra, 0, 24 * MTU, s.rb, 0);
		end_op(s.a, IBV_WR_RDMA_WRITE, 2, s.ra, 24 * MTU, 50 * MTU, s.rb, 24 * MTU);
		net_run(s.net, SEC);
		expect_send(s.a, 0, 1, IBV_WC_SUCCESS);
		expect_send(s.a, 1, 2, IBV_WC_SUCCESS);
		for (unsigned i = 0; i < s.watch.acks; i++) {
			first_done += s.watch.ack[i] == psn(23);
			inside += s.watch.ack[i] != psn(23) && s.watch.ack[i] != psn(73) &&
				  s.watch.ack[i] != 0xfffffd;
		}
		assert_true(zero ? inside == 0 && first_done > 0 : inside > 0);
		assert_true(s.a->sends[0].time <= s.a->sends[1].time);
		net_close(s.net);
	}
}

/* A SEND that begins again keeps the receive request that it used. */
static void test_a_send_keeps_its_receive_request(void **state)
{
	struct setup s;

	set_up(&s, true);
	s.watch.lose = 3;
	end_recv(s.b, 100, s.rb, 0, 8 * MTU);
	end_recv(s.b, 101, s.rb, 8 * MTU, 8 * MTU);
	end_op(s.a, IBV_WR_SEND, 1, s.ra, 0, 6 * MTU, NULL, 0);
	end_op(s.a, IBV_WR_SEND, 2, s.ra, 6 * MTU, 2 * MTU, NULL, 0);
	net_run(s.net, SEC);
	assert_int_equal(s.b->recv_count, 2);
	expect_recv(s.b, 0, 100, IBV_WC_SUCCESS);
	expect_recv(s.b, 1, 101, IBV_WC_SUCCESS);
	assert_int_equal(s.b->recvs[0].wc.byte_len, 6 * MTU);
	expect_pattern(s.rb, 0, 6 * MTU, 1, 0);
	expect_pattern(s.rb, 8 * MTU, 2 * MTU, 1, 6 * MTU);
	net_close(s.net);
}

static void test_a_read_begins_again(void **state)
{
	for (unsigned zero = 0; zero < 2; zero++) {
		struct setup s;

		set_up(&s, zero);
		s.watch.lose = 3;
		end_op(s.a, IBV_WR_RDMA_READ, 1, s.ra, 0, 8 * MTU, s.rb, 0);
		net_run(s.net, SEC);
		expect_send(s.a, 0, 1, IBV_WC_SUCCESS);
		expect_pattern(s.ra, 0, 8 * MTU, 2, 0);
		assert_int_equal(s.watch.requests, 2);
		assert_int_equal(s.watch.request[1], psn(zero ? 0 : 3));
		assert_int_equal(s.watch.data, zero ? 16 : 13);
		net_close(s.net);
	}
}

/* If there is no receive request when the message ends, the message is sent again from its
 * beginning. */
static void test_not_ready_at_the_end(void **state)
{
	struct setup s;

	set_up(&s, true);
	end_op(s.a, IBV_WR_RDMA_WRITE_WITH_IMM, 1, s.ra, 0, 4 * MTU, s.rb, 0);
	net_run(s.net, 100 * US);
	assert_true(s.watch.acks > 0);
	assert_int_equal(s.watch.syndrome[0] & ADV_AETH_TYPE_MASK, ADV_AETH_RNR_NAK);
	assert_int_equal(s.watch.ack[0], psn(0));
	end_recv(s.b, 100, NULL, 0, 0);
	s.watch.requests = 0;
	net_run(s.net, SEC);
	expect_requests(&s.watch, 0, 0, 4);
	expect_send(s.a, 0, 1, IBV_WC_SUCCESS);
	expect_recv(s.b, 0, 100, IBV_WC_SUCCESS);
	expect_pattern(s.rb, 0, 4 * MTU, 1, 0);
	net_close(s.net);
}

/* The sender's timer restarts the message while the receiver waits for its middle. */
static void test_the_timer_begins_it_again(void **state)
{
	struct setup s;

	set_up(&s, true);
	s.watch.late_from = 4;
	s.watch.late_to = 7;
	s.watch.late = 500 * MS;
	end_op(s.a, IBV_WR_RDMA_WRITE, 1, s.ra, 0, 8 * MTU, s.rb, 0);
	net_run(s.net, SEC);
	expect_requests(&s.watch, 8, 0, 8);
	assert_int_equal(adv_engine_counters(s.net->node[1].e)->rx_write_requests, 2);
	expect_send(s.a, 0, 1, IBV_WC_SUCCESS);
	expect_pattern(s.rb, 0, 8 * MTU, 1, 0);
	net_close(s.net);
}

/* One of every 256 packets is lost: go-back-0 makes no progress (SIGCOMM 2016, 4.1). */
static void test_livelock(void **state)
{
	for (unsigned zero = 0; zero < 2; zero++) {
		struct setup s;

		set_up(&s, zero);
		s.watch.lose_every = 256;
		for (unsigned i = 0; i < 3; i++)
			end_op(s.a, IBV_WR_RDMA_WRITE, i, s.ra, 0, 600 * MTU, s.rb, 0);
		net_run(s.net, zero ? 1 * MS : SEC);
		assert_int_equal(s.a->send_count, zero ? 0 : 3);
		assert_int_equal(end_state(s.a), IBV_QPS_RTS);
		if (zero) /* go-back-0 sends all the time */
			assert_true(s.watch.data > 100 * 600);
		if (zero)
			net_abandon(s.net);
		else
			net_close(s.net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_write_begins_again),
		cmocka_unit_test(test_no_ack_inside_a_message),
		cmocka_unit_test(test_a_send_keeps_its_receive_request),
		cmocka_unit_test(test_a_read_begins_again),
		cmocka_unit_test(test_not_ready_at_the_end),
		cmocka_unit_test(test_the_timer_begins_it_again),
		cmocka_unit_test(test_livelock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
