/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selective retransmission (IRN): which packets are sent again, and when. test_loss.c and
 * test_random.c have its deliveries under all kinds of faults. */
#include "../engine/harness.h"

#define MTU	256
#define WINDOW	64
#define LOG	4096
#define NOTHING UINT64_MAX

/* Records the packets of node 0 and the selective NAKs of node 1. */
struct watch {
	uint64_t lose[4]; /* numbers of data packets to drop */
	uint64_t late;	  /* number of the data packet that arrives 20 us later */
	bool deaf;	  /* every packet of node 1 is lost */
	uint64_t data;
	unsigned requests;
	uint32_t request[LOG];
	uint64_t at[LOG]; /* time of sending, ns */
	unsigned naks;
	uint32_t expected[LOG]; /* PSN and MSN field of each selective NAK */
	uint32_t kept[LOG];
};

struct setup {
	struct net *net;
	struct end *a;
	struct end *b;
	struct region *ra;
	struct region *rb;
	struct watch watch;
};

static void hook(struct net *net, struct wire *w)
{
	struct watch *v = net->arg;
	uint64_t n;

	if (w->from == 1) {
		if (w->h.aeth.syndrome == (ADV_AETH_NAK | ADV_NAK_SELECTIVE) && v->naks < LOG) {
			v->expected[v->naks] = w->h.bth.psn;
			v->kept[v->naks++] = w->h.aeth.msn;
		}
		w->copies = !v->deaf;
		return;
	}
	if (v->requests < LOG) {
		v->at[v->requests] = w->sent;
		v->request[v->requests++] = w->h.bth.psn;
	}
	n = v->data++;
	for (unsigned i = 0; i < 4; i++)
		if (n == v->lose[i])
			w->copies = 0;
	if (n == v->late)
		w->delay += 20 * US;
}

static void set_up(struct setup *s, uint32_t reorder)
{
	struct adv_engine_config config = {.seed = {1, 2, 3, 4},
					   .window = WINDOW,
					   .selective = true,
					   .reorder = reorder,
					   .rto_low = 100 * US,
					   .rto_high = 320 * US};
	struct options o = options_default(IBV_QPT_RC);

	memset(s, 0, sizeof(*s));
	s->watch.late = NOTHING;
	for (unsigned i = 0; i < 4; i++)
		s->watch.lose[i] = NOTHING;
	s->net = net_open_config(2, &config);
	s->net->hook = hook;
	s->net->arg = &s->watch;
	o.mtu = IBV_MTU_256;
	o.psn[0] = 0xfffffe;
	s->ra = region_open(&s->net->node[0], 4 * WINDOW * MTU, ALL_ACCESS);
	s->rb = region_open(&s->net->node[1], 4 * WINDOW * MTU, ALL_ACCESS);
	region_fill(s->ra, 1);
	region_fill(s->rb, 2);
	pair_open(s->net, &o, &s->a, &s->b);
}

static uint32_t psn(uint32_t n)
{
	return (0xfffffe + n) & ADV_PSN_MASK;
}

/* Runs a WRITE of so many packets to its end. */
static void write_packets(struct setup *s, uint32_t packets)
{
	end_op(s->a, IBV_WR_RDMA_WRITE, 7, s->ra, 0, packets * MTU, s->rb, 0);
	net_run(s->net, SEC);
	expect_send(s->a, 0, 7, IBV_WC_SUCCESS);
	expect_pattern(s->rb, 0, packets * MTU, 1, 0);
}

/* Checks the packets that were sent after the first `from`. */
static void expect_again(const struct watch *v, unsigned from, const uint32_t *again,
			 unsigned count)
{
	assert_int_equal(v->requests, from + count);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(v->request[from + i], psn(again[i]));
}

static void test_only_lost_packets_are_sent_again(void **state)
{
	static const uint32_t again[] = {5, 9, 10};
	struct setup s;

	set_up(&s, 0);
	s.watch.lose[0] = 5;
	s.watch.lose[1] = 9;
	s.watch.lose[2] = 10;
	write_packets(&s, 30);
	expect_again(&s.watch, 30, again, 3);
	/* Each packet after the gap is reported. */
	assert_int_equal(s.watch.naks, 22);
	assert_int_equal(s.watch.expected[0], psn(5));
	for (unsigned i = 0; i < 22; i++)
		assert_int_equal(s.watch.kept[i], psn(i < 3 ? 6 + i : 8 + i));
	assert_int_equal(adv_engine_counters(s.net->node[1].e)->rx_write_requests, 1);
	assert_int_equal(adv_engine_counters(s.net->node[1].e)->duplicate_request, 0);
	net_close(s.net);
}

/* The last packet of a message has no packet behind it that reports its loss: the short timer. */
static void test_the_short_timer(void **state)
{
	static const uint32_t again[] = {9};
	struct setup s;

	set_up(&s, 0);
	s.watch.lose[0] = 9;
	write_packets(&s, 10);
	expect_again(&s.watch, 10, again, 1);
	assert_int_equal(s.watch.at[10] - s.watch.at[9], 100 * US + 2 * NET_DELAY);
	net_close(s.net);
}

