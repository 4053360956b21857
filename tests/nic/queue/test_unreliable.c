/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the credit of UC and UD within one machine: probes, answers, and their loss. */
#include "../engine/harness.h"
#include "nic/wire/slot.h"

#define WINDOW	    16 /* a quarter of the total window below */
#define SENDER_PORT 0xc000

/* Counts and settings of the network hook. */
struct watch {
	unsigned data;
	unsigned probes;
	unsigned answers;
	unsigned highest; /* greatest number of data packets without a delivered answer */
	uint32_t covered;
	uint64_t answer_delay;
	bool drop_answers;
	bool drop_probes;
	uint64_t stopped_until; /* node 1 does not read its socket before this time */
	unsigned room;		/* room of node 1's socket, packets; 0: unlimited */
	unsigned waiting;	/* packets in node 1's socket */
	unsigned lost;		/* packets dropped because the socket was full */
};

/* Keeps packets to node 1 in its socket while node 1 is stopped, and drops them if the socket is
 * full. */
static void wait_in_socket(struct net *net, struct wire *w, struct watch *watch)
{
	if (!w->copies || net->now >= watch->stopped_until ||
	    (!adv_gid_equal(&w->meta.dgid, &net->node[1].gid[0]) &&
	     !adv_gid_equal(&w->meta.dgid, &net->node[1].gid[1])))
		return;
	w->delay = watch->stopped_until - net->now;
	if (watch->room && watch->waiting == watch->room) {
		w->copies = 0;
		watch->lost += w->h.bth.opcode != ADV_OPCODE_PROBE;
		return;
	}
	watch->waiting++;
}

static void hook(struct net *net, struct wire *w)
{
	struct watch *watch = net->arg;

	w->meta.sport = (uint16_t)(SENDER_PORT + w->from);
	if (w->h.bth.opcode == ADV_OPCODE_PROBE) {
		watch->probes++;
		if (watch->drop_probes)
			w->copies = 0;
	} else if (w->h.bth.opcode == ADV_OPCODE_ANSWER) {
		watch->answers++;
		watch->covered = w->h.bth.psn;
		if (watch->answer_delay)
			w->delay = watch->answer_delay;
		if (watch->drop_answers)
			w->copies = 0;
	} else {
		watch->data++;
		if (watch->data - watch->covered > watch->highest)
			watch->highest = watch->data - watch->covered;
	}
	wait_in_socket(net, w, watch);
}

/* Opens two engines. If `local`, they are on one machine: each has the addresses of both. */
static struct net *open_net(bool local, struct watch *watch)
{
	struct adv_engine_config c = {.seed = {1},
				      .total_window = 4 * WINDOW,
				      .unreliable_mbps = 10,
				      .local_credit = true,
				      .qpn_first = ADV_SLOT_QPNS};
	struct net *net = net_open_config(2, &c);
	struct adv_engine_gid gids[4] = {{.mtu = 0}};

	memset(watch, 0, sizeof(*watch));
	net->hook = hook;
	net->arg = watch;
	for (unsigned n = 0; local && n < 2; n++) {
		for (unsigned i = 0; i < 4; i++) {
			gids[i].gid = net->node[i < 2 ? n : 1 - n].gid[i % 2];
			gids[i].mtu = 4096;
		}
		assert_int_equal(adv_engine_set_gids(net->node[n].e, gids, 4), 0);
	}
	return net;
}

static void write_all(struct net *net, struct end *a, struct region *from, struct region *to,
		      uint32_t len, uint64_t limit)
{
	region_fill(from, 1);
	end_op(a, IBV_WR_RDMA_WRITE, 1, from, 0, len, to, 0);
	net_until(net, a, 1, 0, limit);
	expect_send(a, 0, 1, IBV_WC_SUCCESS);
	net_run(net, 20 * MS);
	expect_pattern(to, 0, len, 1, 0);
}

/* A slow receiver is not overrun. The rate, which would need 840 ms, has no effect. */
static void test_window(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct watch watch;
	struct net *net = open_net(true, &watch);
	struct region *ra = region_open(&net->node[0], 1 << 20, 0);
	struct region *rb = region_open(&net->node[1], 1 << 20, ALL_ACCESS);
	struct end *a, *b;

	watch.answer_delay = 2 * MS;
	pair_open(net, &o, &a, &b);
	write_all(net, a, ra, rb, 1 << 20, 600 * MS);
	assert_int_equal(watch.data, 1024);
	assert_in_range(watch.highest, WINDOW / 2, WINDOW);
	assert_in_range(watch.probes, 1024 / WINDOW, 1024 / 4 + 1);
	assert_int_equal(watch.answers, watch.probes);
	net_close(net);
}

