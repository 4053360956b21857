/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "../engine/harness.h"
#include "nic/queue/mcast.h"

static const struct adv_gid group6 = {{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}};
static const struct adv_gid group4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};

static struct end *ud_open_with(struct node *node, const struct options *o)
{
	struct end *end = end_open(node, o, NULL);

	assert_int_equal(end_to_init(end, o), 0);
	assert_int_equal(end_to_rtr(end, o, NULL, 0), 0);
	assert_int_equal(end_to_rts(end, o, 0), 0);
	return end;
}

static struct end *ud_open(struct node *node)
{
	struct options o = options_default(IBV_QPT_UD);

	return ud_open_with(node, &o);
}

static void make_ah(struct node *node, struct adv_ah *ah, const struct adv_gid *to, bool ipv4)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = ipv4};

	memset(ah, 0, sizeof(*ah));
	memcpy(attr.grh.dgid.raw, to->raw, 16);
	assert_int_equal(adv_qp_path_from_attr(node->e, &attr, 0, 0, &ah->path), 0);
	ah->pd = node->pd;
}

static void send_to_group(struct end *end, struct adv_ah *ah, uint64_t id, const struct region *r,
			  uint32_t len)
{
	struct wr wr;

	wr_make(&wr, IBV_WR_SEND, id, 0);
	wr_sge(&wr, r, 0, len);
	wr.w.wr.ud.ah = &ah->ibv;
	wr.w.wr.ud.remote_qpn = ADV_QPN_MULTICAST;
	wr.w.wr.ud.remote_qkey = 0x11111111;
	assert_int_equal(end_send(end, &wr), 0);
}

static void test_attach_and_detach(void **state)
{
	struct net *net = net_open(2, 1);
	struct options o = options_default(IBV_QPT_RC);
	struct end *rc = end_open(&net->node[1], &o, NULL);
	struct end *ud = ud_open(&net->node[1]);
	struct adv_engine *e = net->node[1].e;

	assert_int_equal(adv_qp_attach_mcast(rc->qp, &group6), EINVAL);
	assert_int_equal(adv_qp_attach_mcast(ud->qp, &net->node[1].gid[0]), EINVAL);
	assert_int_equal(adv_qp_attach_mcast(ud->qp, &net->node[1].gid[1]), EINVAL);
	assert_int_equal(adv_qp_detach_mcast(ud->qp, &group6), EINVAL);
	assert_null(adv_mcast_find(e, &group6));
	assert_false(adv_mcast_is_member(ud->qp));
	assert_int_equal(adv_qp_attach_mcast(ud->qp, &group6), 0);
	assert_int_equal(adv_qp_attach_mcast(ud->qp, &group6), 0);
	assert_int_equal(adv_qp_attach_mcast(ud->qp, &group4), 0);
	assert_int_equal(adv_mcast_find(e, &group6)->count, 1);
	assert_true(adv_mcast_is_member(ud->qp));
	assert_false(adv_mcast_is_member(rc->qp));
	assert_int_equal(adv_qp_destroy(ud->qp), EBUSY);
	assert_int_equal(adv_qp_detach_mcast(ud->qp, &group6), 0);
	assert_int_equal(adv_qp_detach_mcast(ud->qp, &group6), EINVAL);
	assert_null(adv_mcast_find(e, &group6));
	assert_int_equal(adv_qp_destroy(ud->qp), EBUSY);
	assert_int_equal(adv_qp_detach_mcast(ud->qp, &group4), 0);
	end_close(ud);
	net_close(net);
}

