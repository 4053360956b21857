/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Injected faults: queries the engine's injector. */
#include "nic/engine/inject.h"
#include "nic/responder/payload.h"
#include "nic/fast/unusual.h"

void adv_engine_set_injector(struct adv_engine *e, adv_injector *fn, void *user)
{
	e->injector = fn;
	e->injector_user = user;
	adv_list_for_each(struct adv_qp, qp, &e->qps, node) {
		adv_qp_review(qp);
	}
}

/* Returns the BTH opcode of a packet that carries such a request as a whole. */
static uint8_t packet_opcode_of(const struct adv_qp *qp, uint8_t wr_opcode)
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

static uint32_t ask_injector(const struct adv_engine *e, enum adv_injection what,
			     const struct adv_work *work)
{
	return e->injector(e->injector_user, what, work);
}

uint32_t adv_inject_send(const struct adv_qp *qp, enum adv_injection what, uint8_t wr_opcode)
{
	struct adv_work work = {ADV_WORK_SEND, qp->qpn, packet_opcode_of(qp, wr_opcode)};

	return ask_injector(qp->engine, what, &work);
}

uint32_t adv_inject_recv(const struct adv_engine *e, const struct adv_qp *qp,
			 enum adv_injection what, uint8_t opcode)
{
	struct adv_work work = {ADV_WORK_RECV, qp ? qp->qpn : 0, opcode};

	if (!qp || qp->srq)
		work.queue = ADV_WORK_SHARED;
	return ask_injector(e, what, &work);
}

/* Bytes at the end of a torn payload, which become visible first. Cards place so few at once. */
#define TORN_END 8u

void adv_inject_store(const struct adv_qp *qp, enum adv_work_queue queue, uint8_t *to,
		      const uint8_t *from, uint32_t length)
{
	const struct adv_work work = {queue, qp->qpn, ADV_WORK_NO_OPCODE};
	const uint32_t begin = length > TORN_END ? length - TORN_END : 0;

	if (!begin || !ask_injector(qp->engine, ADV_INJECT_TEAR, &work)) {
		adv_payload_store(to, from, length);
		return;
	}
	adv_payload_store(to + begin, from + begin, TORN_END);
	(void)ask_injector(qp->engine, ADV_INJECT_TORN, &work);
	adv_payload_store(to, from, begin);
}
