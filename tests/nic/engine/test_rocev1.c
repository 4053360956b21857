/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RoCE v1: paths from v1 GIDs, which packets a queue pair accepts, and the GRH of a datagram. */
#include <string.h>

#include "harness.h"

#define QKEY 0x11111111u

struct bed {
	struct net *net;
	struct region *ra;
	struct region *rb;
	bool frames; /* packets arrive as RoCE v1 frames */
};

static void carry(struct net *net, struct wire *w)
{
	struct bed *bed = net->arg;

	if (bed->frames) {
		w->meta.slot = ADV_RX_V1;
		w->meta.tclass &= (uint8_t)~ADV_ECN_MASK;
		w->meta.flow_label = 0x54321;
	}
}

/* v1: the type of each node's GIDs. `both`: each node also has the GIDs of the other. */
static void set_gids(struct bed *bed, bool v1, bool both)
{
	for (unsigned n = 0; n < 2; n++) {
		struct adv_engine_gid gids[4];

		for (unsigned i = 0; i < 4; i++)
			gids[i] = (struct adv_engine_gid){
				bed->net->node[i < 2 ? n : 1 - n].gid[i % 2], 4096, v1};
		assert_int_equal(adv_engine_set_gids(bed->net->node[n].e, gids, both ? 4 : 2), 0);
	}
}

static void bed_open(struct bed *bed, bool v1, bool frames, bool both)
{
	const struct adv_engine_config c = {.seed = {1, 2, 3, 4}, .no_fast_path = true};

	*bed = (struct bed){.net = net_open_config(2, &c), .frames = frames};
	bed->net->hook = carry;
	bed->net->arg = bed;
	set_gids(bed, v1, both);
	bed->ra = region_open(&bed->net->node[0], 65536, ALL_ACCESS);
	bed->rb = region_open(&bed->net->node[1], 65536, ALL_ACCESS);
	region_fill(bed->ra, 1);
}

static uint64_t refused(const struct bed *bed)
{
	return adv_engine_counters(bed->net->node[0].e)->rx_bad_address +
	       adv_engine_counters(bed->net->node[1].e)->rx_bad_address;
}

/* Sends a WRITE of several packets. True if it arrives. */
static bool write_arrives(struct bed *bed, enum ibv_qp_type type)
{
	struct options o = options_default(type);
	struct end *a, *b;
	bool arrives;

	o.retry_cnt = 0;
	o.mtu = IBV_MTU_1024;
	pair_open(bed->net, &o, &a, &b);
	end_op(a, IBV_WR_RDMA_WRITE, 1, bed->ra, 0, 5000, bed->rb, 0);
	net_run(bed->net, 10 * SEC);
	arrives = memcmp(bed->ra->buf, bed->rb->buf, 5000) == 0;
	if (type == IBV_QPT_RC)
		expect_send(a, 0, 1, arrives ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
	end_close(a);
	end_close(b);
	return arrives;
}

/* A queue pair accepts packets of its path's version only. */
static void test_versions(void **state)
{
	for (unsigned i = 0; i < 8; i++) {
		const enum ibv_qp_type type = i & 4 ? IBV_QPT_UC : IBV_QPT_RC;
		const bool v1 = i & 1, frames = i & 2;
		struct bed bed;

		bed_open(&bed, v1, frames, false);
		assert_int_equal(write_arrives(&bed, type), v1 == frames);
		assert_int_equal(refused(&bed) == 0, v1 == frames);
		net_close(bed.net);
	}
}

/* Within the machine no packet is a frame: a frame that claims to be of this machine is forged. */
static void test_within_the_machine(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		struct bed bed;

		bed_open(&bed, i & 1, i & 2, true);
		assert_int_equal(write_arrives(&bed, IBV_QPT_RC), !(i & 2));
		net_close(bed.net);
	}
}

static struct end *open_ud(struct node *node)
{
	struct options o = options_default(IBV_QPT_UD);
	struct end *end = end_open(node, &o, NULL);

	assert_int_equal(end_to_init(end, &o), 0);
	assert_int_equal(end_to_rtr(end, &o, NULL, 0), 0);
	assert_int_equal(end_to_rts(end, &o, 1), 0);
	return end;
}

/* Sends a datagram of 100 bytes from A to B between the GIDs of this index. */
static void send_datagram(struct bed *bed, struct end *a, struct end *b, unsigned index)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct adv_ah ah = {.path = {.sport = 0}};
	struct wr wr;

	attr.grh.sgid_index = (uint8_t)index;
	attr.grh.hop_limit = 33;
	attr.grh.traffic_class = 0x60;
	memcpy(attr.grh.dgid.raw, bed->net->node[1].gid[index].raw, 16);
	assert_int_equal(adv_qp_path_from_attr(bed->net->node[0].e, &attr, 0, 0, &ah.path), 0);
	ah.pd = bed->net->node[0].pd;
	end_recv(b, 1, bed->rb, 0, 200);
	wr_make(&wr, IBV_WR_SEND, 1, 0);
	wr_sge(&wr, bed->ra, 0, 100);
	wr.w.wr.ud.ah = &ah.ibv;
	wr.w.wr.ud.remote_qpn = adv_qp_num(b->qp);
	wr.w.wr.ud.remote_qkey = QKEY;
	assert_int_equal(end_send(a, &wr), 0);
	net_run(bed->net, MS);
}

/* The 40 bytes before a datagram are the GRH of the frame, also between IPv4 addresses. */
static void test_grh(void **state)
{
	static const uint8_t head[8] = {0x66, 0x05, 0x43, 0x21, 0, 12 + 8 + 100 + 4, 0x1b, 33};

	for (unsigned ipv4 = 0; ipv4 < 2; ipv4++) {
		struct bed bed;
		struct end *a, *b;

		bed_open(&bed, true, true, false);
		a = open_ud(&bed.net->node[0]);
		b = open_ud(&bed.net->node[1]);
		send_datagram(&bed, a, b, ipv4);
		expect_recv(b, 0, 1, IBV_WC_SUCCESS);
		assert_int_equal(b->recvs[0].wc.byte_len, 140);
		assert_int_equal(b->recvs[0].wc.sl, 0);
		assert_true(b->recvs[0].wc.wc_flags & IBV_WC_GRH);
		assert_memory_equal(bed.rb->buf, head, sizeof(head));
		assert_memory_equal(bed.rb->buf + 8, bed.net->node[0].gid[ipv4].raw, 16);
		assert_memory_equal(bed.rb->buf + 24, bed.net->node[1].gid[ipv4].raw, 16);
		expect_pattern(bed.rb, 40, 100, 1, 0);
		net_run(bed.net, SEC);
		net_close(bed.net);
	}
}

/* A datagram is accepted if the table has its destination with its version. Within the machine no
 * packet is a frame, whatever the version of the path. */
static void test_datagram_versions(void **state)
{
	for (unsigned i = 0; i < 6; i++) {
		const bool v1 = i & 1, frames = i & 2, here = i & 4;
		const bool arrives = here || v1 == frames;
		struct bed bed;
		struct end *a, *b;

		bed_open(&bed, v1, frames, here);
		a = open_ud(&bed.net->node[0]);
		b = open_ud(&bed.net->node[1]);
		send_datagram(&bed, a, b, 1);
		assert_int_equal(b->recv_count, arrives);
		assert_int_equal(refused(&bed), !arrives);
		net_run(bed.net, SEC);
		net_close(bed.net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_within_the_machine),
		cmocka_unit_test(test_grh),
		cmocka_unit_test(test_datagram_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