static void test_each_member_gets_a_copy(void **state)
{
	struct net *net = net_open(3, 1);
	struct region *from = region_open(&net->node[0], 2048, 0);
	struct region *to[3];
	struct end *end[3], *sender = ud_open(&net->node[0]);
	struct adv_ah ah;

	region_fill(from, 9);
	for (int i = 0; i < 3; i++) {
		struct node *node = &net->node[i == 2 ? 2 : 1];

		end[i] = ud_open(node);
		to[i] = region_open(node, 2048, IBV_ACCESS_LOCAL_WRITE);
	}
	for (int v4 = 0; v4 < 2; v4++) {
		const struct adv_gid *group = v4 ? &group4 : &group6;
		unsigned n = (unsigned)v4 * 2;

		make_ah(&net->node[0], &ah, group, v4);
		for (int i = 0; i < 3; i++) {
			end_recv(end[i], n, to[i], 0, 2048);
			if (i != 1)
				assert_int_equal(adv_qp_attach_mcast(end[i]->qp, group), 0);
		}
		send_to_group(sender, &ah, n, from, 777);
		net_run(net, MS);
		for (int i = 0; i < 3; i += 2) {
			expect_recv(end[i], (unsigned)v4, n, IBV_WC_SUCCESS);
			assert_int_equal(end[i]->recvs[v4].wc.byte_len, 777 + 40);
			assert_int_equal(end[i]->recvs[v4].wc.src_qp, adv_qp_num(sender->qp));
			expect_pattern(to[i], 40, 777, 9, 0);
			memset(to[i]->buf, 0, 2048);
		}
		assert_int_equal(end[1]->recv_count, 0);
	}
	assert_int_equal(adv_qp_detach_mcast(end[0]->qp, &group4), 0);
	end_recv(end[0], 50, to[0], 0, 2048);
	send_to_group(sender, &ah, 60, from, 1);
	net_run(net, MS);
	assert_int_equal(end[0]->recv_count, 2);
	net_close(net);
}

static uint32_t named_qpn;

static void name_sender(struct net *net, struct wire *w)
{
	w->data[17] = (uint8_t)(named_qpn >> 16);
	w->data[18] = (uint8_t)(named_qpn >> 8);
	w->data[19] = (uint8_t)named_qpn;
}

/* A member that sends gets a copy, as with Linux rxe, unless its QP blocks that. It also gets what
 * a QP of another machine sends that has the same number. */
static void test_the_sender_is_a_member(void **state)
{
	for (unsigned block = 0; block < 2; block++) {
		struct net *net = net_open(2, 1);
		struct region *from[2],
			*to = region_open(&net->node[0], 2048, IBV_ACCESS_LOCAL_WRITE);
		struct options o = options_default(IBV_QPT_UD);
		struct end *member, *other = ud_open(&net->node[1]);
		struct adv_ah ah[2];

		o.block_self_multicast = block;
		member = ud_open_with(&net->node[0], &o);
		assert_int_equal(adv_qp_attach_mcast(member->qp, &group6), 0);
		for (unsigned i = 0; i < 2; i++) {
			end_recv(member, i, to, 0, 2048);
			from[i] = region_open(&net->node[i], 64, 0);
			make_ah(&net->node[i], &ah[i], &group6, false);
		}
		send_to_group(member, &ah[0], 2, from[0], 64);
		net_run(net, MS);
		assert_int_equal(member->recv_count, !block);
		net->hook = name_sender;
		named_qpn = adv_qp_num(member->qp);
		send_to_group(other, &ah[1], 3, from[1], 64);
		net_run(net, MS);
		assert_int_equal(member->recv_count, 2 - block);
		net_abandon(net);
	}
}

/* A packet is dropped if its group has no member, or if it has the group's address without the
 * multicast QPN, or the QPN without the address. */
