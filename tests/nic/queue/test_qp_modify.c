/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "base/array.h"
#include "../engine/harness.h"

#define NONE 0
/* Short names, so that the table reads like the one in the man page. */
#define PKEY	IBV_QP_PKEY_INDEX
#define PORT	IBV_QP_PORT
#define QKEY	IBV_QP_QKEY
#define ACCESS	IBV_QP_ACCESS_FLAGS
#define AV	IBV_QP_AV
#define MTU	IBV_QP_PATH_MTU
#define DEST	IBV_QP_DEST_QPN
#define RQPSN	IBV_QP_RQ_PSN
#define SQPSN	IBV_QP_SQ_PSN
#define RDDEST	IBV_QP_MAX_DEST_RD_ATOMIC
#define RD	IBV_QP_MAX_QP_RD_ATOMIC
#define RNRTIME IBV_QP_MIN_RNR_TIMER
#define TIMEOUT IBV_QP_TIMEOUT
#define RETRY	IBV_QP_RETRY_CNT
#define RNRCNT	IBV_QP_RNR_RETRY
#define CUR	IBV_QP_CUR_STATE
#define MIG	IBV_QP_PATH_MIG_STATE
#define NOTIFY	IBV_QP_EN_SQD_ASYNC_NOTIFY
#define ALL_BITS                                                                                   \
	(PKEY | PORT | QKEY | ACCESS | AV | MTU | DEST | RQPSN | SQPSN | RDDEST | RD | RNRTIME |   \
	 TIMEOUT | RETRY | RNRCNT | CUR | MIG | NOTIFY | IBV_QP_ALT_PATH | IBV_QP_CAP |            \
	 IBV_QP_RATE_LIMIT | 1 << 21 | 1 << 30)

struct rule {
	enum ibv_qp_type type;
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int required;
	int optional;
};

/* The tables of ibv_modify_qp(3) and IBTA 11.2.5.2, without the features that the device does not
 * have. */
static const struct rule rules[] = {
	{IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, NONE},
	{IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, NONE, PKEY | PORT | ACCESS},
	{IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, AV | MTU | DEST | RQPSN | RDDEST | RNRTIME,
	 PKEY | ACCESS},
	{IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, SQPSN | RD | RETRY | RNRCNT | TIMEOUT,
	 CUR | ACCESS | RNRTIME | MIG},
	{IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, NONE, CUR | ACCESS | RNRTIME | MIG},
	{IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, NONE, NOTIFY},
	{IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, NONE,
	 PKEY | PORT | ACCESS | AV | TIMEOUT | RETRY | RNRCNT | RD | RDDEST | RNRTIME | MIG},
	{IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_RTS, NONE, CUR | ACCESS | RNRTIME | MIG},
	{IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, NONE},
	{IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_INIT, NONE, PKEY | PORT | ACCESS},
	{IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, AV | MTU | DEST | RQPSN, PKEY | ACCESS},
	{IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, SQPSN, CUR | ACCESS | MIG},
	{IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_RTS, NONE, CUR | ACCESS | MIG},
	{IBV_QPT_UC, IBV_QPS_RTS, IBV_QPS_SQD, NONE, NOTIFY},
	{IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_SQD, NONE, PKEY | ACCESS | AV | MIG},
	{IBV_QPT_UC, IBV_QPS_SQD, IBV_QPS_RTS, NONE, CUR | ACCESS | MIG},
	{IBV_QPT_UC, IBV_QPS_SQE, IBV_QPS_RTS, NONE, CUR | ACCESS},
	{IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | QKEY, NONE},
	{IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, NONE, PKEY | PORT | QKEY},
	{IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, NONE, PKEY | QKEY},
	{IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, SQPSN, CUR | QKEY},
	{IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, NONE, CUR | QKEY},
	{IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_SQD, NONE, NOTIFY},
	{IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_SQD, NONE, PKEY | QKEY},
	{IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_RTS, NONE, CUR | QKEY},
	{IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, NONE, CUR | QKEY},
	{IBV_QPT_XRC_SEND, IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, NONE},
	{IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_INIT, NONE, PKEY | PORT | ACCESS},
	{IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, AV | MTU | DEST | RQPSN, PKEY | ACCESS},
	{IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS, SQPSN | RD | RETRY | RNRCNT | TIMEOUT,
	 CUR | ACCESS | MIG},
	{IBV_QPT_XRC_SEND, IBV_QPS_RTS, IBV_QPS_RTS, NONE, CUR | ACCESS | MIG},
	{IBV_QPT_XRC_SEND, IBV_QPS_RTS, IBV_QPS_SQD, NONE, NOTIFY},
	{IBV_QPT_XRC_SEND, IBV_QPS_SQD, IBV_QPS_SQD, NONE,
	 PKEY | PORT | ACCESS | AV | TIMEOUT | RETRY | RNRCNT | RD | MIG},
	{IBV_QPT_XRC_SEND, IBV_QPS_SQD, IBV_QPS_RTS, NONE, CUR | ACCESS | MIG},
	{IBV_QPT_XRC_RECV, IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACCESS, NONE},
	{IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_INIT, NONE, PKEY | PORT | ACCESS},
	{IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, AV | MTU | DEST | RQPSN | RDDEST | RNRTIME,
	 PKEY | ACCESS},
	{IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, SQPSN | TIMEOUT, CUR | ACCESS | RNRTIME | MIG},
	{IBV_QPT_XRC_RECV, IBV_QPS_RTS, IBV_QPS_RTS, NONE, CUR | ACCESS | RNRTIME | MIG},
	{IBV_QPT_XRC_RECV, IBV_QPS_RTS, IBV_QPS_SQD, NONE, NOTIFY},
	{IBV_QPT_XRC_RECV, IBV_QPS_SQD, IBV_QPS_SQD, NONE,
	 PKEY | PORT | ACCESS | AV | TIMEOUT | RDDEST | RNRTIME | MIG},
	{IBV_QPT_XRC_RECV, IBV_QPS_SQD, IBV_QPS_RTS, NONE, CUR | ACCESS | RNRTIME | MIG},
};

