/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: their life, their queues, posting and completing. What the requests do on
 * the wire is in requester.c, completer.c, responder.c and datagram.c.
 */
#include <stdlib.h>

#include "base/probe.h"
#include "transport/flow.h"

/* ---- create and destroy ---- */

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static int service_of(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return ADV_SERVICE_RC;
	case IBV_QPT_UC:
		return ADV_SERVICE_UC;
	case IBV_QPT_UD:
		return ADV_SERVICE_UD;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return ADV_SERVICE_XRC;
	default:
		return -1;
	}
}

/* Leaves in the configuration what the type has (A14.3: XRC_SEND receives nothing, XRC_RECV takes
 * everything from the SRQs of its domain). */
static void drop_unused(struct adv_qp_config *c)
{
	if (c->type != IBV_QPT_XRC_RECV)
		c->xrcd = NULL;
	if (c->type == IBV_QPT_XRC_SEND) {
		c->recv_cq = c->send_cq;
		c->srq = NULL;
		c->cap.max_recv_wr = c->cap.max_recv_sge = 0;
	} else if (c->type == IBV_QPT_XRC_RECV) {
		c->pd = NULL;
		c->send_cq = c->recv_cq = NULL;
		c->srq = NULL;
		memset(&c->cap, 0, sizeof(c->cap));
	}
}

static int check_config(const struct adv_qp_config *c)
{
	if (service_of(c->type) < 0)
		return EOPNOTSUPP;
	if (c->type == IBV_QPT_XRC_RECV)
		return c->xrcd ? 0 : EINVAL;
	if (!c->pd || !c->send_cq || !c->recv_cq)
		return EINVAL;
	if (c->cap.max_send_wr > ADV_MAX_QP_WR || c->cap.max_send_sge > ADV_MAX_SGE ||
	    c->cap.max_inline_data > ADV_MAX_INLINE)
		return EINVAL;
	if (!c->srq && (c->cap.max_recv_wr > ADV_MAX_QP_WR || c->cap.max_recv_sge > ADV_MAX_SGE))
		return EINVAL;
	return 0;
}

/* What was asked for, rounded up to what it costs; zero stays zero: no such queue. */
static void size_queues(struct adv_qp *qp, struct ibv_qp_cap *cap)
{
	uint32_t data = cap->max_send_sge * (uint32_t)sizeof(struct ibv_sge);

	if (data < cap->max_inline_data)
		data = cap->max_inline_data;
	data = (data + 15) & ~15u;
	qp->sq.size = cap->max_send_wr ? power_of_two(cap->max_send_wr) : 0;
	qp->sq.max_sge = cap->max_send_sge;
	/* the room of scatter/gather entries holds data as well: programs count on some */
	qp->sq.max_inline = cap->max_inline_data = data;
	qp->sq.stride = (uint32_t)sizeof(struct adv_send_wqe) + data;
	cap->max_send_wr = qp->sq.size;
	if (qp->srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	}
	qp->rq.size = cap->max_recv_wr ? power_of_two(cap->max_recv_wr) : 0;
	qp->rq.max_sge = cap->max_recv_sge;
	qp->rq.stride = (uint32_t)(sizeof(struct adv_recv_wqe) +
				   cap->max_recv_sge * sizeof(struct ibv_sge));
	cap->max_recv_wr = qp->rq.size;
}

/* What is in use as long as the QP is there. */
static void hold(struct adv_qp *qp)
{
	if (qp->xrcd) {
		qp->xrcd->users++;
		return;
	}
	qp->pd->users++;
	qp->send_cq->users++;
	qp->recv_cq->users++;
	if (qp->srq)
		qp->srq->users++;
}

static void release(struct adv_qp *qp)
{
	if (qp->xrcd) {
		qp->xrcd->users--;
		return;
	}
	qp->pd->users--;
	qp->send_cq->users--;
	qp->recv_cq->users--;
	if (qp->srq)
		qp->srq->users--;
}

