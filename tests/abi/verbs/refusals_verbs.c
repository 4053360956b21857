/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "refusals.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct pair p;	  /* connected; b has an SRQ */
static struct pair fresh; /* RC, in RESET */
static struct pair ud;	  /* UD, in RESET; b is in a group */
static union ibv_gid group = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 1, 1}};

static int error_of(const void *object)
{
	return object ? 0 : errno;
}

/* ---- transitions of queue pairs ---- */

static const int INIT_MASK = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
static const int RTR_MASK = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
static const int RTS_MASK = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

static struct ibv_qp_attr init_attr(void)
{
	return (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1};
}

static struct ibv_qp_attr rtr_attr(void)
{
	return (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = fresh.b.qp->qp_num,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12,
				    .ah_attr = av_to(&fresh.a, &fresh.b)};
}

static struct ibv_qp_attr rts_attr(void)
{
	return (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1};
}

/* Puts fresh.a's queue pair into a state, and modifies it. */
static int modify_in(enum ibv_qp_state state, struct ibv_qp_attr *attr, int mask)
{
	const struct options defaults = {0};

	assert_int_equal(to_state(&fresh.a, IBV_QPS_RESET), 0);
	if (state >= IBV_QPS_INIT)
		assert_int_equal(to_init(&fresh.a, &defaults), 0);
	if (state >= IBV_QPS_RTR)
		assert_int_equal(to_rtr(&fresh.a, &fresh.b, &defaults), 0);
	errno = EXDEV;
	return ibv_modify_qp(fresh.a.qp, attr, mask);
}

static int skips_states(void)
{
	struct ibv_qp_attr attr = rts_attr();

	return modify_in(IBV_QPS_RESET, &attr, RTS_MASK);
}

static int forgets_the_port(void)
{
	struct ibv_qp_attr attr = init_attr();

	return modify_in(IBV_QPS_RESET, &attr, INIT_MASK & ~IBV_QP_PORT);
}

static int sets_the_mtu_too_early(void)
{
	struct ibv_qp_attr attr = init_attr();

	return modify_in(IBV_QPS_RESET, &attr, INIT_MASK | IBV_QP_PATH_MTU);
}

static int takes_port_2(void)
{
	struct ibv_qp_attr attr = init_attr();

	attr.port_num = 2;
	return modify_in(IBV_QPS_RESET, &attr, INIT_MASK);
}

static int takes_pkey_7(void)
{
	struct ibv_qp_attr attr = init_attr();

	attr.pkey_index = 7;
	return modify_in(IBV_QPS_RESET, &attr, INIT_MASK);
}

static int has_a_long_path_mtu(void)
{
	struct ibv_qp_attr attr = rtr_attr();

	attr.path_mtu = (enum ibv_mtu)6;
	return modify_in(IBV_QPS_INIT, &attr, RTR_MASK);
}

static int takes_gid_99(void)
{
	struct ibv_qp_attr attr = rtr_attr();

	attr.ah_attr.grh.sgid_index = 99;
	return modify_in(IBV_QPS_INIT, &attr, RTR_MASK);
}

static int has_no_grh(void)
{
	struct ibv_qp_attr attr = rtr_attr();

	attr.ah_attr.is_global = 0;
	return modify_in(IBV_QPS_INIT, &attr, RTR_MASK);
}

static int accepts_200_reads(void)
{
	struct ibv_qp_attr attr = rtr_attr();

	attr.max_dest_rd_atomic = 200;
	return modify_in(IBV_QPS_INIT, &attr, RTR_MASK);
}

static int wants_200_reads(void)
{
	struct ibv_qp_attr attr = rts_attr();

	attr.max_rd_atomic = 200;
	return modify_in(IBV_QPS_RTR, &attr, RTS_MASK);
}

static int has_timeout_40(void)
{
	struct ibv_qp_attr attr = rts_attr();

	attr.timeout = 40;
	return modify_in(IBV_QPS_RTR, &attr, RTS_MASK);
}

/* ---- objects that cannot be created ---- */