static const struct rule *rule_for(enum ibv_qp_type type, enum ibv_qp_state from,
				   enum ibv_qp_state to)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(rules); i++)
		if (rules[i].type == type && rules[i].from == from && rules[i].to == to)
			return &rules[i];
	return NULL;
}

/* Returns valid attributes, for a peer on node 1. */
static struct ibv_qp_attr good_attr(const struct end *end, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = {
		.qp_state = to,
		.cur_qp_state = end_state(end),
		.path_mtu = IBV_MTU_1024,
		.qkey = 5,
		.rq_psn = 0xabffffff, /* only 24 bits are used */
		.sq_psn = 0xcdffffff,
		.dest_qp_num = 0x200,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.port_num = 1,
		.max_rd_atomic = ADV_MAX_RD_ATOMIC,
		.max_dest_rd_atomic = ADV_MAX_RD_ATOMIC,
		.min_rnr_timer = 31,
		.timeout = 31,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};

	memcpy(a.ah_attr.grh.dgid.raw, end->net->node[1].gid[0].raw, 16);
	return a;
}

static void move(struct end *end, enum ibv_qp_state to)
{
	const struct rule *r = rule_for(end->qp->type, end_state(end), to);
	struct ibv_qp_attr a = good_attr(end, to);

	assert_non_null(r);
	assert_int_equal(adv_qp_modify(end->qp, end->net->now, &a, IBV_QP_STATE | r->required), 0);
	assert_int_equal(end_state(end), to);
}

/* Posts a request that fails locally: the key does not exist. UC and UD enter SQE, RC enters
 * ERR. */
static void fail_a_send(struct end *end)
{
	struct adv_ah ah = {.pd = end->node->pd};
	struct wr wr;

	wr_make(&wr, IBV_WR_SEND, 1, 0);
	wr.sge[0] = (struct ibv_sge){.addr = 1, .length = 1, .lkey = 1};
	wr.w.num_sge = 1;
	if (end->qp->type == IBV_QPT_UD)
		wr.w.wr.ud.ah = &ah.ibv;
	assert_int_equal(end_send(end, &wr), 0);
	net_run(end->net, MS);
}