/* UD does not overrun a slow receiver either, for each destination. */
static void test_datagrams(void **state)
{
	struct options o = options_default(IBV_QPT_UD);
	struct watch watch;
	struct net *net = open_net(true, &watch);
	struct region *ra = region_open(&net->node[0], 4096, 0);
	struct adv_ah ah = {.pd = net->node[0].pd};
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct end *a = end_open(&net->node[0], &o, NULL);
	struct end *b = end_open(&net->node[1], &o, NULL);

	ends_connect(a, b, &o);
	memcpy(attr.grh.dgid.raw, net->node[1].gid[0].raw, 16);
	assert_int_equal(adv_qp_path_from_attr(net->node[0].e, &attr, 0, 0, &ah.path), 0);
	watch.answer_delay = MS;
	for (unsigned i = 0; i < 40; i++) {
		struct wr wr;

		wr_make(&wr, IBV_WR_SEND, i, IBV_SEND_SIGNALED);
		wr_sge(&wr, ra, 0, 100);
		wr.w.wr.ud.ah = &ah.ibv;
		wr.w.wr.ud.remote_qpn = adv_qp_num(b->qp);
		wr.w.wr.ud.remote_qkey = o.qkey;
		assert_int_equal(end_send(a, &wr), 0);
	}
	net_until(net, a, 40, 0, 30 * MS);
	assert_int_equal(watch.data, 40);
	assert_in_range(watch.highest, WINDOW / 2, WINDOW);
	net_run(net, 20 * MS);
	net_close(net);
}

/* ---- stopped and exited processes ---- */

/* The tables of the daemon, for adv_engine_set_senders(). */
static _Atomic uint16_t ports[ADV_PREFIXES], homes[ADV_PREFIXES];

/* Enters the process of each node into the tables, which both engines use. */
static void set_senders(struct net *net, struct end *a, struct end *b)
{
	struct end *ends[] = {a, b};

	memset(ports, 0, sizeof(ports));
	memset(homes, 0, sizeof(homes));
	for (unsigned i = 0; i < 2; i++) {
		uint16_t prefix = adv_qpn_prefix(adv_qp_num(ends[i]->qp));

		ports[prefix] = (uint16_t)(SENDER_PORT + i);
		homes[prefix] = prefix;
		adv_engine_set_senders(net->node[i].e, ports, homes);
	}
}

static void forget_sender(const struct end *end)
{
	ports[adv_qpn_prefix(adv_qp_num(end->qp))] = 0;
}

/* Stops the second node for `ns`: it does not read, and packets wait in its socket. */
static void stop(struct net *net, struct watch *watch, uint64_t ns)
{
	watch->stopped_until = net->now + ns;
}

#define MESSAGES 200

static void post_messages(struct end *a, struct end *b, struct region *ra, struct region *rb)
{
	for (unsigned i = 0; i < MESSAGES; i++) {
		end_recv(b, i, rb, i * 2048, 2048);
		end_op(a, IBV_WR_SEND, i, ra, i * 2048, 2048, NULL, 0);
	}
}

static struct options many_messages(enum ibv_qp_type type)
{
	struct options o = options_default(type);

	o.cap.max_send_wr = o.cap.max_recv_wr = MESSAGES;
	o.cqe = 2 * MESSAGES;
	return o;
}

/* Opens a queue pair to a process in the table, with memory for its messages. */
static struct net *open_stream(struct watch *watch, const struct options *o, struct end **a,
			       struct end **b, struct region **ra, struct region **rb)
{
	struct net *net = open_net(true, watch);

	*ra = region_open(&net->node[0], MESSAGES * 2048, 0);
	*rb = region_open(&net->node[1], MESSAGES * 2048, ALL_ACCESS);
	pair_open(net, o, a, b);
	set_senders(net, *a, *b);
	return net;
}

/* If a process is stopped for ten seconds, no more packets are sent than its socket holds, and
 * everything arrives. */