static int create_qp(struct ibv_cq *cq, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = cap};

	return error_of(ibv_create_qp(p.a.pd, &attr));
}

static int queue_too_long(void)
{
	return create_qp(p.a.send_cq, (struct ibv_qp_cap){.max_send_wr = 100000});
}

static int too_many_entries(void)
{
	return create_qp(p.a.send_cq, (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 99});
}

static int too_much_inline(void)
{
	return create_qp(p.a.send_cq,
			 (struct ibv_qp_cap){.max_send_wr = 1, .max_inline_data = 1 << 20});
}

static int no_cq(void)
{
	return create_qp(NULL, (struct ibv_qp_cap){.max_send_wr = 1});
}

static int cq_without_entries(void)
{
	return error_of(ibv_create_cq(p.a.ctx, 0, NULL, NULL, 0));
}

static int cq_vector_77(void)
{
	return error_of(ibv_create_cq(p.a.ctx, 16, NULL, NULL, 77));
}

static int srq_without_requests(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_sge = 1}};

	return error_of(ibv_create_srq(p.a.pd, &attr));
}

static int ah_of_port_2(void)
{
	struct ibv_ah_attr attr = av_to(&p.a, &p.b);

	attr.port_num = 2;
	return error_of(ibv_create_ah(p.a.pd, &attr));
}

static int region_that_is_not_mapped(void)
{
	return error_of(ibv_reg_mr(p.a.pd, (void *)64, 4096, IBV_ACCESS_LOCAL_WRITE));
}

static int region_without_local_write(void)
{
	return error_of(ibv_reg_mr(p.a.pd, p.a.buf, 4096, IBV_ACCESS_REMOTE_WRITE));
}

static int region_of_no_bytes(void)
{
	return error_of(ibv_reg_mr(p.a.pd, p.a.buf, 0, IBV_ACCESS_LOCAL_WRITE));
}

/* ---- objects that cannot be changed or destroyed ---- */

static int pd_in_use(void)
{
	return ibv_dealloc_pd(p.a.pd);
}

static int cq_in_use(void)
{
	return ibv_destroy_cq(p.a.send_cq);
}

static int srq_in_use(void)
{
	return ibv_destroy_srq(p.b.srq);
}

static int channel_in_use(void)
{
	return ibv_destroy_comp_channel(p.a.channel);
}

static int qp_in_group(void)
{
	return ibv_destroy_qp(ud.b.qp);
}

static int group_for_rc(void)
{
	return ibv_attach_mcast(p.a.qp, &group, 0);
}

static int limit_above_srq(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 100000};

	return ibv_modify_srq(p.b.srq, &attr, IBV_SRQ_LIMIT);
}

static int port_2(void)
{
	struct ibv_port_attr attr;

	return ibv_query_port(p.a.ctx, 2, &attr);
}

static int pkey_1(void)
{
	__be16 pkey;

	return ibv_query_pkey(p.a.ctx, 1, 1, &pkey) ? errno : 0;
}

/* ---- requests ---- */

static int send_too_early(void)
{
	return post_send(&ud.a, 1, 0, 8, 0);
}

static int send_of_many_entries(void)
{
	struct ibv_sge sge[9] = {{0}};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = COUNT(sge)},
			   *bad;

	return ibv_post_send(p.a.qp, &wr, &bad);
}

static int send_of_much_inline(void)
{
	return post_send(&p.a, 1, 0, 4096, IBV_SEND_INLINE);
}

static int send_to_full_queue(void)
{
	int err;

	/* No request completes, as the peer has no receive request, and its timer is long. */
	for (unsigned i = 0; i < p.a.init.cap.max_send_wr; i++)
		assert_int_equal(post_send(&p.a, i, 0, 8, 0), 0);
	errno = EXDEV;
	err = post_send(&p.a, 99, 0, 8, 0);
	return err;
}

static int receive_of_many_entries(void)
{
	struct ibv_sge sge[9] = {{0}};
	struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = COUNT(sge)}, *bad;

	return ibv_post_recv(p.a.qp, &wr, &bad);
}