/* Moves the QP to a state by the shortest sequence of transitions. */
static void bring_to(struct end *end, enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

	end_to_state(end, IBV_QPS_RESET);
	if (state == IBV_QPS_ERR)
		assert_int_equal(end_to_state(end, IBV_QPS_ERR), 0);
	for (int i = 0; i < 3 && state != IBV_QPS_RESET && state != IBV_QPS_ERR; i++) {
		move(end, way[i]);
		if (way[i] == state)
			break;
	}
	if (state == IBV_QPS_SQD)
		move(end, IBV_QPS_SQD);
	if (state == IBV_QPS_SQE)
		fail_a_send(end);
	assert_int_equal(end_state(end), state);
}

static struct end *open_end(struct net *net, enum ibv_qp_type type)
{
	struct options o = options_default(type);

	return end_open(&net->node[0], &o, NULL);
}

struct picture {
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct adv_path path;
	uint32_t mtu;
};

static struct picture picture_of(const struct end *end)
{
	struct picture p;

	memset(&p, 0, sizeof(p));
	adv_qp_query(end->qp, &p.attr, &p.init);
	p.path = end->qp->path;
	p.mtu = end->qp->mtu;
	return p;
}

static void expect_refused(struct end *end, const struct ibv_qp_attr *a, int mask)
{
	struct picture before = picture_of(end), after;

	assert_int_equal(adv_qp_modify(end->qp, end->net->now, a, mask), EINVAL);
	after = picture_of(end);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void try_rule(struct end *end, const struct rule *r)
{
	struct ibv_qp_attr a;

	for (int shift = 0; shift < 31; shift++) {
		int bit = 1 << shift;

		bring_to(end, r->from);
		a = good_attr(end, r->to);
		if (r->required & bit) {
			expect_refused(end, &a, IBV_QP_STATE | (r->required & ~bit));
		} else if (r->optional & bit) {
			assert_int_equal(adv_qp_modify(end->qp, end->net->now, &a,
						       IBV_QP_STATE | r->required | bit),
					 0);
			assert_int_equal(end_state(end), r->to);
		} else if (ALL_BITS & bit) {
			expect_refused(end, &a, IBV_QP_STATE | r->required | bit);
		}
	}
	bring_to(end, r->from);
	a = good_attr(end, r->to);
	assert_int_equal(adv_qp_modify(end->qp, end->net->now, &a, IBV_QP_STATE | r->required), 0);
	assert_int_equal(end_state(end), r->to);
}

static void test_masks(void **state)
{
	struct net *net = net_open(2, 1);

	for (size_t i = 0; i < ADV_ARRAY_SIZE(rules); i++) {
		struct end *end = open_end(net, rules[i].type);

		try_rule(end, &rules[i]);
		end_close(end);
	}
	net_close(net);
}

static void test_transitions_that_are_not(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						 IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};
	struct net *net = net_open(2, 1);

	for (int t = 0; t < 5; t++) {
		struct end *end = open_end(net, types[t]);

		for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++) {
			if (from == IBV_QPS_SQE && end->qp->reliable)
				continue;
			for (int to = IBV_QPS_RESET; to <= IBV_QPS_UNKNOWN + 1; to++) {
				struct ibv_qp_attr a;

				bring_to(end, from);
				a = good_attr(end, to);
				if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) {
					expect_refused(end, &a, IBV_QP_STATE | PORT);
					assert_int_equal(end_to_state(end, to), 0);
					assert_int_equal(end_state(end), to);
				} else if (!rule_for(types[t], from, to)) {
					expect_refused(end, &a, IBV_QP_STATE);
				}
			}
		}
		end_close(end);
	}
	net_close(net);
}

static void test_without_state_bit(void **state)
{
	struct net *net = net_open(2, 1);
	struct end *end = open_end(net, IBV_QPT_RC);
	struct ibv_qp_attr a = good_attr(end, IBV_QPS_ERR);

	assert_int_equal(adv_qp_modify(end->qp, 0, &a, 0), 0);
	assert_int_equal(end_state(end), IBV_QPS_RESET);
	bring_to(end, IBV_QPS_RTS);
	a.min_rnr_timer = 7;
	assert_int_equal(adv_qp_modify(end->qp, 0, &a, RNRTIME), 0);
	assert_int_equal(end_state(end), IBV_QPS_RTS);
	assert_int_equal(picture_of(end).attr.min_rnr_timer, 7);
	bring_to(end, IBV_QPS_ERR);
	assert_int_equal(adv_qp_modify(end->qp, 0, &a, 0), 0);
	assert_int_equal(end_state(end), IBV_QPS_ERR);
	net_close(net);
}

