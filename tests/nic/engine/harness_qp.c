/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs of the harness: creating, connecting, posting, polling. */
#include <stdlib.h>

#include "harness.h"
#include "nic/queue/srq.h"

struct options options_default(enum ibv_qp_type type)
{
	struct options o = {
		.type = type,
		.mtu = IBV_MTU_1024,
		.psn = {0x1000, 0x2000},
		.timeout = 10, /* 4.2 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1, /* 10 us */
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.access = ALL_ACCESS,
		.qkey = 0x11111111,
		.sig_all = true,
		.cap = {.max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 32,
			.max_recv_sge = 32,
			.max_inline_data = 64},
		.cqe = 256,
	};

	return o;
}

static void make_logs(struct end *end)
{
	end->sends = calloc(END_LOG, sizeof(*end->sends));
	end->recvs = calloc(END_LOG, sizeof(*end->recvs));
	end->posted = calloc(END_LOG, sizeof(*end->posted));
	end->recv_ids = calloc(END_LOG, sizeof(*end->recv_ids));
	assert_true(end->sends && end->recvs && end->posted && end->recv_ids);
}

static struct adv_srq *make_xrc_srq(struct end *end, const struct options *o, struct adv_xrcd *xrcd)
{
	struct ibv_srq_attr attr = {.max_wr = o->cap.max_recv_wr, .max_sge = o->cap.max_recv_sge};
	struct adv_srq *srq = adv_srq_create_xrc(end->node->pd, xrcd, end->rcq, &attr, end);

	assert_non_null(srq);
	assert_int_not_equal(adv_srq_number(srq), 0);
	return srq;
}

struct end *end_open(struct node *node, const struct options *o, struct adv_srq *srq)
{
	struct net *net = node->net;
	struct end *end = calloc(1, sizeof(*end));
	struct adv_qp_config c = {.type = o->type,
				  .pd = node->pd,
				  .srq = srq,
				  .xrcd = o->xrcd ? o->xrcd : node->xrcd,
				  .cap = o->cap,
				  .sq_sig_all = o->sig_all,
				  .block_self_multicast = o->block_self_multicast,
				  .user = end};

	assert_non_null(end);
	end->net = net;
	end->node = node;
	end->srq = srq;
	end->sig_all = o->sig_all;
	make_logs(end);
	end->scq = adv_cq_create(node->e, o->cqe, end);
	end->rcq = adv_cq_create(node->e, o->cqe, end);
	assert_true(end->scq && end->rcq);
	c.send_cq = end->scq;
	c.recv_cq = end->rcq;
	if (o->type == IBV_QPT_XRC_RECV)
		end->srq = make_xrc_srq(end, o, c.xrcd);
	end->qp = adv_qp_create(node->e, &c);
	assert_non_null(end->qp);
	assert_ptr_equal(adv_qp_user(end->qp), end);
	if (o->type == IBV_QPT_XRC_RECV)
		assert_int_equal(c.cap.max_send_wr, 0);
	else
		assert_true(c.cap.max_send_wr >= o->cap.max_send_wr);
	assert_true(net->end_count < NET_ENDS);
	net->ends[net->end_count++] = end;
	return end;
}

void end_close(struct end *end)
{
	bool xrc_recv = end->qp->type == IBV_QPT_XRC_RECV;

	assert_int_equal(adv_cq_destroy(xrc_recv ? end->rcq : end->scq), EBUSY);
	assert_int_equal(adv_qp_destroy(end->qp), 0);
	end->qp = NULL;
	if (xrc_recv)
		assert_int_equal(adv_srq_destroy(end->srq), 0);
	assert_true(adv_cq_empty(end->scq) && adv_cq_empty(end->rcq));
	assert_int_equal(adv_cq_destroy(end->scq), 0);
	assert_int_equal(adv_cq_destroy(end->rcq), 0);
}

int end_to_init(struct end *end, const struct options *o)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.pkey_index = o->pkey_index,
				.qp_access_flags = o->access,
				.qkey = o->qkey};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= o->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return adv_qp_modify(end->qp, end->net->now, &a, mask);
}