struct adv_qp *adv_qp_create(struct adv_engine *e, struct adv_qp_config *config)
{
	struct adv_qp *qp;

	drop_unused(config);
	errno = check_config(config);
	if (errno)
		return NULL;
	errno = ENOMEM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	if (adv_timers_reserve(e)) {
		free(qp);
		return NULL;
	}
	if (adv_qpn_take(e, qp)) {
		adv_timers_release(e);
		free(qp);
		errno = ENOMEM;
		return NULL;
	}
	qp->engine = e;
	qp->type = config->type;
	qp->service = (uint8_t)service_of(qp->type);
	qp->reliable = qp->service == ADV_SERVICE_RC || qp->service == ADV_SERVICE_XRC;
	qp->xrcd = config->xrcd;
	qp->pd = config->pd;
	qp->send_cq = config->send_cq;
	qp->recv_cq = config->recv_cq;
	qp->srq = config->srq;
	qp->user = config->user;
	qp->sq_sig_all = config->sq_sig_all;
	size_queues(qp, &config->cap);
	qp->attr.cap = config->cap;
	qp->state = IBV_QPS_RESET;
	adv_timer_init(&qp->req.timer, adv_requester_timer);
	adv_list_init(&qp->tx_node);
	adv_list_init(&qp->delay_node);
	adv_list_init(&qp->stall_node);
	adv_list_init(&qp->windows);
	adv_list_add_tail(&e->qps, &qp->node);
	hold(qp);
	return qp;
}

bool adv_qp_in_use(const struct adv_qp *qp)
{
	return adv_mcast_is_member(qp);
}

int adv_qp_destroy(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;

	if (adv_qp_in_use(qp))
		return EBUSY;
	adv_qp_clear(qp);
	adv_timer_remove(e, &qp->req.timer);
	adv_timers_release(e);
	adv_async_forget(e, qp);
	adv_qpn_give_back(e, qp->qpn);
	adv_list_del(&qp->node);
	release(qp);
	free(qp);
	return 0;
}

void adv_ah_destroy(struct adv_ah *ah)
{
	ah->destroyed = true;
	if (ah->outstanding == 0)
		free(ah);
}

static void put_ah(struct adv_engine *e, struct adv_ah *ah)
{
	if (--ah->outstanding || !ah->destroyed)
		return;
	ah->next = e->dead_ahs;
	e->dead_ahs = ah;
}

void adv_ahs_free(struct adv_engine *e)
{
	while (e->dead_ahs) {
		struct adv_ah *ah = e->dead_ahs;

		e->dead_ahs = ah->next;
		free(ah);
	}
}

/* Lets go of a half-received message's request without a completion. */
static void drop_recv(struct adv_qp *qp)
{
	if (qp->resp.recv && qp->srq)
		adv_srq_release(qp->srq, qp->resp.recv);
	qp->resp.recv = NULL;
}

void adv_qp_clear(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;
	struct adv_timer timer;

	adv_flow_free(qp); /* its timer goes, and others may move */
	drop_recv(qp);
	adv_mw_forget(qp);
	for (; qp->type == IBV_QPT_UD && qp->sq.tail != qp->sq.head; qp->sq.tail++)
		put_ah(e, adv_send_wqe_at(qp, qp->sq.tail)->ah);
	if (!qp->xrcd) {
		adv_cq_purge(qp->send_cq, qp);
		adv_cq_purge(qp->recv_cq, qp);
	}
	adv_timer_cancel(e, &qp->req.timer);
	timer = qp->req.timer;
	adv_list_del(&qp->tx_node);
	adv_list_del(&qp->stall_node);
	/* Gives its share of the common window back, and others may be waiting for it. */
	if (qp->reliable)
		adv_requester_abandon(qp);
	free(qp->sq.ring);
	free(qp->rq.ring);
	free(qp->req.rd_end);
	free(qp->resp.res);
	qp->sq.ring = NULL;
	qp->rq.ring = NULL;
	qp->sq.head = qp->sq.next = qp->sq.tail = qp->sq.freed = 0;
	qp->rq.head = qp->rq.next = qp->rq.freed = 0;
	memset(&qp->req, 0, sizeof(qp->req));
	adv_list_del(&qp->delay_node);
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->req.timer = timer;
	qp->last_wqe_reported = false;
	qp->state = IBV_QPS_RESET;
}