/* A transition is refused if it has one invalid attribute. */
static void test_values(void **state)
{
	struct net *net = net_open(2, 1);
	struct end *end = open_end(net, IBV_QPT_RC);
	struct ibv_qp_attr a;
	int mask;

#define REFUSED(from, to, set)                                                                     \
	do {                                                                                       \
		const struct rule *r = rule_for(IBV_QPT_RC, from, to);                             \
		bring_to(end, from);                                                               \
		a = good_attr(end, to);                                                            \
		mask = IBV_QP_STATE | r->required | (r->optional & (CUR | MIG | RNRTIME));         \
		set;                                                                               \
		expect_refused(end, &a, mask);                                                     \
	} while (0)
	REFUSED(IBV_QPS_RESET, IBV_QPS_INIT, a.pkey_index = 1);
	REFUSED(IBV_QPS_RESET, IBV_QPS_INIT, a.port_num = 0);
	REFUSED(IBV_QPS_RESET, IBV_QPS_INIT, a.port_num = 2);
	REFUSED(IBV_QPS_RESET, IBV_QPS_INIT, a.qp_access_flags = 1 << 12);
	REFUSED(IBV_QPS_RESET, IBV_QPS_INIT, a.qp_access_flags = 1u << 31);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.path_mtu = 0);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.path_mtu = IBV_MTU_4096 + 1);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.dest_qp_num = 0x1000000);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.max_dest_rd_atomic = ADV_MAX_RD_ATOMIC + 1);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.min_rnr_timer = 32);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.ah_attr.is_global = 0);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.ah_attr.port_num = 2);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.ah_attr.grh.sgid_index = 2);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.ah_attr.grh.sgid_index = 1); /* IPv4 to IPv6 */
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, a.ah_attr.grh.dgid.raw[0] = 0xff);
	REFUSED(IBV_QPS_INIT, IBV_QPS_RTR, memset(a.ah_attr.grh.dgid.raw, 0, 16));
	REFUSED(IBV_QPS_RTR, IBV_QPS_RTS, a.max_rd_atomic = ADV_MAX_RD_ATOMIC + 1);
	REFUSED(IBV_QPS_RTR, IBV_QPS_RTS, a.timeout = 32);
	REFUSED(IBV_QPS_RTR, IBV_QPS_RTS, a.retry_cnt = 8);
	REFUSED(IBV_QPS_RTR, IBV_QPS_RTS, a.rnr_retry = 8);
	REFUSED(IBV_QPS_RTR, IBV_QPS_RTS, a.path_mig_state = IBV_MIG_ARMED);
	REFUSED(IBV_QPS_RTR, IBV_QPS_RTS, a.cur_qp_state = IBV_QPS_RTS);
	REFUSED(IBV_QPS_RTS, IBV_QPS_RTS, a.cur_qp_state = IBV_QPS_SQE);
	REFUSED(IBV_QPS_RTS, IBV_QPS_RTS, a.min_rnr_timer = 32);
	net_close(net);
}

/* The path MTU is limited by the MTU of the interface that has the source GID. */
static void test_mtu_of_the_interface(void **state)
{
	struct net *net = net_open(2, 1);
	struct end *end = open_end(net, IBV_QPT_UC);
	struct adv_engine_gid gids[2] = {{net->node[0].gid[0], 1024, false},
					 {net->node[0].gid[1], 4096, false}};
	struct ibv_qp_attr a;
	int mask = IBV_QP_STATE | AV | MTU | DEST | RQPSN;

	assert_int_equal(adv_engine_set_gids(net->node[0].e, gids, 2), 0);
	bring_to(end, IBV_QPS_INIT);
	a = good_attr(end, IBV_QPS_RTR);
	a.path_mtu = IBV_MTU_2048;
	expect_refused(end, &a, mask);
	a.path_mtu = IBV_MTU_1024;
	assert_int_equal(adv_qp_modify(end->qp, 0, &a, mask), 0);
	assert_int_equal(end->qp->mtu, 1024);
	/* The path cannot change to an interface with a smaller MTU. */
	move(end, IBV_QPS_RTS);
	move(end, IBV_QPS_SQD);
	gids[0].mtu = 512;
	assert_int_equal(adv_engine_set_gids(net->node[0].e, gids, 2), 0);
	a = good_attr(end, IBV_QPS_SQD);
	expect_refused(end, &a, AV);
	a.ah_attr.grh.sgid_index = 1;
	memcpy(a.ah_attr.grh.dgid.raw, net->node[1].gid[1].raw, 16);
	assert_int_equal(adv_qp_modify(end->qp, 0, &a, AV), 0);
	assert_int_equal(end->qp->path.sgid_index, 1);
	net_close(net);
}