static void test_not_for_us(void **state)
{
	struct net *net = net_open(2, 1);
	struct region *to = region_open(&net->node[1], 2048, IBV_ACCESS_LOCAL_WRITE);
	struct end *end = ud_open(&net->node[1]);
	struct adv_headers h = {.bth = {.opcode = ADV_SERVICE_UD | ADV_OP_SEND_ONLY,
					.pkey = 0xffff,
					.dest_qpn = ADV_QPN_MULTICAST},
				.deth = {.qkey = 0x11111111}};
	uint64_t before = adv_engine_counters(net->node[1].e)->rx_no_qp;

	end_recv(end, 1, to, 0, 2048);
	net_inject_packet(net, 0, 1, &h, 4);
	assert_int_equal(adv_engine_counters(net->node[1].e)->rx_no_qp, before + 1);
	assert_int_equal(adv_qp_attach_mcast(end->qp, &group6), 0);
	net_inject_packet(net, 0, 1, &h, 4);
	assert_int_equal(adv_engine_counters(net->node[1].e)->rx_no_qp, before + 2);
	net_run(net, MS);
	assert_int_equal(end->recv_count, 0);
	net_close(net);
}

static void test_full_group(void **state)
{
	struct net *net = net_open(1, 1);
	struct adv_engine *e = net->node[0].e;
	struct adv_cq *cq = adv_cq_create(e, 1, NULL);
	struct adv_qp *qp[ADV_MAX_MCAST_QP + 1];

	for (int i = 0; i <= ADV_MAX_MCAST_QP; i++) {
		struct adv_qp_config c = {
			.type = IBV_QPT_UD, .pd = net->node[0].pd, .send_cq = cq, .recv_cq = cq};

		qp[i] = adv_qp_create(e, &c);
		assert_int_equal(adv_qp_attach_mcast(qp[i], &group6),
				 i < ADV_MAX_MCAST_QP ? 0 : ENOMEM);
	}
	assert_int_equal(adv_qp_detach_mcast(qp[0], &group6), 0);
	assert_int_equal(adv_qp_attach_mcast(qp[ADV_MAX_MCAST_QP], &group6), 0);
	for (int i = 1; i <= ADV_MAX_MCAST_QP; i++)
		assert_true(adv_mcast_is_member(qp[i]));
	net_close(net);
}

static void name_one_qp(struct net *net, struct wire *w)
{
	w->data[5] = (uint8_t)(named_qpn >> 16);
	w->data[6] = (uint8_t)(named_qpn >> 8);
	w->data[7] = (uint8_t)named_qpn;
}

/* A packet to a group's address that names one QP is refused. Packets to a group have the multicast
 * QPN (IBTA 10.5.2); any other QPN would bypass the sender checks of datagrams. */
static void test_group_and_one_qp(void **state)
{
	struct net *net = net_open(2, 1);
	struct region *from = region_open(&net->node[0], 64, 0);
	struct region *to = region_open(&net->node[1], 2048, IBV_ACCESS_LOCAL_WRITE);
	struct end *sender = ud_open(&net->node[0]);
	struct end *member = ud_open(&net->node[1]), *other = ud_open(&net->node[1]);
	struct adv_ah ah;

	make_ah(&net->node[0], &ah, &group6, false);
	assert_int_equal(adv_qp_attach_mcast(member->qp, &group6), 0);
	end_recv(member, 1, to, 0, 2048);
	end_recv(other, 1, to, 0, 2048);
	net->hook = name_one_qp;
	named_qpn = adv_qp_num(member->qp);
	send_to_group(sender, &ah, 1, from, 64);
	net_run(net, MS);
	named_qpn = adv_qp_num(other->qp);
	send_to_group(sender, &ah, 2, from, 64);
	net_run(net, MS);
	assert_int_equal(member->recv_count, 0);
	assert_int_equal(other->recv_count, 0);
	assert_int_equal(adv_engine_counters(net->node[1].e)->rx_bad_address, 2);
	assert_int_equal(adv_qp_detach_mcast(member->qp, &group6), 0);
	net_abandon(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach_and_detach),
		cmocka_unit_test(test_each_member_gets_a_copy),
		cmocka_unit_test(test_the_sender_is_a_member),
		cmocka_unit_test(test_not_for_us),
		cmocka_unit_test(test_full_group),
		cmocka_unit_test(test_group_and_one_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