uint32_t adv_qp_num(const struct adv_qp *qp)
{
	return qp->qpn;
}

enum ibv_qp_state adv_qp_state(const struct adv_qp *qp)
{
	return qp->state;
}

uint32_t adv_qp_rate_limit(struct adv_qp *qp, uint64_t now)
{
	return (uint32_t)((adv_flow_rate(qp, now) + 999) / 1000);
}

void *adv_qp_user(const struct adv_qp *qp)
{
	return qp->user;
}

void adv_qp_set_user(struct adv_qp *qp, void *user)
{
	qp->user = user;
}

void adv_qp_schedule(struct adv_qp *qp)
{
	if (adv_list_empty(&qp->tx_node))
		adv_list_add_tail(&qp->engine->tx_ready, &qp->tx_node);
}

/* ---- completing ---- */

void adv_qp_release_slots(struct adv_qp *qp, bool is_recv, uint32_t release)
{
	uint32_t *freed = is_recv ? &qp->rq.freed : &qp->sq.freed;

	if ((int32_t)(release - *freed) > 0)
		*freed = release;
}

static enum ibv_wc_opcode wc_opcode(uint8_t wr_opcode)
{
	switch ((int)wr_opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case ADV_WR_FLUSH:
		return ADV_WC_FLUSH;
	case ADV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

void adv_qp_complete_send(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			  uint64_t now)
{
	const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.tail);
	struct adv_cqe cqe = {.timestamp = now, .qp = qp, .release = qp->sq.tail + 1};

	assert(qp->sq.tail != qp->sq.head);
	if (status == IBV_WC_SUCCESS && qp->engine->injector) {
		status = adv_inject_send(qp, ADV_INJECT_COMPLETION, wqe->opcode);
		if (status != IBV_WC_SUCCESS) {
			adv_requester_fail(qp, status, ADV_ERR_INJECTED, now);
			return;
		}
	}
	if (qp->sq.next == qp->sq.tail)
		qp->sq.next++;
	qp->sq.tail++;
	if (wqe->ah)
		put_ah(qp->engine, wqe->ah);
	if (status == IBV_WC_SUCCESS && !qp->sq_sig_all && !(wqe->send_flags & IBV_SEND_SIGNALED))
		return;
	cqe.wc.wr_id = wqe->wr_id;
	cqe.wc.status = status;
	cqe.wc.vendor_err = why;
	cqe.wc.opcode = wc_opcode(wqe->opcode);
	cqe.wc.byte_len = wqe->length;
	cqe.wc.qp_num = qp->qpn;
	if (status != IBV_WC_SUCCESS)
		qp->engine->counters.req_cqe_error++;
	if (!adv_cq_push(qp->send_cq, &cqe, false, now) && qp->state != IBV_QPS_ERR)
		adv_qp_fatal(qp, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN, now);
}

struct adv_recv_wqe *adv_qp_take_recv(struct adv_qp *qp)
{
	if (qp->engine->injector &&
	    adv_inject_recv(qp, NULL, ADV_INJECT_NOT_READY, ADV_WORK_NO_OPCODE))
		return NULL;
	if (qp->srq)
		return adv_srq_take(qp->srq);
	if (qp->rq.next == qp->rq.head)
		return NULL;
	return adv_recv_wqe_at(qp, qp->rq.next++);
}

void adv_qp_complete_recv(struct adv_qp *qp, struct adv_recv_wqe *wqe, struct ibv_wc *wc,
			  bool solicited, uint64_t now)
{
	struct adv_cqe cqe = {.timestamp = now, .release = qp->rq.next, .is_recv = true};

	/* What is in the CQ of an XRC SRQ stays when the QP goes. */
	cqe.qp = qp->xrcd ? NULL : qp;
	wc->wr_id = wqe->wr_id;
	wc->qp_num = qp->qpn;
	cqe.wc = *wc;
	if (qp->srq)
		adv_srq_release(qp->srq, wqe);
	if (wc->status != IBV_WC_SUCCESS)
		qp->engine->counters.resp_cqe_error++;
	if (!adv_cq_push(qp->recv_cq, &cqe, solicited, now) && qp->state != IBV_QPS_ERR)
		adv_qp_fatal(qp, IBV_EVENT_QP_FATAL, ADV_ERR_CQ_OVERRUN, now);
}

/* All that was posted and has not completed, oldest first (IBTA 10.3.1.7). */
static void flush_send(struct adv_qp *qp, uint64_t now)
{
	while (qp->sq.tail != qp->sq.head)
		adv_qp_complete_send(qp, IBV_WC_WR_FLUSH_ERR, ADV_ERR_FLUSHED, now);
}

static void flush_one_recv(struct adv_qp *qp, struct adv_recv_wqe *wqe, uint64_t now)
{
	struct ibv_wc wc = {.status = IBV_WC_WR_FLUSH_ERR,
			    .vendor_err = ADV_ERR_FLUSHED,
			    .opcode = IBV_WC_RECV};

	adv_qp_complete_recv(qp, wqe, &wc, false, now);
}

static void flush_recv(struct adv_qp *qp, uint64_t now)
{
	struct adv_recv_wqe *taken = qp->resp.recv;

	qp->resp.recv = NULL;
	if (taken)
		flush_one_recv(qp, taken, now);
	while (!qp->srq && qp->rq.next != qp->rq.head)
		flush_one_recv(qp, adv_recv_wqe_at(qp, qp->rq.next++), now);
	if ((qp->srq || qp->xrcd) && !qp->last_wqe_reported) {
		qp->last_wqe_reported = true;
		adv_async_event(qp->engine, IBV_EVENT_QP_LAST_WQE_REACHED, qp, NULL, NULL,
				ADV_ERR_NONE);
	}
}

/* Forgets what is in flight: nothing of it will be answered to any more. */
static void stop_sending(struct adv_qp *qp)
{
	if (qp->reliable)
		adv_requester_abandon(qp);
	adv_list_del(&qp->stall_node);
	qp->req.offset = 0;
	adv_timer_cancel(qp->engine, &qp->req.timer);
}

void adv_qp_enter_error(struct adv_qp *qp, uint64_t now)
{
	qp->state = IBV_QPS_ERR;
	stop_sending(qp);
	if (!qp->resp.dead) {
		adv_list_del(&qp->tx_node);
		adv_responder_forget_ack(qp);
		qp->resp.res_pending = 0;
	}
	flush_send(qp, now);
	flush_recv(qp, now);
}

void adv_qp_enter_sqe(struct adv_qp *qp, uint64_t now)
{
	qp->state = IBV_QPS_SQE;
	stop_sending(qp);
	flush_send(qp, now);
}

void adv_qp_fatal(struct adv_qp *qp, enum ibv_event_type type, enum adv_vendor_err why,
		  uint64_t now)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	adv_async_event(qp->engine, type, qp, NULL, NULL, why);
	adv_qp_enter_error(qp, now);
}

