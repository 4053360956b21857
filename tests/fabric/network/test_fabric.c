/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>

#include "base/rng.h"
#include "net.h"

/* Frame sizes of a WRITE of one packet and of its acknowledgement: Ethernet 14, IPv4 20, UDP 8,
 * BTH 12, RETH 16 or AETH 4, ICRC 4, FCS 4. */
#define WRITE_FRAME(bytes) (14 + 20 + 8 + 12 + 16 + (bytes) + 4 + 4)
#define ACK_FRAME	   (14 + 20 + 8 + 12 + 4 + 4 + 4)
#define WIRE(frame)	   ((uint64_t)GBPS_100 * ((frame) + 20))

/* The time of one packet and its acknowledgement is exact to the picosecond. */
static void test_one_write(void **state)
{
	const uint64_t delay = 100 * 5000;
	struct net n;

	assert_int_equal(adv_topology_pair(&n.t, cable_of(100)), 0);
	net_open(&n);
	net_start(&n);
	net_write(&n, 0, 1, 26, 4096);
	assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
	net_all_done(&n, 1);
	assert_int_equal(adv_fabric_get_transfer(n.f, 0)->end,
			 WIRE(WRITE_FRAME(4096)) + WIRE(ACK_FRAME) + 2 * delay);
	net_close(&n);

	assert_int_equal(adv_topology_incast(&n.t, 1, cable_of(100)), 0);
	net_open(&n);
	net_start(&n);
	net_write(&n, 0, 1, 26, 1000);
	assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
	assert_int_equal(adv_fabric_get_transfer(n.f, 0)->end,
			 2 * (WIRE(WRITE_FRAME(1000)) + WIRE(ACK_FRAME)) + 4 * delay);
	net_close(&n);
}

/* A transfer of 100 MB runs at line rate, with each of the three operations. */
static void test_line_rate(void **state)
{
	static const enum adv_fabric_operation operations[] = {ADV_FABRIC_WRITE, ADV_FABRIC_SEND,
							       ADV_FABRIC_READ};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t bytes = 100000000, least = bytes * GBPS_100;
		struct net n;
		uint32_t c;

		assert_int_equal(adv_topology_incast(&n.t, 1, cable_of(10)), 0);
		net_open(&n);
		net_start(&n);
		c = net_connect(&n, 0, 1, operations[i], 26);
		assert_int_equal(adv_fabric_transfer(n.f, c, bytes, 5 * US), 0);
		assert_int_equal(adv_fabric_run(n.f, ADV_CALENDAR_NEVER - 1), ADV_FABRIC_DONE);
		net_all_done(&n, 1);
		assert_int_equal(net_all_drops(&n), 0);
		/* 62 or 78 bytes of headers and 20 on the wire per packet: 2 %; and some
		 * acknowledgements */
		assert_in_range(adv_fabric_get_transfer(n.f, 0)->end - 5 * US, least,
				least * 103 / 100);
		net_close(&n);
	}
}