int end_to_rtr(struct end *end, const struct options *o, const struct end *peer, uint32_t rq_psn)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = o->mtu,
				.rq_psn = rq_psn,
				.max_dest_rd_atomic = o->max_dest_rd_atomic,
				.min_rnr_timer = o->min_rnr_timer};
	int mask = IBV_QP_STATE;

	if (o->type != IBV_QPT_UD) {
		a.dest_qp_num = adv_qp_num(peer->qp);
		a.ah_attr.is_global = 1;
		a.ah_attr.port_num = 1;
		a.ah_attr.grh.hop_limit = 64;
		a.ah_attr.grh.sgid_index = o->ipv4;
		memcpy(a.ah_attr.grh.dgid.raw, peer->node->gid[o->ipv4].raw, 16);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (end->qp->type == IBV_QPT_RC || end->qp->type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (end->qp->type == IBV_QPT_XRC_SEND && peer->srq)
		end->remote_srqn = adv_srq_number(peer->srq);
	return adv_qp_modify(end->qp, end->net->now, &a, mask);
}

int end_to_rts(struct end *end, const struct options *o, uint32_t sq_psn)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.sq_psn = sq_psn,
				.timeout = o->timeout,
				.retry_cnt = o->retry_cnt,
				.rnr_retry = o->rnr_retry,
				.max_rd_atomic = o->max_rd_atomic};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (end->qp->type == IBV_QPT_RC || end->qp->type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	else if (end->qp->type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_TIMEOUT;
	return adv_qp_modify(end->qp, end->net->now, &a, mask);
}

int end_to_state(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};

	if (state == IBV_QPS_RESET) {
		end->posted_tail = end->posted_head;
		end->recv_tail = end->recv_head;
	}
	return adv_qp_modify(end->qp, end->net->now, &a, IBV_QP_STATE);
}

enum ibv_qp_state end_state(const struct end *end)
{
	return adv_qp_state(end->qp);
}

void ends_connect(struct end *a, struct end *b, const struct options *o)
{
	assert_int_equal(end_to_init(a, o), 0);
	assert_int_equal(end_to_init(b, o), 0);
	assert_int_equal(end_to_rtr(a, o, b, o->psn[1]), 0);
	assert_int_equal(end_to_rtr(b, o, a, o->psn[0]), 0);
	assert_int_equal(end_to_rts(a, o, o->psn[0]), 0);
	assert_int_equal(end_to_rts(b, o, o->psn[1]), 0);
}

void pair_open(struct net *net, const struct options *o, struct end **a, struct end **b)
{
	struct options recv = *o;

	recv.type = IBV_QPT_XRC_RECV;
	*a = end_open(&net->node[0], o, NULL);
	*b = end_open(&net->node[1], o->type == IBV_QPT_XRC_SEND ? &recv : o, o->srq);
	ends_connect(*a, *b, o);
}

/* ---- posting ---- */

struct wr *wr_make(struct wr *wr, int opcode, uint64_t wr_id, unsigned flags)
{
	memset(wr, 0, sizeof(*wr));
	wr->w.wr_id = wr_id;
	wr->w.opcode = (enum ibv_wr_opcode)opcode;
	wr->w.send_flags = flags;
	wr->w.sg_list = wr->sge;
	return wr;
}

void wr_sge(struct wr *wr, const struct region *r, uint64_t offset, uint32_t len)
{
	struct ibv_sge *sge = &wr->sge[wr->w.num_sge++];

	assert_true(wr->w.num_sge <= WR_SGES);
	sge->addr = r->iova + offset;
	sge->length = len;
	sge->lkey = r->key;
}

static bool is_atomic_shaped(int opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == ADV_WR_FLUSH || opcode == ADV_WR_ATOMIC_WRITE;
}

void wr_remote(struct wr *wr, const struct region *r, uint64_t offset)
{
	if (is_atomic_shaped(wr->w.opcode)) {
		wr->w.wr.atomic.remote_addr = r->iova + offset;
		wr->w.wr.atomic.rkey = r->key;
	} else {
		wr->w.wr.rdma.remote_addr = r->iova + offset;
		wr->w.wr.rdma.rkey = r->key;
	}
}

int end_send(struct end *end, struct wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int err;

	if (!wr->w.qp_type.xrc.remote_srqn)
		wr->w.qp_type.xrc.remote_srqn = end->remote_srqn;
	err = adv_qp_post_send(end->qp, end->net->now, &wr->w, &bad);
	if (err) {
		assert_ptr_equal(bad, &wr->w);
		return err;
	}
	end->posted[end->posted_head++ % END_LOG] = (struct posted){
		wr->w.wr_id, end->sig_all || (wr->w.send_flags & IBV_SEND_SIGNALED)};
	/* After the post the request belongs to the caller again, so the harness overwrites it. */
	memset(wr, 0xee, sizeof(*wr));
	return 0;
}