/* ---- posting ---- */

/* One bit an opcode that the transport has (IBTA table 70). */
static uint32_t opcodes_of(enum ibv_qp_type type)
{
	uint32_t send = 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM;
	uint32_t write = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM;
	uint32_t read = 1u << IBV_WR_RDMA_READ | 1u << IBV_WR_ATOMIC_CMP_AND_SWP |
			1u << IBV_WR_ATOMIC_FETCH_AND_ADD | 1u << ADV_WR_FLUSH |
			1u << ADV_WR_ATOMIC_WRITE | 1u << IBV_WR_SEND_WITH_INV;
	uint32_t local = 1u << IBV_WR_BIND_MW | 1u << ADV_WR_BIND_TYPE_1 | 1u << IBV_WR_LOCAL_INV;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return send | write | read | local;
	case IBV_QPT_UC:
		return send | write | local;
	case IBV_QPT_UD:
		return send;
	default:
		return 0;
	}
}

#define INLINE_OPCODES                                                                             \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV |             \
	 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM)

/* The new key names the window; type 1 has a call of its own, and its region may be none. */
static bool bind_good(const struct ibv_send_wr *wr)
{
	enum ibv_mw_type type = wr->opcode == IBV_WR_BIND_MW ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1;

	if (!wr->bind_mw.mw || wr->bind_mw.mw->type != type)
		return false;
	return (wr->bind_mw.rkey ^ wr->bind_mw.mw->rkey) >> 8 == 0 &&
	       (wr->bind_mw.bind_info.mr || !wr->bind_mw.bind_info.length);
}