/* Transfers end with every length of the last packet. */
static void test_all_lengths(void **state)
{
	struct adv_rng r;
	struct net n;
	uint32_t c[3];

	adv_rng_seed(&r, 3);
	assert_int_equal(adv_topology_incast(&n.t, 3, cable_of(3)), 0);
	net_open(&n);
	n.config.mtu = 1024;
	net_start(&n);
	for (unsigned i = 0; i < 3; i++)
		c[i] = net_connect(&n, i, 3, (enum adv_fabric_operation)i, 26);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(
			adv_fabric_transfer(n.f, c[i % 3],
					    i < 150 ? 1020 + i / 3 : 1 + adv_rng_below(&r, 3000000),
					    adv_rng_below(&r, MS)),
			i);
	assert_int_equal(adv_fabric_run(n.f, 10000 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 300);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* With 16 senders and one receiver, no frame is lost, and the receiver's wire is full. */
static void test_incast(void **state)
{
	struct net n;
	uint64_t bytes;

	assert_int_equal(adv_topology_incast(&n.t, 16, cable_of(10)), 0);
	net_open(&n);
	net_start(&n);
	for (uint32_t h = 0; h < 16; h++)
		net_write(&n, h, 16, 26, 2000000);
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 16);
	assert_int_equal(net_all_drops(&n), 0);
	assert_true(n.events[ADV_SWITCH_XOFF] > 0);
	assert_int_equal(n.events[ADV_SWITCH_XOFF], n.events[ADV_SWITCH_XON]);
	bytes = adv_fabric_host_counters(n.f, 16)->rx_bytes;
	assert_true(bytes * GBPS_100 > adv_fabric_now(n.f) * 98 / 100);
	net_close(&n);
}

/* Runs an incast with `headroom` bytes. Returns the largest use of the headroom, and sets *lost to
 * the number of lost frames. */
static uint32_t headroom_used(uint32_t headroom, uint64_t *lost)
{
	uint32_t most = 0;
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 4, cable_of(300)), 0);
	net_open(&n);
	n.config.class[3].xoff = 50000;
	n.config.class[3].headroom = headroom;
	net_start(&n);
	for (uint32_t h = 0; h < 4; h++)
		net_write(&n, h, 4, 26, 1000000);
	/* traffic in the other direction delays pause frames */
	for (uint32_t h = 0; h < 4; h++)
		net_write(&n, 4, h, 26, 1000000);
	adv_fabric_run(n.f, 500 * US);
	for (unsigned p = 0; p < 5; p++) {
		const struct adv_ingress *in = adv_switch_ingress(adv_fabric_switch(n.f, 0), p, 3);

		if (in->most_headroom > most)
			most = in->most_headroom;
	}
	*lost = net_drops(&n, ADV_DROP_HEADROOM);
	assert_int_equal(net_all_drops(&n), *lost);
	net_close(&n);
	return most;
}

/* With exactly the headroom that a run uses, no frame is lost; with one byte less, frames are lost.
 * adv_fabric_headroom() is sufficient, and not much larger than that. */
static void test_headroom(void **state)
{
	uint64_t formula = adv_fabric_headroom(cable_of(300), 4096, 500 * NS);
	uint32_t need;
	uint64_t lost;

	need = headroom_used(1000000, &lost);
	assert_int_equal(lost, 0);
	assert_in_range(need, formula - 3 * 4210, formula);
	assert_int_equal(headroom_used(need, &lost), need);
	assert_int_equal(lost, 0);
	headroom_used(need - 1, &lost);
	assert_true(lost > 0);
	headroom_used((uint32_t)formula, &lost);
	assert_int_equal(lost, 0);
}

struct moments {
	uint64_t xoff[3];     /* when each switch first paused its peer */
	uint64_t host_paused; /* when the sender stopped */
};

static void note_moment(void *user, const struct adv_fabric_event *e)
{
	struct moments *m = user;

	if (e->kind == ADV_FABRIC_SWITCH && e->what == ADV_SWITCH_XOFF && !m->xoff[e->node])
		m->xoff[e->node] = e->at;
	if (e->kind == ADV_FABRIC_HOST_PAUSED && e->node == 0 && !m->host_paused)
		m->host_paused = e->at;
}

/* Returns the arrival time of the frame that exceeds the limit. Frame k arrives at first + k x
 * period. After the pause took effect, nine frames fit, and the tenth exceeds the limit. */
static uint64_t crossing(uint64_t first, uint64_t period, uint64_t paused_at)
{
	return first + ((paused_at - first + period - 1) / period + 9) * period;
}

/* If a receiver behind three switches pauses for ever, the pause moves back switch by switch, each
 * time a buffer is full. The expected times were computed by hand. */
static void test_pause_propagates(void **state)
{
	const uint64_t near = 2 * 5000, far = 40 * 5000, response = 500 * NS;
	const uint64_t period = WIRE(WRITE_FRAME(4096)), frame = WIRE(64);
	uint64_t first[3], at, storm = 20 * US + 12345;
	struct adv_fabric_connection c = {
		.initiator = 0, .target = 2, .dscp = 26, .message = 4096, .depth = 1024};
	struct moments m = {.host_paused = 0};
	struct net n;
	int64_t peer;

	assert_int_equal(adv_topology_parking_lot(&n.t, 3, 1, cable_of(2), cable_of(40)), 0);
	net_open(&n);
	n.config.class[3].xoff = 40000;
	n.config.pause_response = response;
	net_start(&n);
	adv_fabric_watch(n.f, note_moment, &m);
	peer = adv_fabric_connect(n.f, &c);
	assert_true(peer >= 0);
	assert_int_equal(adv_fabric_transfer(n.f, (uint32_t)peer, UINT64_MAX, 0), 0);
	assert_int_equal(adv_fabric_storm(n.f, 2, 1 << 3, storm, 900 * MS), 0);
	assert_int_equal(adv_fabric_run(n.f, 200 * US), ADV_FABRIC_UNTIL);
	first[0] = period + near;
	first[1] = first[0] + period + far;
	first[2] = first[1] + period + far;
	at = storm + frame + near + response;
	for (int s = 2; s >= 0; s--) {
		assert_int_equal(m.xoff[s], crossing(first[s], period, at));
		at = m.xoff[s] + frame + (s ? far : near) + response;
	}
	assert_int_equal(m.host_paused, at);
	net_conserved(&n);
	adv_fabric_destroy(n.f);
	adv_topology_free(&n.t);
}