void end_op(struct end *end, int opcode, uint64_t wr_id, const struct region *local,
	    uint64_t offset, uint32_t len, const struct region *remote, uint64_t remote_offset)
{
	struct wr wr;

	wr_make(&wr, opcode, wr_id, 0);
	if (local && len)
		wr_sge(&wr, local, offset, len);
	if (remote)
		wr_remote(&wr, remote, remote_offset);
	assert_int_equal(end_send(end, &wr), 0);
}

int end_recv_sges(struct end *end, uint64_t wr_id, struct ibv_sge *sge, int num)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = sge, .num_sge = num};
	struct ibv_recv_wr *bad = NULL;
	int err;

	if (end->srq)
		err = adv_srq_post(end->srq, &wr, &bad);
	else
		err = adv_qp_post_recv(end->qp, end->net->now, &wr, &bad);
	if (err)
		assert_ptr_equal(bad, &wr);
	else
		end->recv_ids[end->recv_head++ % END_LOG] = wr_id;
	return err;
}

void end_recv(struct end *end, uint64_t wr_id, const struct region *r, uint64_t offset,
	      uint32_t len)
{
	struct ibv_sge sge = {.length = len};

	if (r) {
		sge.addr = r->iova + offset;
		sge.lkey = r->key;
	}
	assert_int_equal(end_recv_sges(end, wr_id, &sge, r ? 1 : 0), 0);
}

/* ---- completions ---- */

/* Checks that send requests complete in posting order. Only successful unsignaled requests have no
 * completion. */
static void check_send(struct end *end, const struct ibv_wc *wc)
{
	while (end->posted_tail != end->posted_head) {
		struct posted p = end->posted[end->posted_tail++ % END_LOG];

		if (p.wr_id == wc->wr_id) {
			assert_true(p.signaled || wc->status != IBV_WC_SUCCESS);
			return;
		}
		assert_false(p.signaled);
	}
	fail_msg("completion of a send request that was not posted: %llu",
		 (unsigned long long)wc->wr_id);
}

static void check_recv(struct end *end, const struct ibv_wc *wc)
{
	if (end->srq)
		return;
	assert_true(end->recv_tail != end->recv_head);
	assert_int_equal(end->recv_ids[end->recv_tail++ % END_LOG], wc->wr_id);
}

/* Checks that the table of causes lists this status for the cause. */
static void check_cause(const struct ibv_wc *wc)
{
	const struct adv_cause *cause = adv_cause(wc->vendor_err);

	assert_non_null(cause);
	if (!(cause->statuses & 1u << wc->status))
		fail_msg("status %d does not come with cause %u", (int)wc->status, wc->vendor_err);
}

void end_poll(struct end *end)
{
	struct ibv_wc wc;

	while (adv_cq_poll(end->scq, 1, &wc) == 1) {
		assert_int_equal(wc.qp_num, adv_qp_num(end->qp));
		check_cause(&wc);
		check_send(end, &wc);
		assert_true(end->send_count < END_LOG);
		end->sends[end->send_count++] = (struct completion){wc, end->net->now};
	}
	while (adv_cq_poll(end->rcq, 1, &wc) == 1) {
		/* Several QPs may deliver requests to one XRC SRQ. */
		if (!end->qp->xrcd)
			assert_int_equal(wc.qp_num, adv_qp_num(end->qp));
		check_cause(&wc);
		check_recv(end, &wc);
		assert_true(end->recv_count < END_LOG);
		end->recvs[end->recv_count++] = (struct completion){wc, end->net->now};
	}
}

static void expect(const struct completion *log, unsigned count, unsigned n, uint64_t wr_id,
		   enum ibv_wc_status status)
{
	if (n >= count)
		fail_msg("%u completions, one more is wanted", count);
	assert_int_equal(log[n].wc.wr_id, wr_id);
	assert_int_equal(log[n].wc.status, status);
}

void expect_send(const struct end *end, unsigned n, uint64_t wr_id, enum ibv_wc_status status)
{
	expect(end->sends, end->send_count, n, wr_id, status);
}

void expect_recv(const struct end *end, unsigned n, uint64_t wr_id, enum ibv_wc_status status)
{
	expect(end->recvs, end->recv_count, n, wr_id, status);
}