static void test_stopped(void **state)
{
	struct options o = many_messages(IBV_QPT_UC);
	struct watch watch;
	struct region *ra, *rb;
	struct end *a, *b;
	struct net *net = open_stream(&watch, &o, &a, &b, &ra, &rb);

	region_fill(ra, 1);
	watch.room = WINDOW + 20; /* and probes */
	stop(net, &watch, 10 * SEC);
	post_messages(a, b, ra, rb);
	net_run(net, 9 * SEC);
	assert_int_equal(watch.data, WINDOW);
	assert_in_range(watch.probes, 6, 20);
	net_until(net, b, 0, MESSAGES, 10 * SEC);
	assert_int_equal(a->send_count, MESSAGES);
	assert_int_equal(watch.lost, 0);
	expect_pattern(rb, 0, MESSAGES * 2048, 1, 0);
	net_run(net, 20 * SEC);
	net_close(net);
}

/* Packets to a process's slot and to its block arrive at one socket, so they share one window. */
static void test_one_socket(void **state)
{
	struct options o = many_messages(IBV_QPT_UC);
	struct watch watch;
	struct net *net = open_net(true, &watch);
	struct region *ra = region_open(&net->node[0], MESSAGES * 2048, 0);
	struct region *rb = region_open(&net->node[1], MESSAGES * 2048, ALL_ACCESS);
	struct end *a[2], *b[2];
	uint16_t slot, block;

	pair_open(net, &o, &a[0], &b[0]);
	net->node[1].e->range[0].fresh = 0; /* all numbers of this range count as used */
	assert_int_equal(adv_engine_add_qpns(net->node[1].e, adv_block_qpn(3), ADV_BLOCK_QPNS), 0);
	pair_open(net, &o, &a[1], &b[1]);
	set_senders(net, a[0], b[0]);
	slot = adv_qpn_prefix(adv_qp_num(b[0]->qp));
	block = adv_qpn_prefix(adv_qp_num(b[1]->qp));
	assert_true(adv_qp_num(b[1]->qp) >= ADV_BLOCK_FIRST_QPN);
	ports[block] = ports[slot];
	homes[block] = slot;
	watch.room = WINDOW + 20; /* and probes */
	stop(net, &watch, SEC);
	for (unsigned i = 0; i < 2; i++)
		post_messages(a[i], b[i], ra, rb);
	net_run(net, 900 * MS);
	assert_int_equal(watch.data, WINDOW);
	for (unsigned i = 0; i < 2; i++)
		net_until(net, b[i], 0, MESSAGES, 10 * SEC);
	assert_int_equal(watch.lost, 0);
	net_run(net, 20 * SEC);
	net_close(net);
}

/* The search for the credits of two processes begins at the same index, because their addresses
 * have equal last bytes. Each process still has its own credit. */
static void test_one_place(void **state)
{
	struct options o = many_messages(IBV_QPT_UC);
	struct watch watch;
	struct net *net = open_net(true, &watch);
	struct region *ra = region_open(&net->node[0], MESSAGES * 2048, 0);
	struct region *rb = region_open(&net->node[1], MESSAGES * 2048, ALL_ACCESS);
	struct end *a[2], *b[2];

	for (unsigned i = 0; i < 2; i++) {
		o.ipv4 = i;
		pair_open(net, &o, &a[i], &b[i]);
	}
	set_senders(net, a[0], b[0]);
	stop(net, &watch, SEC);
	for (unsigned i = 0; i < 2; i++)
		post_messages(a[i], b[i], ra, rb);
	net_run(net, 900 * MS);
	assert_int_equal(watch.data, 2 * WINDOW);
	for (unsigned i = 0; i < 2; i++)
		net_until(net, b[i], 0, MESSAGES, 10 * SEC);
	net_run(net, 20 * SEC);
	net_close(net);
}

/* A probe is repeated if it finds a full socket, or if its answer is lost. */
static void test_probe_lost(void **state)
{
	for (unsigned answers = 0; answers < 2; answers++) {
		struct options o = many_messages(IBV_QPT_UC);
		struct watch watch;
		struct region *ra, *rb;
		struct end *a, *b;
		struct net *net = open_stream(&watch, &o, &a, &b, &ra, &rb);

		watch.drop_answers = answers;
		watch.drop_probes = !answers;
		post_messages(a, b, ra, rb);
		net_run(net, 50 * MS);
		assert_int_equal(watch.data, WINDOW);
		watch.drop_answers = watch.drop_probes = false;
		net_until(net, b, 0, MESSAGES, 500 * MS);
		net_run(net, 20 * SEC);
		net_close(net);
	}
}