/* Two priorities share a wire by their weights. */
static void test_ets(void **state)
{
	const struct adv_egress *e;
	uint64_t share;
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 2, cable_of(10)), 0);
	net_open(&n);
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		n.config.class[p].weight = 1;
	n.config.class[3].weight = 75;
	n.config.class[4] = n.config.class[3];
	n.config.class[4].weight = 25;
	net_start(&n);
	net_write(&n, 0, 2, 24, UINT64_MAX);
	net_write(&n, 1, 2, 32, UINT64_MAX);
	assert_int_equal(adv_fabric_run(n.f, 10 * MS), ADV_FABRIC_UNTIL);
	e = adv_switch_egress(adv_fabric_switch(n.f, 0), 2);
	share = e->queue[3].sent_bytes * 1000 / (e->queue[3].sent_bytes + e->queue[4].sent_bytes);
	assert_in_range(share, 745, 755);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
	/* Two connections of a host's NIC share its wire in the same way. */
	assert_int_equal(adv_topology_pair(&n.t, cable_of(10)), 0);
	n.f = NULL;
	net_start(&n);
	net_write(&n, 0, 1, 24, UINT64_MAX);
	net_write(&n, 0, 1, 32, UINT64_MAX);
	assert_int_equal(adv_fabric_run(n.f, 2 * MS), ADV_FABRIC_UNTIL);
	e = adv_fabric_egress(n.f, 0);
	share = e->queue[3].sent_bytes * 1000 / (e->queue[3].sent_bytes + e->queue[4].sent_bytes);
	assert_in_range(share, 745, 755);
	assert_true(adv_fabric_host_counters(n.f, 0)->tx_bytes * 80 > 2 * MS * 98 / 100);
	/* the NIC queues no more packets than ETS needs */
	assert_true(e->queue[3].most <= 7 * WRITE_FRAME(4096));
	net_close(&n);
}

