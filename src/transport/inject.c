/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults on purpose: what is asked of the injector, if there is one. Callers have looked. */
#include "base/async.h"
#include "transport/internal.h"

void adv_engine_set_injector(struct adv_engine *e, adv_injector *fn, void *user)
{
	e->injector = fn;
	e->injector_user = user;
}

/* The opcode of a packet that carries out such a request, as if it were of one packet. */
static uint8_t opcode_of(const struct adv_qp *qp, uint8_t wr_opcode)
{
	uint8_t op;

	switch ((int)wr_opcode) {
	case IBV_WR_SEND:
		op = ADV_OP_SEND_ONLY;
		break;
	case IBV_WR_SEND_WITH_IMM:
		op = ADV_OP_SEND_ONLY_WITH_IMM;
		break;
	case IBV_WR_SEND_WITH_INV:
		op = ADV_OP_SEND_ONLY_WITH_INV;
		break;
	case IBV_WR_RDMA_WRITE:
		op = ADV_OP_WRITE_ONLY;
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		op = ADV_OP_WRITE_ONLY_WITH_IMM;
		break;
	case IBV_WR_RDMA_READ:
		op = ADV_OP_READ_REQUEST;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		op = ADV_OP_COMPARE_SWAP;
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		op = ADV_OP_FETCH_ADD;
		break;
	case ADV_WR_FLUSH:
		op = ADV_OP_FLUSH;
		break;
	case ADV_WR_ATOMIC_WRITE:
		op = ADV_OP_ATOMIC_WRITE;
		break;
	default:
		return ADV_WORK_NO_OPCODE;
	}
	return qp->service | op;
}

static uint32_t ask(const struct adv_engine *e, enum adv_injection what,
		    const struct adv_work *work)
{
	return e->injector(e->injector_user, what, work);
}

uint32_t adv_inject_send(const struct adv_qp *qp, enum adv_injection what, uint8_t wr_opcode)
{
	struct adv_work work = {ADV_WORK_SEND, qp->qpn, opcode_of(qp, wr_opcode)};

	return ask(qp->engine, what, &work);
}

uint32_t adv_inject_recv(const struct adv_qp *qp, const struct adv_srq *srq,
			 enum adv_injection what, uint8_t opcode)
{
	struct adv_work work = {ADV_WORK_RECV, qp ? qp->qpn : 0, opcode};

	if (srq || qp->srq)
		work.queue = ADV_WORK_SHARED;
	return ask(qp ? qp->engine : srq->pd->engine, what, &work);
}

/* ---- events ---- */

struct raising {
	struct adv_engine *engine;
	uint64_t now;
	enum ibv_event_type type;
	uint32_t qpn_first;
	uint32_t qpn_last;
};

static bool is_meant(const struct raising *r, const struct adv_qp *qp)
{
	return qp->qpn >= r->qpn_first && qp->qpn <= r->qpn_last;
}

/* A QP that is meant uses the CQ or SRQ. */
static bool is_used(const struct raising *r, const void *object)
{
	if (r->qpn_first == 0 && r->qpn_last == UINT32_MAX)
		return true;
	adv_list_for_each(const struct adv_qp, qp, &r->engine->qps, node) {
		if (is_meant(r, qp) &&
		    (qp->send_cq == object || qp->recv_cq == object || qp->srq == object))
			return true;
	}
	return false;
}

static unsigned raise_of_qps(const struct raising *r)
{
	unsigned count = 0;

	adv_list_for_each(struct adv_qp, qp, &r->engine->qps, node) {
		bool fails = r->type == IBV_EVENT_QP_FATAL || r->type == IBV_EVENT_QP_REQ_ERR ||
			     r->type == IBV_EVENT_QP_ACCESS_ERR;

		if (!is_meant(r, qp) || qp->state < IBV_QPS_RTR)
			continue;
		adv_async_event(r->engine, r->type, qp, NULL, NULL, ADV_ERR_NONE);
		if (fails && qp->state != IBV_QPS_ERR)
			adv_qp_enter_error(qp, r->now);
		count++;
	}
	return count;
}

static unsigned raise_of_cqs(const struct raising *r)
{
	unsigned count = 0;

	adv_list_for_each(struct adv_cq, cq, &r->engine->cqs, node) {
		if (!is_used(r, cq))
			continue;
		adv_async_event(r->engine, r->type, NULL, cq, NULL, ADV_ERR_NONE);
		cq->overrun = true;
		count++;
	}
	return count;
}

static unsigned raise_of_srqs(const struct raising *r)
{
	unsigned count = 0;

	adv_list_for_each(struct adv_srq, srq, &r->engine->srqs, node) {
		if (!is_used(r, srq))
			continue;
		adv_async_event(r->engine, r->type, NULL, NULL, srq, ADV_ERR_NONE);
		count++;
	}
	return count;
}

unsigned adv_engine_raise(struct adv_engine *e, uint64_t now, enum ibv_event_type type,
			  uint32_t qpn_first, uint32_t qpn_last)
{
	const struct raising r = {e, now, type, qpn_first, qpn_last};

	switch (adv_async_object_of(type)) {
	case ADV_ASYNC_CQ:
		return raise_of_cqs(&r);
	case ADV_ASYNC_SRQ:
		return raise_of_srqs(&r);
	default:
		return raise_of_qps(&r);
	}
}