/* A queue pair that waits for a stopped process does not delay other queue pairs, and can be
 * destroyed. */
static void test_stopped_holds_up_nobody(void **state)
{
	struct options o = many_messages(IBV_QPT_UC);
	struct watch watch;
	struct region *ra, *rb;
	struct end *a, *b;
	struct net *net = open_stream(&watch, &o, &a, &b, &ra, &rb);
	struct region *here = region_open(&net->node[0], 2048, ALL_ACCESS);
	struct end *c, *d;

	c = end_open(&net->node[0], &o, NULL);
	d = end_open(&net->node[0], &o, NULL);
	ends_connect(c, d, &o);
	stop(net, &watch, 10 * SEC);
	post_messages(a, b, ra, rb);
	net_run(net, SEC);
	assert_in_range(a->send_count, 1, MESSAGES - 1);
	for (unsigned i = 0; i < MESSAGES; i++)
		end_op(c, IBV_WR_RDMA_WRITE, i, ra, 0, 2048, here, 0);
	net_until(net, c, MESSAGES, 0, SEC);
	assert_int_equal(end_to_state(a, IBV_QPS_ERR), 0);
	end_poll(a);
	assert_int_equal(a->send_count, MESSAGES);
	expect_send(a, MESSAGES - 1, MESSAGES - 1, IBV_WC_WR_FLUSH_ERR);
	end_close(a);
	net_run(net, 30 * SEC);
	net_close(net);
}

/* UC and UD do not wait for an exited process. The engine learns of the exit from the table or from
 * the link. */
static void test_gone(void **state)
{
	for (unsigned heard = 0; heard < 2; heard++) {
		struct options o = many_messages(IBV_QPT_UC);
		struct watch watch;
		struct region *ra, *rb;
		struct end *a, *b;
		struct net *net = open_stream(&watch, &o, &a, &b, &ra, &rb);

		stop(net, &watch, 1000 * SEC);
		post_messages(a, b, ra, rb);
		net_run(net, 20 * SEC);
		assert_in_range(a->send_count, 1, MESSAGES - 1);
		if (heard)
			adv_engine_peer_left(net->node[0].e, net->now,
					     adv_qpn_prefix(adv_qp_num(b->qp)));
		else
			forget_sender(b);
		net_until(net, a, MESSAGES, 0, SEC);
		net_abandon(net);
	}
}

/* A UD queue pair and its destination. */
struct datagrams {
	struct end *a, *b;
	struct region *ra, *rb;
	struct adv_ah ah;
};

static void datagrams_open(struct datagrams *d, struct net *net)
{
	struct options o = many_messages(IBV_QPT_UD);
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};

	d->ra = region_open(&net->node[0], 4096, 0);
	d->rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	d->a = end_open(&net->node[0], &o, NULL);
	d->b = end_open(&net->node[1], &o, NULL);
	ends_connect(d->a, d->b, &o);
	set_senders(net, d->a, d->b);
	memcpy(attr.grh.dgid.raw, net->node[1].gid[0].raw, 16);
	d->ah = (struct adv_ah){.pd = net->node[0].pd};
	assert_int_equal(adv_qp_path_from_attr(net->node[0].e, &attr, 0, 0, &d->ah.path), 0);
}

static void post_datagrams(struct datagrams *d)
{
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct wr wr;

		if (d->b->recv_head - d->b->recv_tail < MESSAGES)
			end_recv(d->b, i, d->rb, 0, 1024);
		wr_make(&wr, IBV_WR_SEND, i, IBV_SEND_SIGNALED);
		wr_sge(&wr, d->ra, 0, 100);
		wr.w.wr.ud.ah = &d->ah.ibv;
		wr.w.wr.ud.remote_qpn = adv_qp_num(d->b->qp);
		wr.w.wr.ud.remote_qkey = 0x11111111;
		assert_int_equal(end_send(d->a, &wr), 0);
	}
}

/* UD waits for a stopped process, but only for a limited time, because messages to other processes
 * may be queued behind. Then packets are lost if the socket has no room, until the process
 * answers. */