/* A receiver that processes 40 Gb/s pauses the sender, and no frame is lost. */
static void test_slow_receiver(void **state)
{
	struct adv_fabric_slow slow = {
		.ps_per_byte = 200, .xoff = 100000, .xon = 60000, .room = 200000};
	struct net n;
	uint64_t rate;

	assert_int_equal(adv_topology_incast(&n.t, 2, cable_of(10)), 0);
	net_open(&n);
	net_start(&n);
	assert_int_equal(adv_fabric_slow_host(n.f, 2, &slow), 0);
	slow.xon = 100001;
	assert_int_equal(adv_fabric_slow_host(n.f, 2, &slow), EINVAL);
	net_write(&n, 0, 2, 26, UINT64_MAX);
	net_write(&n, 1, 2, 26, UINT64_MAX);
	assert_int_equal(adv_fabric_run(n.f, 5 * MS), ADV_FABRIC_UNTIL);
	rate = adv_fabric_host_counters(n.f, 2)->rx_bytes * 200 * 1000 / (5 * MS);
	assert_in_range(rate, 990, 1000);
	assert_int_equal(adv_fabric_host_counters(n.f, 2)->rx_dropped, 0);
	assert_true(adv_fabric_host_counters(n.f, 2)->tx_pause > 10);
	/* between two pause frames it processes 40,000 bytes, from xoff down to xon */
	assert_true(adv_fabric_host_counters(n.f, 2)->tx_pause <
		    2 * (adv_fabric_host_counters(n.f, 2)->rx_bytes / 40000 + 1));
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* A slow receiver does not pause a lossy priority. Frames that do not fit are lost. */
static void test_slow_receiver_loses(void **state)
{
	struct adv_fabric_slow slow = {.ps_per_byte = 200, .xoff = 20000, .xon = 0, .room = 50000};
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 1, cable_of(10)), 0);
	net_open(&n);
	net_start(&n);
	assert_int_equal(adv_fabric_slow_host(n.f, 1, &slow), 0);
	net_write(&n, 0, 1, 0, 3000000);
	assert_int_equal(adv_fabric_run(n.f, 10000 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 1);
	assert_true(adv_fabric_host_counters(n.f, 1)->rx_dropped > 0);
	assert_int_equal(adv_fabric_host_counters(n.f, 1)->tx_pause, 0);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* Connections between the same two hosts use all paths, although they differ only in the UDP source
 * port. */
static void test_ecmp(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_leaf_spine(&n.t, 2, 4, 1, cable_of(2), cable_of(20)), 0);
	net_open(&n);
	net_start(&n);
	for (uint32_t i = 0; i < 64; i++)
		net_write(&n, 0, 1, 26, 40960);
	assert_int_equal(adv_fabric_run(n.f, 100 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 64);
	for (uint32_t s = 2; s < 6; s++) {
		const struct adv_switch_counters *c =
			adv_switch_counters(adv_fabric_switch(n.f, s));

		/* On average 16 of the 64 connections use a path, with 10 packets each, and as many
		 * acknowledgements of another path. */
		assert_in_range(c->rx_bytes / 4176, 4 * 10, 32 * 10);
	}
	net_close(&n);
}

/* A run in steps of some events has the same result as a run in one step. */
static void test_some_events(void **state)
{
	uint64_t digest[2], events[2];

	for (unsigned i = 0; i < 2; i++) {
		enum adv_fabric_stop stop;
		struct net n;

		assert_int_equal(adv_topology_incast(&n.t, 3, cable_of(10)), 0);
		net_open(&n);
		net_start(&n);
		for (uint32_t h = 0; h < 3; h++)
			net_write(&n, h, 3, 26, 1000000);
		do {
			uint64_t before = adv_fabric_events(n.f);

			stop = adv_fabric_run_some(n.f, 100 * MS, i ? 17 : UINT64_MAX);
			if (stop == ADV_FABRIC_EVENTS)
				assert_int_equal(adv_fabric_events(n.f), before + 17);
		} while (stop == ADV_FABRIC_EVENTS);
		assert_int_equal(stop, ADV_FABRIC_DONE);
		net_all_done(&n, 3);
		digest[i] = n.digest;
		events[i] = adv_fabric_events(n.f);
		net_close(&n);
	}
	assert_int_equal(digest[0], digest[1]);
	assert_int_equal(events[0], events[1]);
}

/* A lossy priority loses frames, and the transport retransmits them. */
static void test_lossy(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 4, cable_of(10)), 0);
	net_open(&n);
	n.config.buffer = 2000000;
	n.config.engine.window = 64;
	net_start(&n);
	for (uint32_t h = 0; h < 4; h++)
		net_write(&n, h, 4, 0, 3000000);
	assert_int_equal(adv_fabric_run(n.f, 10000 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 4);
	assert_true(net_drops(&n, ADV_DROP_QUEUE) > 0);
	assert_int_equal(net_drops(&n, ADV_DROP_HEADROOM), 0);
	net_close(&n);
}