/* With more than three packets in flight the long timer runs, and only the oldest packet is sent
 * again. */
static void test_the_long_timer(void **state)
{
	static const uint32_t again[] = {0};
	struct setup s;

	set_up(&s, 0);
	s.watch.deaf = true;
	end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, 10 * MTU, s.rb, 0);
	net_run(s.net, 10 * US);
	assert_int_equal(s.watch.requests, 10);
	s.watch.deaf = false;
	net_run(s.net, SEC);
	expect_send(s.a, 0, 7, IBV_WC_SUCCESS);
	expect_again(&s.watch, 10, again, 1);
	assert_int_equal(s.watch.at[10] - s.watch.at[0], 320 * US);
	net_close(s.net);
}

/* A PSN a window later is another packet: nothing is known of it. */
static void test_notes_do_not_remain(void **state)
{
	uint64_t at[2] = {0, 0}; /* times of the newest transmissions */
	struct setup s;

	set_up(&s, 0);
	s.watch.lose[0] = 5;
	s.watch.lose[1] = WINDOW + 10 + 1; /* PSN 5 was sent twice */
	s.watch.lose[2] = WINDOW + 12 + 1;
	write_packets(&s, 3 * WINDOW);
	assert_int_equal(s.watch.requests, 3 * WINDOW + 3);
	for (unsigned i = 0; i < s.watch.requests; i++)
		if (s.watch.request[i] == psn(WINDOW + 10))
			at[0] = s.watch.at[i];
		else if (s.watch.request[i] == psn(WINDOW + 12))
			at[1] = s.watch.at[i];
	assert_in_range(at[1] - at[0], 0, NET_DELAY);
	assert_int_equal(adv_engine_counters(s.net->node[0].e)->local_ack_timeout_err, 0);
	net_close(s.net);
}

/* Reports that wait until the responder may send are all sent. */
static void test_reports_wait(void **state)
{
	struct setup s;

	set_up(&s, 0);
	s.watch.lose[0] = 5;
	adv_engine_hold(s.net->node[1].e, UINT64_MAX);
	end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, 30 * MTU, s.rb, 0);
	net_run(s.net, 10 * US);
	assert_int_equal(s.watch.naks, 0);
	adv_engine_hold(s.net->node[1].e, 0);
	net_run(s.net, SEC);
	expect_send(s.a, 0, 7, IBV_WC_SUCCESS);
	assert_int_equal(s.watch.naks, 24);
	for (unsigned i = 0; i < 24; i++)
		assert_int_equal(s.watch.kept[i], psn(6 + i));
	assert_int_equal(s.watch.requests, 31);
	net_close(s.net);
}

/* A packet a window after the expected one is not kept: its place is that of another PSN. */
static void test_a_packet_too_far_ahead(void **state)
{
	struct adv_headers h = {.bth = {.opcode = ADV_SERVICE_RC | ADV_OP_WRITE_MIDDLE,
					.pkey = ADV_PKEY_DEFAULT,
					.psn = psn(WINDOW + 6)}};
	struct setup s;

	set_up(&s, 0);
	h.bth.dest_qpn = adv_qp_num(s.b->qp);
	net_inject_packet(s.net, 0, 1, &h, MTU);
	net_run(s.net, 10 * US);
	assert_int_equal(s.watch.naks, 0);
	s.watch.lose[0] = 5;
	write_packets(&s, 10);
	net_close(s.net);
}

/* If all packets are lost, the timer sends the oldest one again. Its acknowledgement shows that the
 * others are lost too. */
static void test_all_packets_are_lost(void **state)
{
	static const uint32_t again[] = {0, 1, 2, 3};
	struct setup s;

	set_up(&s, 0);
	for (unsigned i = 0; i < 4; i++)
		s.watch.lose[i] = i;
	write_packets(&s, 4);
	expect_again(&s.watch, 4, again, 4);
	assert_int_equal(s.watch.at[4] - s.watch.at[0], 320 * US);
	assert_int_equal(s.watch.at[7] - s.watch.at[4], 2 * NET_DELAY);
	net_close(s.net);
}

/* The timer is the long one if more packets have followed since it started. */
static void test_the_timer_becomes_long(void **state)
{
	struct setup s;

	set_up(&s, 0);
	s.watch.deaf = true;
	end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, MTU, s.rb, 0);
	net_run(s.net, 50 * US);
	end_op(s.a, IBV_WR_RDMA_WRITE, 8, s.ra, MTU, 9 * MTU, s.rb, MTU);
	net_run(s.net, 10 * US);
	assert_int_equal(s.watch.requests, 10);
	s.watch.deaf = false;
	net_run(s.net, SEC);
	expect_send(s.a, 1, 8, IBV_WC_SUCCESS);
	assert_int_equal(s.watch.requests, 11);
	assert_int_equal(s.watch.at[10] - s.watch.at[0], 320 * US);
	net_close(s.net);
}

/* A retransmission that is lost too is sent again after a timeout, with the packets lost after it
 * that the responder does not keep. */