static void test_stopped_datagrams(void **state)
{
	struct datagrams d;
	struct watch watch;
	struct net *net = open_net(true, &watch);

	datagrams_open(&d, net);
	watch.room = WINDOW + 20;
	for (unsigned turn = 0; turn < 3; turn++) {
		bool patient = turn != 1;

		watch.data = watch.lost = watch.waiting = 0;
		stop(net, &watch, patient ? SEC : 20 * SEC);
		post_datagrams(&d);
		net_run(net, patient ? 500 * MS : 10 * SEC);
		assert_int_equal(watch.data, patient ? WINDOW : MESSAGES);
		net_until(net, d.a, (turn + 1) * MESSAGES, 0, 20 * SEC);
		net_run(net, 40 * SEC);
		assert_true(patient ? watch.lost == 0 : watch.lost > 0);
	}
	net_close(net);
}

/* If there is no table and no answer arrives, the sender waits 100 ms. Then it sends at the rate,
 * without probes, for a second. */
static void test_silence(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct watch watch;
	struct net *net = open_net(true, &watch);
	struct region *ra = region_open(&net->node[0], 1 << 20, 0);
	struct region *rb = region_open(&net->node[1], 1 << 20, ALL_ACCESS);
	uint64_t start = net->now;
	struct end *a, *b;
	unsigned probes;

	watch.drop_answers = true;
	pair_open(net, &o, &a, &b);
	region_fill(ra, 1);
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 1 << 20, rb, 0);
	net_run(net, 99 * MS);
	assert_int_equal(watch.data, WINDOW);
	assert_int_equal(a->send_count, 0);
	probes = watch.probes;
	net_until(net, a, 1, 0, 3 * SEC);
	/* The time is that of 1008 packets at 10 Mb/s, minus the burst. */
	assert_in_range(net->now - start, 750 * MS, 1000 * MS);
	assert_int_equal(watch.probes, probes);
	net_run(net, 20 * MS);
	expect_pattern(rb, 0, 1 << 20, 1, 0);
	net_close(net);
}

/* No probe is sent to another machine. */
static void test_remote(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct watch watch;
	struct net *net = open_net(false, &watch);
	struct region *ra = region_open(&net->node[0], 1 << 20, 0);
	struct region *rb = region_open(&net->node[1], 1 << 20, ALL_ACCESS);
	struct end *a, *b;

	pair_open(net, &o, &a, &b);
	write_all(net, a, ra, rb, 200 << 10, SEC);
	assert_int_equal(watch.data, 200);
	assert_int_equal(watch.probes, 0);
	net_close(net);
}

/* Unrequested answers have no effect. Probes from another machine are not answered. */
static void test_forged(void **state)
{
	struct options o = options_default(IBV_QPT_UC);
	struct adv_headers h = {.bth = {.opcode = ADV_OPCODE_ANSWER, .psn = 0xfffff0}};
	struct watch watch;
	struct net *net = open_net(true, &watch);
	struct region *ra = region_open(&net->node[0], 1 << 20, 0);
	struct region *rb = region_open(&net->node[1], 1 << 20, ALL_ACCESS);
	struct end *a, *b;

	watch.drop_answers = true;
	pair_open(net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_WRITE, 1, ra, 0, 1 << 20, rb, 0);
	net_run(net, MS);
	h.bth.dest_qpn = adv_qp_num(a->qp);
	h.deth.src_qpn = adv_qp_num(b->qp);
	net_inject_packet(net, 1, 0, &h, 0);
	h.deth.src_qpn = 0xff0000;
	net_inject_packet(net, 1, 0, &h, 0);
	net_run(net, MS);
	assert_int_equal(watch.data, WINDOW);
	net_abandon(net);

	net = open_net(false, &watch);
	h.bth.opcode = ADV_OPCODE_PROBE;
	net_inject_packet(net, 1, 0, &h, 0);
	net_run(net, MS);
	assert_int_equal(watch.answers, 0);
	assert_int_equal(adv_engine_counters(net->node[0].e)->rx_malformed, 1);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_one_socket),
		cmocka_unit_test(test_one_place),
		cmocka_unit_test(test_probe_lost),
		cmocka_unit_test(test_stopped_holds_up_nobody),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_stopped_datagrams),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_remote),
		cmocka_unit_test(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