/* Frames lost on a wire are retransmitted. A wire that loses all frames ends the connection. */
static void test_bad_cable(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 2, cable_of(10)), 0);
	net_open(&n);
	net_start(&n);
	adv_fabric_lose(n.f, 0, 1000);
	net_write(&n, 0, 2, 26, 20000000);
	assert_int_equal(adv_fabric_run(n.f, 60000 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 1);
	assert_true(adv_fabric_lost(n.f) > 2);
	assert_true(adv_engine_counters(adv_fabric_engine(n.f, 0))->packet_seq_err > 0);
	adv_fabric_lose(n.f, 0, 1000000);
	assert_int_equal(adv_fabric_transfer(n.f, 0, 1000, adv_fabric_now(n.f)), 1);
	assert_int_equal(adv_fabric_transfer(n.f, 0, 1000, adv_fabric_now(n.f)), 2);
	assert_int_equal(adv_fabric_run(n.f, 600000 * MS), ADV_FABRIC_DONE);
	assert_int_equal(adv_fabric_get_transfer(n.f, 1)->status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(adv_fabric_get_transfer(n.f, 2)->status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(adv_fabric_transfer(n.f, 0, 1000, adv_fabric_now(n.f)), -1);
	assert_int_equal(errno, ENOTCONN);
	net_close(&n);
}

/* Time at which the only packet of `bytes` from one host of an incast arrives at another one: two
 * cables of 2 m, store and forward. */
static uint64_t arrival_after(uint64_t bytes)
{
	uint64_t frame = bytes + 14 + 20 + 8 + 12 + 16 + 4 + 4 + 20;

	return 2 * (frame * GBPS_100 + 2 * 5 * NS);
}

/* A transfer that waits for another one begins when the data of the other one has arrived, before
 * the sender has the acknowledgement; also if that was before the call. If the other one fails, the
 * transfer fails too. */
static void test_one_after_another(void **state)
{
	const struct adv_fabric_transfer_state *x[4];
	uint32_t c[3], after[2] = {1, 2}, one;
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 3, cable_of(2)), 0);
	net_open(&n);
	net_start(&n);
	for (uint32_t i = 0; i < 3; i++)
		c[i] = net_connect(&n, i, 3, ADV_FABRIC_WRITE, 26);
	assert_int_equal(adv_fabric_transfer(n.f, c[0], 4096, 0), 0);
	assert_int_equal(adv_fabric_transfer_after(n.f, c[1], 5000, (uint32_t[]){0}, 1), 1);
	assert_int_equal(adv_fabric_transfer_after(n.f, c[2], 9000, (uint32_t[]){0}, 1), 2);
	assert_int_equal(adv_fabric_transfer_after(n.f, c[0], 5000, after, 2), 3);
	one = 4;
	assert_int_equal(adv_fabric_transfer_after(n.f, c[0], 5000, &one, 1), -1);
	assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
	net_all_done(&n, 4);
	for (uint32_t i = 0; i < 4; i++)
		x[i] = adv_fabric_get_transfer(n.f, i);
	assert_int_equal(x[1]->start, arrival_after(4096));
	assert_int_equal(x[2]->start, arrival_after(4096));
	assert_true(x[1]->start < x[0]->end);
	assert_true(x[3]->start < x[2]->end && x[3]->start > x[1]->start);
	assert_true(x[3]->start > x[2]->end - 300 * NS);
	one = 3;
	assert_int_equal(adv_fabric_transfer_after(n.f, c[1], 5000, &one, 1), 4);
	assert_int_equal(adv_fabric_get_transfer(n.f, 4)->start, adv_fabric_now(n.f));
	assert_int_equal(adv_fabric_run(n.f, 2 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 5);
	adv_fabric_lose(n.f, 0, 1000000);
	assert_int_equal(adv_fabric_transfer(n.f, c[0], 5000, adv_fabric_now(n.f)), 5);
	one = 5;
	assert_int_equal(adv_fabric_transfer_after(n.f, c[1], 5000, &one, 1), 6);
	one = 6;
	assert_int_equal(adv_fabric_transfer_after(n.f, c[2], 5000, &one, 1), 7);
	one = 7;
	assert_int_equal(adv_fabric_compute_after(n.f, MS, &one, 1), 8);
	assert_int_equal(adv_fabric_run(n.f, 60000 * MS), ADV_FABRIC_DONE);
	assert_int_equal(adv_fabric_get_transfer(n.f, 5)->status, IBV_WC_RETRY_EXC_ERR);
	for (uint32_t i = 6; i < 9; i++)
		assert_int_equal(adv_fabric_get_transfer(n.f, i)->status, IBV_WC_WR_FLUSH_ERR);
	net_close(&n);
}

/* A computation takes its time, and what waits for it begins at its end. */
static void test_computation(void **state)
{
	const struct adv_fabric_transfer_state *x[3];
	uint32_t c, after[2] = {0, 1};
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 2, cable_of(2)), 0);
	net_open(&n);
	net_start(&n);
	c = net_connect(&n, 1, 0, ADV_FABRIC_READ, 26);
	assert_int_equal(net_write(&n, 0, 2, 26, 4096), 0);
	assert_int_equal(adv_fabric_compute_after(n.f, 7 * US, after, 1), 1);
	assert_int_equal(adv_fabric_transfer_after(n.f, c, 1, after, 2), 2);
	assert_int_equal(adv_fabric_compute_after(n.f, 7 * US, (uint32_t[]){4}, 1), -1);
	assert_int_equal(adv_fabric_run(n.f, MS), ADV_FABRIC_DONE);
	for (uint32_t i = 0; i < 3; i++)
		x[i] = adv_fabric_get_transfer(n.f, i);
	assert_int_equal(x[1]->start, arrival_after(4096));
	assert_int_equal(x[1]->end, x[1]->start + 7 * US);
	assert_int_equal(x[2]->start, x[1]->end);
	assert_int_equal(x[2]->status, IBV_WC_SUCCESS);
	net_close(&n);
}