static int check_send_wr(const struct adv_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t op = (uint32_t)wr->opcode;

	if (op > 31 || !(opcodes_of(qp->type) & (1u << op)))
		return EINVAL;
	if (wr->num_sge < 0 || (wr->num_sge > 0 && !wr->sg_list))
		return EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) && !(INLINE_OPCODES & (1u << op)))
		return EINVAL;
	if ((uint32_t)wr->num_sge > qp->sq.max_sge && !(wr->send_flags & IBV_SEND_INLINE))
		return EINVAL;
	if (qp->type == IBV_QPT_UD && !wr->wr.ud.ah)
		return EINVAL;
	if ((op == IBV_WR_BIND_MW || op == (uint32_t)ADV_WR_BIND_TYPE_1) && !bind_good(wr))
		return EINVAL;
	return 0;
}

/* Inline data is the caller's again when the post returns: copied here, keys not looked at. */
static int copy_inline(const struct adv_qp *qp, struct adv_send_wqe *wqe,
		       const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)wqe->sge;
	uint64_t total = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		total += wr->sg_list[i].length;
		if (total > qp->sq.max_inline)
			return EINVAL;
	}
	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
	wqe->num_sge = 0;
	wqe->length = (uint32_t)total;
	return 0;
}

/* A length that cannot be served: the request completes with an error in its turn. */
static void mark_bad_length(struct adv_send_wqe *wqe, enum adv_vendor_err why)
{
	wqe->failed = true;
	wqe->status = IBV_WC_LOC_LEN_ERR;
	wqe->vendor_err = (uint8_t)why;
}

static void copy_sges(struct adv_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	uint64_t total = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		wqe->sge[i] = wr->sg_list[i];
		total += wr->sg_list[i].length;
	}
	wqe->num_sge = (uint8_t)wr->num_sge;
	wqe->length = (uint32_t)total;
	if (total > ADV_MAX_MSG) {
		wqe->length = 0;
		mark_bad_length(wqe, ADV_ERR_MESSAGE_TOO_LONG);
	}
}