/* The MTU of the source's interface does not limit a path to the machine's own addresses, because
 * it crosses no wire. */
static void test_mtu_within_the_machine(void **state)
{
	struct net *net = net_open(2, 1);
	struct end *end = open_end(net, IBV_QPT_UC);
	struct adv_engine_gid gids[2] = {{net->node[0].gid[0], 1024, false},
					 {net->node[0].gid[1], 256, false}};
	const int mask = IBV_QP_STATE | AV | MTU | DEST | RQPSN;
	struct ibv_qp_attr a;

	assert_int_equal(adv_engine_set_gids(net->node[0].e, gids, 2), 0);
	bring_to(end, IBV_QPS_INIT);
	a = good_attr(end, IBV_QPS_RTR);
	a.path_mtu = IBV_MTU_4096;
	expect_refused(end, &a, mask);
	for (int i = 0; i < 2; i++) {
		a.ah_attr.grh.sgid_index = (uint8_t)i;
		memcpy(a.ah_attr.grh.dgid.raw, gids[i].gid.raw, sizeof(a.ah_attr.grh.dgid.raw));
		assert_int_equal(adv_qp_modify(end->qp, 0, &a, mask), 0);
		assert_int_equal(end->qp->mtu, 4096);
		assert_int_equal(adv_qp_modify(end->qp, 0,
					       &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET},
					       IBV_QP_STATE),
				 0);
		move(end, IBV_QPS_INIT);
	}
	memcpy(a.ah_attr.grh.dgid.raw,
	       (uint8_t[16]){[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 9}, 16);
	assert_int_equal(adv_qp_modify(end->qp, 0, &a, mask), 0);
	net_close(net);
}