static uint64_t digest_of(uint64_t seed, unsigned k)
{
	uint64_t digest;
	struct net n;

	assert_int_equal(adv_topology_fat_tree(&n.t, k, cable_of(2), cable_of(50)), 0);
	net_open(&n);
	n.config.seed = seed;
	n.config.class[3].ecn_min = 20000;
	n.config.class[3].ecn_max = 200000;
	n.config.class[3].ecn_ppm = 100000;
	net_start(&n);
	assert_int_equal(adv_fabric_sample(n.f, 10 * US), 0);
	for (uint32_t h = 0; h < n.t.hosts; h++)
		for (uint32_t i = 1; i < 4; i++)
			net_write(&n, h, (h + i * i) % n.t.hosts, 26, 200000);
	assert_int_equal(adv_fabric_run(n.f, 20 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 3 * n.t.hosts);
	assert_int_equal(net_all_drops(&n), 0);
	assert_true(n.events[ADV_SWITCH_MARK] > 0);
	digest = n.digest;
	net_close(&n);
	return digest;
}

static void test_same_seed_same_run(void **state)
{
	uint64_t one = digest_of(5, 4);

	assert_int_equal(digest_of(5, 4), one);
	assert_int_not_equal(digest_of(6, 4), one);
}

/* All transfers end with more connections than priorities, than 127, and than a host's initial
 * number of queue pairs. */
static void test_many_connections(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 3, cable_of(2)), 0);
	net_open(&n);
	net_start(&n);
	for (uint32_t i = 0; i < 900; i++)
		net_write(&n, i % 3, 3, (uint8_t)(24 + i % 8), 20000);
	assert_int_equal(adv_fabric_run(n.f, 10000 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 900);
	assert_int_equal(net_all_drops(&n), 0);
	net_close(&n);
}

/* Each priority of a sender can be paused while the others continue. */
static void test_priorities_apart(void **state)
{
	const struct adv_fabric_transfer_state *other;
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 1, cable_of(10)), 0);
	net_open(&n);
	n.config.class[3].xoff = 100000;
	net_start(&n);
	assert_int_equal(adv_fabric_storm(n.f, 1, 1 << 3, 10 * US, 400 * US), 0);
	net_write(&n, 0, 1, 26, 20000000);
	adv_fabric_run(n.f, 200 * US);
	assert_int_equal(net_write(&n, 0, 1, 40, 100000), 1);
	adv_fabric_run(n.f, 300 * US);
	other = adv_fabric_get_transfer(n.f, 1);
	assert_in_range(other->end, 208 * US, 210 * US);
	assert_int_equal(adv_fabric_get_transfer(n.f, 0)->end, ADV_CALENDAR_NEVER);
	assert_true(adv_fabric_egress(n.f, 0)->queue[3].count <= 6);
	assert_int_equal(adv_fabric_run(n.f, 10 * MS), ADV_FABRIC_DONE);
	net_all_done(&n, 2);
	net_close(&n);
}

/* The end of a storm does not end another storm of the same host. */
static void test_storms_overlap(void **state)
{
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 1, cable_of(10)), 0);
	net_open(&n);
	net_start(&n);
	assert_int_equal(adv_fabric_storm(n.f, 1, 1 << 3 | 1 << 4, 0, 2 * MS), 0);
	assert_int_equal(adv_fabric_storm(n.f, 1, 1 << 3, 100 * US, 200 * US), 0);
	adv_fabric_run(n.f, 50 * US);
	net_write(&n, 0, 1, 26, 1000000);
	adv_fabric_run(n.f, 1900 * US);
	assert_int_equal(adv_fabric_host_counters(n.f, 1)->rx_frames, 0);
	assert_int_equal(adv_fabric_run(n.f, 10 * MS), ADV_FABRIC_DONE);
	assert_in_range(adv_fabric_get_transfer(n.f, 0)->end, 2000 * US, 2100 * US);
	net_close(&n);
}

