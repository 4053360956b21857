/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests unreliable datagrams: the GRH, replies to the sender, Q_Keys, multicast. Also tests SRQs.
 */
#include <arpa/inet.h>

#include "harness.h"

/* Sends `length` bytes of s's buffer as a datagram. */
static int send_ud(struct side *s, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint64_t wr_id,
		   uint32_t length)
{
	struct ibv_sge sge = sge_of(s, 0, length);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = 0x55,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = qkey},
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(s->qp, &wr, &bad);
}

static struct ibv_ah *ah_to(struct side *s, const struct side *peer)
{
	struct ibv_ah_attr av = av_to(s, peer);
	struct ibv_ah *ah = ibv_create_ah(s->pd, &av);

	assert_non_null(ah);
	return ah;
}

static void check_ipv4_grh(const uint8_t *grh)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i++)
		assert_int_equal(grh[i], 0);
	assert_int_equal(grh[20], 0x45);
	assert_int_equal(grh[29], 17);
	for (int i = 20; i < 40; i += 2)
		sum += (uint32_t)grh[i] << 8 | grh[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(sum, 0xffff);
}

/* Tests a datagram, and a reply to its sender. */
static void there_and_back(const struct options *o)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *there, *back;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, o);
	there = ah_to(&p.a, &p.b);
	strcpy((char *)p.a.buf, "are you there?");
	assert_int_equal(post_recv(&p.b, 1, 0, 1024), 0);
	assert_int_equal(send_ud(&p.a, there, p.b.qp->qp_num, QKEY, 2, 100), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	wc = expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 100 + GRH_SIZE);
	assert_int_equal(wc.src_qp, p.a.qp->qp_num);
	assert_true(wc.wc_flags & IBV_WC_GRH);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x55);
	assert_string_equal((char *)p.b.buf + GRH_SIZE, "are you there?");
	if (o->ipv6)
		assert_int_equal(p.b.buf[0] >> 4, 6);
	else
		check_ipv4_grh(p.b.buf);

	assert_int_equal(ibv_init_ah_from_wc(p.b.ctx, 1, &wc, (struct ibv_grh *)p.b.buf, &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_int_not_equal(attr.grh.hop_limit, 0);
	assert_int_equal(attr.grh.sgid_index, p.b.gid_index);
	assert_memory_equal(&attr.grh.dgid, &p.a.gid, 16);
	back = ibv_create_ah_from_wc(p.b.pd, &wc, (struct ibv_grh *)p.b.buf, 1);
	assert_non_null(back);
	strcpy((char *)p.b.buf, "yes");
	assert_int_equal(post_recv(&p.a, 3, 4096, 1024), 0);
	assert_int_equal(send_ud(&p.b, back, wc.src_qp, QKEY, 4, 10), 0);
	expect_wc(p.b.send_cq, 4, IBV_WC_SUCCESS);
	wc = expect_wc(p.a.recv_cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(wc.src_qp, p.b.qp->qp_num);
	assert_string_equal((char *)p.a.buf + 4096 + GRH_SIZE, "yes");
	assert_int_equal(ibv_destroy_ah(there), 0);
	assert_int_equal(ibv_destroy_ah(back), 0);
	pair_close(&p);
}

static void grh_of_ipv4(void **state)
{
	there_and_back(&(struct options){.type = IBV_QPT_UD});
}

static void grh_of_ipv6(void **state)
{
	there_and_back(&(struct options){.type = IBV_QPT_UD, .ipv6 = true});
}

static void grh_into_an_srq(void **state)
{
	there_and_back(&(struct options){.type = IBV_QPT_UD, .srq = true});
}

static void garbage_in_the_grh(void **state)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	struct ibv_ah_attr attr;
	struct ibv_grh grh;
	struct side s;

	side_open(&s, &(struct options){.type = IBV_QPT_UD});
	memset(&grh, 0, sizeof(grh));
	assert_int_equal(ibv_init_ah_from_wc(s.ctx, 1, &wc, &grh, &attr), -1);
	memset(&grh, 0xff, sizeof(grh));
	assert_int_equal(ibv_init_ah_from_wc(s.ctx, 1, &wc, &grh, &attr), -1);
	/* The header is IPv6 and UDP, but has a foreign destination address. */
	memset(&grh, 0, sizeof(grh));
	grh.version_tclass_flow = htonl(6u << 28);
	grh.next_hdr = 17;
	grh.dgid.raw[0] = 0x20;
	assert_int_equal(ibv_init_ah_from_wc(s.ctx, 1, &wc, &grh, &attr), -1);
	assert_null(ibv_create_ah_from_wc(s.pd, &wc, &grh, 1));
	side_close(&s);
}

static void wrong_qkey_is_not_received(void **state)
{
	struct ibv_ah *ah;
	struct pair p;

	pair_open(&p, &(struct options){.type = IBV_QPT_UD});
	ah = ah_to(&p.a, &p.b);
	assert_int_equal(post_recv(&p.b, 1, 0, 1024), 0);
	assert_int_equal(send_ud(&p.a, ah, p.b.qp->qp_num, QKEY + 1, 2, 8), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	expect_none(p.b.recv_cq);
	assert_int_equal(send_ud(&p.a, ah, p.b.qp->qp_num, QKEY, 3, 8), 0);
	expect_wc(p.a.send_cq, 3, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

static void ud_by_wr_calls(void **state)
{
	struct ibv_qp_ex *qp;
	struct ibv_ah *ah;
	struct pair p;

	pair_open(&p, &(struct options){.type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_SEND});
	ah = ah_to(&p.a, &p.b);
	assert_int_equal(post_recv(&p.b, 1, 0, 1024), 0);
	qp = ibv_qp_to_qp_ex(p.a.qp);
	ibv_wr_start(qp);
	qp->wr_id = 2;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, ah, p.b.qp->qp_num, QKEY);
	ibv_wr_set_sge(qp, p.a.mr->lkey, (uintptr_t)p.a.buf, 16);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS).byte_len, 16 + GRH_SIZE);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

static const union ibv_gid group = {
	.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};
/* The same group in the form of IPoIB and the kernel. */
static const union ibv_gid group_as_mgid = {
	.raw = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};

static void multicast_reaches_members(void **state)
{
	struct ibv_ah_attr av;
	struct ibv_qp *second;
	struct ibv_ah *ah;
	struct pair p;

	pair_open(&p, &(struct options){.type = IBV_QPT_UD});
	av = av_to(&p.a, &p.b);
	av.grh.dgid = group;
	ah = ibv_create_ah(p.a.pd, &av);
	assert_non_null(ah);
	assert_int_equal(post_recv(&p.b, 1, 0, 1024), 0);

	/* The group has no member: no datagram arrives. */
	assert_int_equal(send_ud(&p.a, ah, 0xffffff, QKEY, 2, 8), 0);
	expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
	expect_none(p.b.recv_cq);

	/* A second attachment has no effect. Neither has a second QP that is attached and detached.
	 */
	assert_int_equal(ibv_attach_mcast(p.b.qp, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(p.b.qp, &group_as_mgid, 0), 0);
	second = ibv_create_qp(p.b.pd, &p.b.init);
	assert_non_null(second);
	assert_int_equal(ibv_attach_mcast(second, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(second, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(second), 0);
	assert_int_equal(send_ud(&p.a, ah, 0xffffff, QKEY, 3, 8), 0);
	expect_wc(p.a.send_cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p.b.recv_cq, 1, IBV_WC_SUCCESS).byte_len, 8 + GRH_SIZE);

	assert_int_equal(ibv_destroy_qp(p.b.qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(p.b.qp, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(p.b.qp, &group, 0), EINVAL);
	assert_int_equal(post_recv(&p.b, 4, 0, 1024), 0);
	assert_int_equal(send_ud(&p.a, ah, 0xffffff, QKEY, 5, 8), 0);
	expect_wc(p.a.send_cq, 5, IBV_WC_SUCCESS);
	expect_none(p.b.recv_cq);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_close(&p);
}

/* Replaces the QP of side a by one with flags, in RTS. */
static void create_with_flags(struct pair *p, const struct options *o, uint32_t flags)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_UD,
					   .send_cq = p->a.send_cq,
					   .recv_cq = p->a.recv_cq,
					   .cap = p->a.init.cap,
					   .pd = p->a.pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_CREATE_FLAGS,
					   .create_flags = flags};

	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	p->a.qp = ibv_create_qp_ex(p->a.ctx, &init);
	assert_non_null(p->a.qp);
	assert_int_equal(to_init(&p->a, o), 0);
	assert_int_equal(to_rtr(&p->a, &p->b, o), 0);
	assert_int_equal(to_rts(&p->a, o), 0);
}

/* Linux rxe gives a member that sends a copy; the flag blocks it, as with cards. */
static void a_member_that_sends_gets_a_copy(void **state)
{
	const struct options o = {.type = IBV_QPT_UD, .unconnected = true};

	for (int block = 0; block < 2; block++) {
		struct ibv_ah_attr av;
		struct ibv_ah *ah;
		struct pair p;

		pair_open(&p, &o);
		create_with_flags(&p, &o, block ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0);
		av = av_to(&p.a, &p.b);
		av.grh.dgid = group;
		ah = ibv_create_ah(p.a.pd, &av);
		assert_int_equal(ibv_attach_mcast(p.a.qp, &group, 0), 0);
		assert_int_equal(post_recv(&p.a, 1, 0, 1024), 0);
		assert_int_equal(send_ud(&p.a, ah, 0xffffff, QKEY, 2, 8), 0);
		expect_wc(p.a.send_cq, 2, IBV_WC_SUCCESS);
		if (block)
			expect_none(p.a.recv_cq);
		else
			expect_wc(p.a.recv_cq, 1, IBV_WC_SUCCESS);
		assert_int_equal(ibv_detach_mcast(p.a.qp, &group, 0), 0);
		assert_int_equal(ibv_destroy_ah(ah), 0);
		pair_close(&p);
	}
}

static void only_ud_joins_groups(void **state)
{
	struct pair p;

	pair_open(&p, &(struct options){0});
	assert_int_equal(ibv_attach_mcast(p.a.qp, &group, 0), EINVAL);
	pair_close(&p);
	pair_open(&p, &(struct options){.type = IBV_QPT_UD});
	assert_int_equal(ibv_attach_mcast(p.a.qp, &p.a.gid, 0), EINVAL);
	pair_close(&p);
}

static void srq_serves_its_queue_pairs(void **state)
{
	struct ibv_srq_attr attr = {.max_wr = 128};
	struct ibv_recv_wr wr = {.num_sge = 100}, *bad;
	uint32_t n = 0;
	struct pair p;

	pair_open(&p, &(struct options){.srq = true});
	assert_int_equal(p.b.init.cap.max_recv_wr, 0);
	assert_int_equal(ibv_post_srq_recv(p.b.srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_modify_srq(p.b.srq, &attr, 1 << 5), EINVAL);
	assert_int_equal(ibv_query_srq(p.b.srq, &attr), 0);
	while (post_recv(&p.b, n, 0, 64) == 0)
		n++;
	assert_int_equal(n, attr.max_wr);
	assert_int_equal(post_recv(&p.b, n, 0, 64), ENOMEM);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(post_send(&p.a, i, 0, 64, IBV_SEND_SIGNALED), 0);
		expect_wc(p.a.send_cq, i, IBV_WC_SUCCESS);
		expect_wc(p.b.recv_cq, i, IBV_WC_SUCCESS);
	}
	assert_int_equal(post_recv(&p.b, n, 0, 64), 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grh_of_ipv4),
		cmocka_unit_test(grh_of_ipv6),
		cmocka_unit_test(grh_into_an_srq),
		cmocka_unit_test(garbage_in_the_grh),
		cmocka_unit_test(wrong_qkey_is_not_received),
		cmocka_unit_test(ud_by_wr_calls),
		cmocka_unit_test(multicast_reaches_members),
		cmocka_unit_test(a_member_that_sends_gets_a_copy),
		cmocka_unit_test(only_ud_joins_groups),
		cmocka_unit_test(srq_serves_its_queue_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