static void test_query(void **state)
{
	struct net *net = net_open(2, 1);
	struct end *end = open_end(net, IBV_QPT_RC);
	struct picture p;

	p = picture_of(end);
	assert_int_equal(p.attr.qp_state, IBV_QPS_RESET);
	assert_int_equal(p.init.qp_type, IBV_QPT_RC);
	assert_int_equal(p.init.sq_sig_all, 1);
	assert_int_equal(p.init.cap.max_send_wr, 64);
	assert_int_equal(p.init.cap.max_inline_data,
			 32 * sizeof(struct ibv_sge)); /* inline data uses the room of the SGEs */
	bring_to(end, IBV_QPS_RTS);
	p = picture_of(end);
	assert_int_equal(p.attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(p.attr.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(p.attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(p.attr.dest_qp_num, 0x200);
	assert_int_equal(p.attr.rq_psn, 0xffffff);
	assert_int_equal(p.attr.sq_psn, 0xffffff);
	assert_int_equal(p.attr.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(p.attr.port_num, 1);
	assert_int_equal(p.attr.max_rd_atomic, ADV_MAX_RD_ATOMIC);
	assert_int_equal(p.attr.max_dest_rd_atomic, ADV_MAX_RD_ATOMIC);
	assert_int_equal(p.attr.min_rnr_timer, 31);
	assert_int_equal(p.attr.timeout, 31);
	assert_int_equal(p.attr.retry_cnt, 7);
	assert_int_equal(p.attr.rnr_retry, 7);
	assert_int_equal(p.attr.cap.max_recv_wr, 64);
	assert_int_equal(p.attr.ah_attr.is_global, 1);
	assert_int_equal(p.attr.sq_draining, 0);
	bring_to(end, IBV_QPS_RESET);
	p = picture_of(end);
	assert_int_equal(p.attr.timeout, 0);
	assert_int_equal(p.attr.cap.max_recv_wr, 64);
	end_close(end);
	end = open_end(net, IBV_QPT_UD);
	bring_to(end, IBV_QPS_RTS);
	assert_int_equal(picture_of(end).attr.qkey, 5);
	net_close(net);
}

/* SQD: the numbers of outstanding READs and of responder resources can grow once the queue has
 * drained. */
static void test_resources_change_in_sqd(void **state)
{
	struct net *net = net_open(2, 1);
	struct options o = options_default(IBV_QPT_RC);
	struct region *la = region_open(&net->node[0], 4096, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	struct ibv_qp_attr a = {0};
	struct end *ends[2];

	o.max_rd_atomic = o.max_dest_rd_atomic = 2;
	region_fill(rb, 3);
	pair_open(net, &o, &ends[0], &ends[1]);
	for (int round = 0; round < 4; round++) {
		static const uint8_t count[] = {2, 16, 3, 1};

		for (int i = 0; i < 2; i++) {
			assert_int_equal(end_to_state(ends[i], IBV_QPS_SQD), 0);
			a.max_rd_atomic = a.max_dest_rd_atomic = count[round];
			assert_int_equal(
				adv_qp_modify(ends[i]->qp, net->now, &a, i ? RD | RDDEST : RDDEST),
				0);
			a.max_rd_atomic = count[round];
			assert_int_equal(adv_qp_modify(ends[i]->qp, net->now, &a, RD), 0);
			assert_int_equal(end_to_state(ends[i], IBV_QPS_RTS), 0);
		}
		memset(la->buf, 0, 4096);
		for (unsigned i = 0; i < 20; i++)
			end_op(ends[0], IBV_WR_RDMA_READ, i, la, i * 200, 200, rb, i * 200);
		net_run(net, SEC);
		assert_int_equal(ends[0]->send_count, 20 * (round + 1));
		expect_pattern(la, 0, 4000, 3, 0);
	}
	net_close(net);
}

/* Attributes of packets in flight cannot change before the queue has drained. */
static void test_no_change_while_draining(void **state)
{
	struct net *net = net_open(2, 1);
	struct options o = options_default(IBV_QPT_RC);
	struct region *r = region_open(&net->node[0], 4096, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 4096, ALL_ACCESS);
	struct end *x, *y;
	struct ibv_qp_attr a;

	pair_open(net, &o, &x, &y);
	end_op(x, IBV_WR_RDMA_READ, 1, r, 0, 100, rb, 0);
	assert_true(net_step(net, net->now));
	assert_int_equal(end_to_state(x, IBV_QPS_SQD), 0);
	assert_int_equal(picture_of(x).attr.sq_draining, 1);
	a = good_attr(x, IBV_QPS_SQD);
	expect_refused(x, &a, RD);
	expect_refused(x, &a, TIMEOUT);
	net_run(net, MS);
	assert_int_equal(x->send_count, 1);
	assert_int_equal(picture_of(x).attr.sq_draining, 0);
	assert_int_equal(adv_qp_modify(x->qp, net->now, &a, RD), 0);
	net_run(net, SEC);
	net_close(net);
}

/* Changes of receive-side attributes in RTS take effect at once. */
static void test_access_changes_at_once(void **state)
{
	struct net *net = net_open(2, 1);
	struct options o = options_default(IBV_QPT_RC);
	struct region *r = region_open(&net->node[0], 64, ALL_ACCESS);
	struct region *rb = region_open(&net->node[1], 64, ALL_ACCESS);
	struct ibv_qp_attr a = {.qp_access_flags = IBV_ACCESS_REMOTE_READ};
	struct end *x, *y;

	pair_open(net, &o, &x, &y);
	end_op(x, IBV_WR_RDMA_WRITE, 1, r, 0, 8, rb, 0);
	net_until(net, x, 1, 0, SEC);
	assert_int_equal(adv_qp_modify(y->qp, net->now, &a, ACCESS), 0);
	end_op(x, IBV_WR_RDMA_WRITE, 2, r, 0, 8, rb, 0);
	net_until(net, x, 2, 0, SEC);
	assert_int_not_equal(x->sends[1].wc.status, IBV_WC_SUCCESS);
	net_run(net, SEC);
	net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_transitions_that_are_not),
		cmocka_unit_test(test_without_state_bit),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_mtu_of_the_interface),
		cmocka_unit_test(test_mtu_within_the_machine),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_resources_change_in_sqd),
		cmocka_unit_test(test_no_change_while_draining),
		cmocka_unit_test(test_access_changes_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
