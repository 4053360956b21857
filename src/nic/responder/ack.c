/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delays an ACK for a short time, until the program's next request (IBTA 9.7.5.1.2 lets a responder
 * coalesce ACKs). If two programs answer each other's messages, the ACK of a message is not urgent
 * and is sent together with the answer. A program may poll until its own request completes, and
 * then read the peer's answer from memory. One poll then finds both, and no thread has to be woken
 * to receive the ACK.
 *
 * The ACK is sent before the answer, unless no program can notice the order:
 * - the answer is a request that completes nothing at the peer; or
 * - the answer and the ACK share a datagram.
 * In these cases the ACK follows the answer and does not delay it. The order matters because the
 * ACK of a NIC arrives before any answer. Some programs rely on this order: after they receive a
 * message, they assume that their own message has completed.
 *
 * A queue pair delays ACKs only if its program recently answered within the delay, and only one ACK
 * at a time. An occasional late answer changes nothing: the machine may have been busy.
 */
#include "nic/responder/ack.h"

#define ANSWERS_WANTED 3  /* least score at which ACKs are delayed */
#define ANSWERS_MOST   16 /* highest score; an answer within the delay adds 1 */
/* Subtracted from the score for a late answer: the program may only have paused. */
#define LATE_COSTS 2

/* Bytes of a SEND whose packet is as long as an ACK. Only the last packet of a segmented datagram
 * may be shorter than the others, so the answer must not be shorter than the ACK. */
#define DATAGRAM_MIN 4

/* Takes the QP off the list of delayed ACKs, if it is there. */
static void end_delay(struct adv_qp *qp)
{
	struct adv_engine *e = qp->engine;

	if (!adv_responder_ack_waits(qp))
		return;
	adv_list_del(&qp->delay_node);
	if (adv_list_empty(&e->delayed))
		e->front.todo &= ~(uint32_t)ADV_TODO_ACK;
}

void adv_responder_ack_queue(struct adv_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct adv_responder *resp = &qp->resp;

	/* A repeated ACK must not replace a NAK for a later PSN. */
	if (resp->ack_pending && adv_psn_diff(psn, resp->ack_psn) < 0)
		return;
	resp->ack_pending = true;
	resp->ack_syndrome = syndrome;
	resp->ack_psn = psn;
	resp->ack_behind = false;
	end_delay(qp);
	adv_qp_schedule(qp);
}

void adv_responder_ack_forget(struct adv_qp *qp)
{
	qp->resp.ack_pending = false;
	qp->resp.ack_behind = false;
	end_delay(qp);
}

/* True if the ACK of a message that arrives now may be delayed. Notes the arrival. */
static bool may_delay(struct adv_qp *qp, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;

	if (!qp->engine->ack_delay)
		return false;
	/* The program has not answered the previous message. */
	if (resp->asked_at)
		resp->answers = 0;
	resp->asked_at = now ? now : 1;
	return resp->answers >= ANSWERS_WANTED && !resp->ack_pending && !resp->res_pending;
}

void adv_responder_ack_message(struct adv_qp *qp, uint32_t psn, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;
	bool wait = may_delay(qp, now);

	adv_responder_ack_queue(qp, ADV_AETH_ACK | ADV_AETH_NO_CREDITS, psn);
	if (!wait)
		return;
	resp->ack_due = now + qp->engine->ack_delay;
	adv_list_add_tail(&qp->engine->delayed, &qp->delay_node);
	qp->engine->front.todo |= ADV_TODO_ACK;
}

static void count_late(struct adv_responder *resp)
{
	resp->answers -= resp->answers < LATE_COSTS ? resp->answers : LATE_COSTS;
}

/* True if the ACK may be sent after the answer, which is the first unsent request. */
static bool may_go_behind(struct adv_qp *qp)
{
	const struct adv_send_wqe *wqe;

	if (qp->sq.next == qp->sq.head)
		return false;
	wqe = adv_send_wqe_at(qp, qp->sq.next);
	switch ((int)wqe->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return qp->peer_is_here && !qp->engine->local_memory &&
		       qp->sq.next + 1 == qp->sq.head && wqe->length >= DATAGRAM_MIN &&
		       wqe->length <= qp->mtu;
	default:
		return true;
	}
}

void adv_responder_ack_posted(struct adv_qp *qp, uint64_t now)
{
	struct adv_responder *resp = &qp->resp;

	if (!resp->asked_at)
		return;
	if (now - resp->asked_at > qp->engine->ack_delay)
		count_late(resp);
	else if (resp->answers < ANSWERS_MOST)
		resp->answers++;
	resp->asked_at = 0;
	if (!adv_responder_ack_waits(qp))
		return;
	resp->ack_behind = may_go_behind(qp);
	end_delay(qp);
	adv_qp_schedule(qp);
}

uint64_t adv_responder_ack_deadline(const struct adv_engine *e)
{
	if (adv_list_empty(&e->delayed))
		return ADV_NEVER;
	return adv_container_of(e->delayed.next, struct adv_qp, delay_node)->resp.ack_due;
}

/* Releases the delayed ACK with the earliest deadline, and returns its QP. */
static struct adv_qp *release_first(struct adv_engine *e)
{
	struct adv_qp *qp = adv_container_of(e->delayed.next, struct adv_qp, delay_node);

	end_delay(qp);
	adv_qp_schedule(qp);
	return qp;
}

bool adv_engine_hasten_acks(struct adv_engine *e)
{
	bool any = !adv_list_empty(&e->delayed);

	while (!adv_list_empty(&e->delayed))
		release_first(e);
	return any;
}

void adv_responder_ack_expire(struct adv_engine *e, uint64_t now)
{
	while (adv_responder_ack_deadline(e) <= now)
		count_late(&release_first(e)->resp);
}