static void test_errors(void **state)
{
	struct adv_fabric_connection c = {.initiator = 0, .target = 0};
	struct net n;

	assert_int_equal(adv_topology_incast(&n.t, 1, cable_of(10)), 0);
	net_open(&n);
	n.config.mtu = 1500;
	errno = 0;
	assert_null(adv_fabric_create(&n.config));
	assert_int_equal(errno, EINVAL);
	n.config.mtu = 1024;
	n.config.priority_of_dscp[63] = 8;
	errno = 0;
	assert_null(adv_fabric_create(&n.config));
	assert_int_equal(errno, EINVAL);
	n.config.priority_of_dscp[63] = 7;
	n.config.buffer = 1000;
	errno = 0;
	assert_null(adv_fabric_create(&n.config));
	assert_int_equal(errno, EINVAL);
	n.config.buffer = 1000000;
	net_start(&n);
	assert_int_equal(adv_fabric_connect(n.f, &c), -1);
	c.target = 2;
	assert_int_equal(adv_fabric_connect(n.f, &c), -1);
	c.target = 1;
	c.message = ADV_FABRIC_MESSAGE_MAX + 1;
	assert_int_equal(adv_fabric_connect(n.f, &c), -1);
	c.message = 0;
	assert_int_equal(adv_fabric_connect(n.f, &c), 0);
	assert_int_equal(adv_fabric_transfer(n.f, 0, 0, 0), -1);
	assert_int_equal(adv_fabric_transfer(n.f, 1, 1, 0), -1);
	net_close(&n);
}

/* Received payload counts once and in order, with every operation, also if frames are lost. */
static void test_received(void **state)
{
	for (unsigned lost = 0; lost < 2; lost++) {
		const uint64_t bytes[] = {3000001, 2000000, 999999};
		struct net n;

		assert_int_equal(adv_topology_incast(&n.t, 3, cable_of(10)), 0);
		net_open(&n);
		net_start(&n);
		adv_fabric_count_received(n.f);
		if (lost)
			adv_fabric_lose(n.f, 3, 5000);
		for (uint32_t i = 0; i < 3; i++) {
			struct adv_fabric_connection c = {.initiator = i,
							  .target = 3,
							  .operation = (enum adv_fabric_operation)i,
							  .dscp = 26,
							  .timeout = 8};

			assert_int_equal(adv_fabric_connect(n.f, &c), i);
			assert_int_equal(adv_fabric_transfer(n.f, i, bytes[i], 0), i);
		}
		assert_int_equal(adv_fabric_run(n.f, 1000 * MS), ADV_FABRIC_DONE);
		net_all_done(&n, 3);
		assert_true((adv_fabric_lost(n.f) > 0) == (lost != 0));
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(adv_fabric_received(n.f, i), bytes[i]);
		assert_int_equal(adv_fabric_get_connection(n.f, 2)->operation, ADV_FABRIC_READ);
		assert_null(adv_fabric_get_connection(n.f, 3));
		net_close(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_write),
		cmocka_unit_test(test_line_rate),
		cmocka_unit_test(test_all_lengths),
		cmocka_unit_test(test_incast),
		cmocka_unit_test(test_headroom),
		cmocka_unit_test(test_pause_propagates),
		cmocka_unit_test(test_ets),
		cmocka_unit_test(test_slow_receiver),
		cmocka_unit_test(test_slow_receiver_loses),
		cmocka_unit_test(test_ecmp),
		cmocka_unit_test(test_some_events),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_bad_cable),
		cmocka_unit_test(test_one_after_another),
		cmocka_unit_test(test_computation),
		cmocka_unit_test(test_same_seed_same_run),
		cmocka_unit_test(test_many_connections),
		cmocka_unit_test(test_priorities_apart),
		cmocka_unit_test(test_storms_overlap),
		cmocka_unit_test(test_received),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