static int receive_beside_srq(void)
{
	struct ibv_recv_wr wr = {0}, *bad;

	return ibv_post_recv(p.b.qp, &wr, &bad);
}

static int receive_in_reset(void)
{
	return post_recv(&ud.a, 1, 0, 8);
}

const struct refusal verbs_refusals[] = {
	{"RESET -> RTS", skips_states, EINVAL, "IBTA 10.3.1; Linux ib_modify_qp_is_ok()",
	 "ibv_modify_qp(qp 0x*, RESET -> RTS): there is no such transition: the order is "
	 "RESET, INIT, RTR, RTS, and from any state to RESET or ERR (EINVAL)"},
	{"no port", forgets_the_port, EINVAL, "ibv_modify_qp(3); Linux ib_modify_qp_is_ok()",
	 "ibv_modify_qp(qp 0x*, RESET -> INIT): attr_mask lacks IBV_QP_PORT: this transition "
	 "needs them (EINVAL)"},
	{"an MTU for INIT", sets_the_mtu_too_early, EINVAL,
	 "ibv_modify_qp(3); Linux ib_modify_qp_is_ok()",
	 "ibv_modify_qp(qp 0x*, RESET -> INIT): attr_mask has IBV_QP_PATH_MTU: this "
	 "transition does not allow them (EINVAL)"},
	{"port 2", takes_port_2, EINVAL, "Linux modify_qp() of uverbs_cmd.c: rdma_is_port_valid()",
	 "ibv_modify_qp(qp 0x*, RESET -> INIT): the value 2 of IBV_QP_PORT is not allowed: "
	 "allowed is 1 (EINVAL)"},
	{"P_Key index 7", takes_pkey_7, EINVAL, "Linux mlx5_ib_modify_qp(): pkey_table_len",
	 "ibv_modify_qp(qp 0x*, RESET -> INIT): the value 7 of IBV_QP_PKEY_INDEX is not "
	 "allowed: allowed is an index of the P_Key table (ibv_query_pkey) (EINVAL)"},
	{"path MTU 8192", has_a_long_path_mtu, EINVAL, "Linux rxe_qp_chk_attr(): mtu_cap",
	 "ibv_modify_qp(qp 0x*, INIT -> RTR): the value 6 of IBV_QP_PATH_MTU is not allowed: "
	 "allowed is IBV_MTU_256 (1) to IBV_MTU_4096 (5) (EINVAL)"},
	{"GID index 99", takes_gid_99, EINVAL, "Linux rdma_fill_sgid_attr()",
	 "ibv_modify_qp(qp 0x*, INIT -> RTR): sgid_index 99: the GID table has * entries "
	 "(adverb devinfo lists them) (EINVAL)"},
	{"no GRH", has_no_grh, EINVAL, "Linux rdma_check_ah_attr()",
	 "ibv_modify_qp(qp 0x*, INIT -> RTR): ah_attr.is_global is 0: RoCE needs the GRH, "
	 "with sgid_index and dgid (EINVAL)"},
	{"200 incoming READs", accepts_200_reads, EINVAL, "Linux rxe_qp_chk_attr(): max_qp_rd_atom",
	 "ibv_modify_qp(qp 0x*, INIT -> RTR): the value 200 of IBV_QP_MAX_DEST_RD_ATOMIC is "
	 "not allowed: allowed is 0 to 128 (max_qp_rd_atom) (EINVAL)"},
	{"200 own READs", wants_200_reads, EINVAL, "Linux rxe_qp_chk_attr(): max_qp_rd_atom",
	 "ibv_modify_qp(qp 0x*, RTR -> RTS): the value 200 of IBV_QP_MAX_QP_RD_ATOMIC is not "
	 "allowed: allowed is 0 to 128 (max_qp_init_rd_atom) (EINVAL)"},
	{"timeout 40", has_timeout_40, EINVAL, "Linux rxe_qp_chk_attr(): timeout > 31",
	 "ibv_modify_qp(qp 0x*, RTR -> RTS): the value 40 of IBV_QP_TIMEOUT is not allowed: "
	 "allowed is 0 to 31 (EINVAL)"},
	{"100000 sends", queue_too_long, EINVAL, "Linux rxe_qp_chk_cap(): max_qp_wr",
	 "ibv_create_qp(RC): cap.max_send_wr 100000 is above 32768, the limit of the device "
	 "(EINVAL)"},
	{"99 entries", too_many_entries, EINVAL, "Linux rxe_qp_chk_cap(): max_send_sge",
	 "ibv_create_qp(RC): cap.max_send_sge 99 is above 32, the limit of the device (EINVAL)"},
	{"1 MiB inline", too_much_inline, EINVAL, "Linux rxe_qp_chk_cap(): max_inline_data",
	 "ibv_create_qp(RC): cap.max_inline_data 1048576 is above 1024, the limit of the device "
	 "(EINVAL)"},
	{"no CQ", no_cq, EINVAL, "Linux create_qp() of uverbs_cmd.c",
	 "ibv_create_qp(RC): send_cq is missing: set it (EINVAL)"},
	{"CQ of no entries", cq_without_entries, EINVAL, "Linux rxe_cq_chk_attr(): cqe <= 0",
	 "ibv_create_cq(): cqe 0: 1 to 4194304 are possible (max_cqe) (EINVAL)"},
	{"vector 77", cq_vector_77, EINVAL, "Linux create_cq() of uverbs_cmd.c: num_comp_vectors",
	 "ibv_create_cq(): comp_vector 77: 0 to * are possible (num_comp_vectors) (EINVAL)"},
	{"SRQ of no requests", srq_without_requests, EINVAL, "Linux rxe_srq_chk_init(): max_wr",
	 "ibv_create_srq(): max_wr 0: 1 to 32768 are possible (max_srq_wr) (EINVAL)"},
	{"AH of port 2", ah_of_port_2, EINVAL, "Linux ib_uverbs_create_ah(): rdma_is_port_valid()",
	 "ibv_create_ah(pd *): ah_attr.port_num 2: the device has only port 1 (EINVAL)"},
	{"unmapped memory", region_that_is_not_mapped, EFAULT,
	 "Linux ib_umem_get(): pin_user_pages()",
	 "ibv_reg_mr(pd *): 4096 bytes at 0x40 are not all mapped and writable: check the address, "
	 "or use IBV_ACCESS_ON_DEMAND (EFAULT)"},
	{"no local write", region_without_local_write, EINVAL,
	 "ibv_reg_mr(3); Linux ib_check_mr_access()",
	 "ibv_reg_mr(): access 0x2 has IBV_ACCESS_REMOTE_WRITE or _REMOTE_ATOMIC: these need "
	 "IBV_ACCESS_LOCAL_WRITE too (EINVAL)"},
	{"0 bytes", region_of_no_bytes, EINVAL, "Linux ib_umem_get(): npages == 0",
	 "ibv_reg_mr(pd *): length 0: a region has at least one byte (EINVAL)"},
	{"PD in use", pd_in_use, EBUSY, "ibv_alloc_pd(3); Linux uverbs_free_pd()",
	 "ibv_dealloc_pd(pd *): 2 objects use it: destroy its regions, windows, queue pairs, SRQs "
	 "and address handles first (EBUSY)"},
	{"CQ in use", cq_in_use, EBUSY, "ibv_create_cq(3); Linux ib_destroy_cq_user()",
	 "ibv_destroy_cq(cq *): queue pairs and SRQs that use it: 1 (a queue pair may count "
	 "twice); destroy them first (EBUSY)"},
	{"SRQ in use", srq_in_use, EBUSY, "ibv_create_srq(3); Linux ib_destroy_srq_user()",
	 "ibv_destroy_srq(srq *): queue pairs that use it: 1; destroy them first (EBUSY)"},
	{"channel in use", channel_in_use, EBUSY, "rdma-core ibv_destroy_comp_channel(): refcnt",
	 "ibv_destroy_comp_channel(fd *): CQs that use it: 2; destroy them first (EBUSY)"},
	{"QP in a group", qp_in_group, EBUSY, "ibv_create_qp(3); Linux uverbs_free_qp()",
	 "ibv_destroy_qp(qp 0x*): it is in a multicast group: ibv_detach_mcast() first "
	 "(EBUSY)"},
	{"RC in a group", group_for_rc, EINVAL, "ibv_attach_mcast(3); Linux ib_attach_mcast()",
	 "ibv_attach_mcast(qp 0x*): only a UD queue pair can join a group (EINVAL)"},
	{"limit of an SRQ", limit_above_srq, EINVAL, "Linux rxe_srq_chk_attr(): srq_limit",
	 "ibv_modify_srq(srq *): srq_limit 100000 is above max_wr 64 (EINVAL)"},
	{"query of port 2", port_2, EINVAL, "Linux ib_query_port(): rdma_is_port_valid()",
	 "ibv_query_port(): port_num 2: the device has only port 1 (EINVAL)"},
	{"P_Key 1", pkey_1, EINVAL, "Linux rxe_query_pkey(): index > 0",
	 "ibv_query_pkey(): port_num 1, index 1: the device has port 1, with a P_Key table "
	 "of length 1 (EINVAL)"},
	{"SEND in RESET", send_too_early, EINVAL, "ibv_post_send(3); Linux rxe_post_send()",
	 "ibv_post_send(qp 0x*): this UD queue pair is in RESET: it can send from RTS on "
	 "(EINVAL)"},
	{"SEND of 9 entries", send_of_many_entries, EINVAL, "Linux validate_send_wr(): max_sge",
	 "ibv_post_send(qp 0x*): wr_id 0: num_sge 9 is above 4, the max_send_sge of the queue "
	 "pair (EINVAL)"},
	{"4 KiB inline", send_of_much_inline, EINVAL, "Linux validate_send_wr(): max_inline",
	 "ibv_post_send(qp 0x*): wr_id 1: 4096 inline bytes are above 64, the max_inline_data "
	 "of the queue pair (EINVAL)"},
	{"full queue", send_to_full_queue, ENOMEM, "Linux post_one_send(): queue_full()",
	 "ibv_post_send(qp 0x*): wr_id 99: the send queue is full: 64 requests (max_send_wr); "
	 "poll completions, and signal at least one request of each queue length (ENOMEM)"},
	{"receive of 9 entries", receive_of_many_entries, EINVAL, "Linux post_one_recv(): max_sge",
	 "ibv_post_recv(qp 0x*): wr_id 0: num_sge 9, the queue was created for 0 to 4 "
	 "(max_recv_sge) (EINVAL)"},
	{"receive beside an SRQ", receive_beside_srq, EINVAL, "Linux rxe_post_recv(): qp->srq",
	 "ibv_post_recv(qp 0x*): the queue pair has no receive queue of its own: post to its "
	 "SRQ (EINVAL)"},
	{"receive in RESET", receive_in_reset, EINVAL, "ibv_post_recv(3); Linux rxe_post_recv()",
	 "ibv_post_recv(qp 0x*): the queue pair is in RESET: move it to INIT first (EINVAL)"},
};

const unsigned verbs_refusal_count = COUNT(verbs_refusals);

int open_verbs_objects(void **state)
{
	pair_open(&p, &(struct options){.srq = true, .rnr_retry = 7, .min_rnr_timer = 31});
	pair_open(&fresh, &(struct options){.unconnected = true});
	pair_open(&ud, &(struct options){.type = IBV_QPT_UD, .unconnected = true});
	assert_int_equal(ibv_attach_mcast(ud.b.qp, &group, 0), 0);
	return 0;
}

int close_verbs_objects(void **state)
{
	assert_int_equal(ibv_detach_mcast(ud.b.qp, &group, 0), 0);
	pair_close(&ud);
	pair_close(&fresh);
	pair_close(&p);
	return 0;
}