static void test_a_retransmission_is_lost(void **state)
{
	static const uint32_t again[] = {5, 9, 5, 9};
	struct setup s;

	set_up(&s, 0);
	s.watch.lose[0] = 5;
	s.watch.lose[1] = 9;
	s.watch.lose[2] = 30;
	s.watch.lose[3] = 31;
	write_packets(&s, 30);
	expect_again(&s.watch, 30, again, 4);
	net_close(s.net);
}

/* A packet that arrives late is not lost while at most `reorder` PSNs after it have arrived. */
static void test_reordering(void **state)
{
	for (uint32_t reorder = 0; reorder <= 24; reorder += 24) {
		struct setup s;

		set_up(&s, reorder);
		s.watch.late = 5;
		write_packets(&s, 30);
		assert_int_equal(s.watch.requests, reorder ? 30 : 31);
		assert_int_equal(adv_engine_counters(s.net->node[1].e)->duplicate_request,
				 reorder ? 0 : 1);
		net_close(s.net);
		/* One PSN more than that after it. */
		set_up(&s, reorder);
		s.watch.lose[0] = 5;
		write_packets(&s, 5 + 1 + reorder + 1);
		assert_int_equal(s.watch.request[s.watch.requests - 1], psn(5));
		assert_true(s.watch.at[s.watch.requests - 1] < s.watch.at[0] + 100 * US);
		net_close(s.net);
	}
}

/* New packets follow retransmissions while the window has room: the newest PSN is less than a
 * window after the oldest unacknowledged one. */
static void test_the_window_holds(void **state)
{
	struct setup s;
	uint32_t newest = 0;

	set_up(&s, 0);
	s.watch.lose[0] = 3;
	s.watch.lose[1] = WINDOW + 3;
	s.watch.deaf = true;
	end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, 3 * WINDOW * MTU, s.rb, 0);
	net_run(s.net, 10 * US);
	assert_int_equal(s.watch.requests, WINDOW);
	s.watch.deaf = false;
	net_run(s.net, SEC);
	expect_send(s.a, 0, 7, IBV_WC_SUCCESS);
	expect_pattern(s.rb, 0, 3 * WINDOW * MTU, 1, 0);
	for (unsigned i = 0; i < s.watch.requests; i++) {
		uint32_t n = (s.watch.request[i] - 0xfffffe) & ADV_PSN_MASK;

		assert_true(n <= newest + 1);
		newest = n > newest ? n : newest;
	}
	net_close(s.net);
}

/* Forged and stale NAKs change nothing: PSNs that are not in flight. */
static void test_a_forged_nak(void **state)
{
	const uint32_t kept[] = {psn(0), 0xfffffd, psn(10), psn(10 + WINDOW), 0x7ffffe};
	struct setup s;

	set_up(&s, 0);
	s.watch.deaf = true;
	end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, 10 * MTU, s.rb, 0);
	net_run(s.net, 10 * US);
	for (unsigned i = 0; i < 5; i++) {
		struct adv_headers h = {
			.bth = {.opcode = ADV_SERVICE_RC | ADV_OP_ACKNOWLEDGE,
				.pkey = ADV_PKEY_DEFAULT,
				.psn = psn(0),
				.dest_qpn = adv_qp_num(s.a->qp)},
			.aeth = {.syndrome = ADV_AETH_NAK | ADV_NAK_SELECTIVE, .msn = kept[i]}};

		net_inject_packet(s.net, 1, 0, &h, 0);
		net_run(s.net, US);
	}
	assert_int_equal(s.watch.requests, 10);
	s.watch.deaf = false;
	net_run(s.net, SEC);
	expect_send(s.a, 0, 7, IBV_WC_SUCCESS);
	net_close(s.net);
}

/* Timeouts cost a retry only once in the QP's own timeout, which is 4 ms here, and a connection
 * whose peer is silent fails in the end. */
static void test_retries(void **state)
{
	struct options o = options_default(IBV_QPT_RC);
	uint64_t timeout = 4096ull << o.timeout;
	struct setup s;

	set_up(&s, 0);
	s.watch.deaf = true;
	end_op(s.a, IBV_WR_RDMA_WRITE, 7, s.ra, 0, MTU, s.rb, 0);
	net_run(s.net, timeout * o.retry_cnt);
	assert_int_equal(s.a->send_count, 0);
	net_run(s.net, timeout * 2 + MS);
	expect_send(s.a, 0, 7, IBV_WC_RETRY_EXC_ERR);
	net_close(s.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_lost_packets_are_sent_again),
		cmocka_unit_test(test_the_short_timer),
		cmocka_unit_test(test_the_long_timer),
		cmocka_unit_test(test_notes_do_not_remain),
		cmocka_unit_test(test_reports_wait),
		cmocka_unit_test(test_a_packet_too_far_ahead),
		cmocka_unit_test(test_all_packets_are_lost),
		cmocka_unit_test(test_the_timer_becomes_long),
		cmocka_unit_test(test_a_retransmission_is_lost),
		cmocka_unit_test(test_reordering),
		cmocka_unit_test(test_the_window_holds),
		cmocka_unit_test(test_a_forged_nak),
		cmocka_unit_test(test_retries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