/* The part of a request that depends on its opcode. */
static void fill_operation(const struct adv_qp *qp, struct adv_send_wqe *wqe,
			   const struct ibv_send_wr *wr)
{
	if (qp->type == IBV_QPT_UD) {
		wqe->ah = adv_container_of(wr->wr.ud.ah, struct adv_ah, ibv);
		wqe->remote_qpn = wr->wr.ud.remote_qpn & ADV_QPN_MASK;
		wqe->remote_qkey = wr->wr.ud.remote_qkey;
		return;
	}
	if (qp->type == IBV_QPT_XRC_SEND)
		wqe->remote_qpn = wr->qp_type.xrc.remote_srqn & ADV_QPN_MASK;
	switch ((int)wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (wqe->length < sizeof(uint64_t))
			mark_bad_length(wqe, ADV_ERR_ATOMIC_TOO_SMALL);
		wqe->length = sizeof(uint64_t);
		/* fall through */
	case ADV_WR_FLUSH:
	case ADV_WR_ATOMIC_WRITE:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
		wqe->rkey = wr->wr.atomic.rkey;
		break;
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
		wqe->rkey = wr->bind_mw.rkey;
		wqe->remote_addr = wr->bind_mw.bind_info.addr;
		wqe->compare_add = wr->bind_mw.bind_info.length;
		wqe->swap = wr->bind_mw.bind_info.mw_access_flags;
		if (wr->bind_mw.bind_info.mr)
			wqe->remote_qkey = wr->bind_mw.bind_info.mr->lkey;
		break;
	default:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
}

static int fill_send(struct adv_qp *qp, struct adv_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	int err = check_send_wr(qp, wr);

	if (err)
		return err;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->send_flags = (uint8_t)wr->send_flags;
	wqe->imm = wr->imm_data;
	if (wr->send_flags & IBV_SEND_INLINE)
		err = copy_inline(qp, wqe, wr);
	else
		copy_sges(wqe, wr);
	if (err)
		return err;
	fill_operation(qp, wqe, wr);
	return 0;
}

/* The ring is made when first needed: idle QPs cost their state only. */
static int make_ring(uint8_t **ring, uint32_t size, uint32_t stride)
{
	if (*ring)
		return 0;
	if (size == 0)
		return ENOMEM;
	*ring = calloc(size, stride);
	return *ring ? 0 : ENOMEM;
}

static int post_one_send(struct adv_qp *qp, const struct ibv_send_wr *wr)
{
	struct adv_send_wqe *wqe;
	int err;

	if (qp->sq.head - qp->sq.freed >= qp->sq.size)
		return ENOMEM;
	wqe = adv_send_wqe_at(qp, qp->sq.head);
	err = fill_send(qp, wqe, wr);
	if (!err && qp->engine->injector)
		err = (int)adv_inject_send(qp, ADV_INJECT_POST, wqe->opcode);
	if (err)
		return err;
	if (qp->reliable && adv_wqe_wants_response(wqe) && adv_requester_reserve(qp))
		return ENOMEM;
	if (wqe->ah)
		wqe->ah->outstanding++;
	qp->sq.head++;
	ADV_PROBE(post_send, qp->qpn, wqe->wr_id, wqe->opcode, wqe->length);
	return 0;
}

int adv_qp_post_send(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr)
{
	int err = 0;

	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT || qp->state == IBV_QPS_RTR ||
	    qp->xrcd)
		err = EINVAL;
	else
		err = make_ring(&qp->sq.ring, qp->sq.size, qp->sq.stride);
	for (; wr && !err; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err)
			break;
	}
	if (err)
		*bad_wr = wr;
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		flush_send(qp, now);
	else if (qp->sq.next != qp->sq.head)
		adv_qp_schedule(qp);
	adv_ack_posted(qp, now);
	return err;
}

int adv_qp_post_recv(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr)
{
	int err = 0;

	if (qp->srq || qp->service == ADV_SERVICE_XRC || qp->state == IBV_QPS_RESET)
		err = EINVAL;
	else
		err = make_ring(&qp->rq.ring, qp->rq.size, qp->rq.stride);
	for (; wr && !err; wr = wr->next) {
		if (qp->rq.head - qp->rq.freed >= qp->rq.size)
			err = ENOMEM;
		else
			err = adv_recv_wqe_fill(adv_recv_wqe_at(qp, qp->rq.head), qp->rq.max_sge,
						wr);
		if (!err && qp->engine->injector)
			err = (int)adv_inject_recv(qp, NULL, ADV_INJECT_POST, ADV_WORK_NO_OPCODE);
		if (err)
			break;
		qp->rq.head++;
	}
	if (err)
		*bad_wr = wr;
	if (qp->state == IBV_QPS_ERR)
		flush_recv(qp, now);
	return err;
}
