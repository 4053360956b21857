/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/posting.h"

#include <errno.h>

#include "abi/rules/keys.h"
#include "abi/rules/sizes.h"
#include "abi/rules/payload.h"
#include "abi/rules/queue.h"
#include "abi/rules/remote.h"
#include "abi/rules/datagram.h"
#include "abi/rules/failed.h"
#include "abi/rules/order.h"
#include "abi/rules/sge.h"

#define MOST_SGE 64 /* requests with more have none in their record: no queue has so many */

static int sane_count(int num_sge)
{
	return num_sge > MOST_SGE ? 0 : num_sge;
}

/* ---- posting ---- */

static void describe_send(const struct adv_check_qp *qp, struct adv_check_work *w,
			  const struct ibv_send_wr *wr)
{
	w->opcode = wr->opcode;
	w->signaled = qp->sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED;
	w->is_inline = wr->send_flags & IBV_SEND_INLINE;
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		break;
	default:
		break;
	}
}

/* Returns the receive requests that messages to the queue pair may use. */
static const struct adv_check_queue *recvs_of(const struct adv_check_qp *qp)
{
	const struct adv_check_srq *srq = qp->qp->srq ? adv_check_srq_of(qp->qp->srq) : NULL;

	return srq ? &srq->recvs : &qp->recvs;
}

/* Calls the rules on a send request that is being posted. */
static void check_send(struct adv_check_call *call, struct adv_check_qp *qp,
		       struct adv_check_work *w)
{
	adv_check_sges(call, &qp->base, w);
	adv_check_keys_posted(call, &qp->base, w);
	adv_check_inline_posted(call, qp, w);
	adv_check_remote_posted(call, qp, w);
	/* A message that arrives in the buffer is no change by the program. */
	if (!adv_check_buffer_reused(call, recvs_of(qp), w))
		adv_check_payload_posted(&qp->sends, w);
	if (w->signaled)
		adv_check_cq_expects(qp->send_cq, w);
}

void adv_check_send_begins(struct adv_check_call *call, struct adv_check_qp *qp,
			   const struct ibv_send_wr *wr)
{
	adv_check_receive_buffers(call);
	if (qp)
		adv_check_posts_in_error(call, qp);
	for (; qp && wr; wr = wr->next) {
		struct adv_check_work *w =
			adv_check_queue_add(&qp->sends, wr->wr_id, wr->sg_list,
					    sane_count(wr->num_sge), adv_check_call_stack(call));

		if (!w)
			return;
		w->owner = &qp->base;
		w->number = qp->sends_posted++;
		describe_send(qp, w, wr);
		qp->sends.reads += adv_check_opcode_reads(w->opcode);
		adv_check_datagram_send(call, qp, wr, w);
		adv_check_fence(call, qp, w, wr->send_flags);
		if (adv_check_failed_field_used(call, qp, wr))
			continue;
		adv_check_failed_memory(call, &qp->base, w);
		check_send(call, qp, w);
	}
}

void adv_check_send_ends(struct adv_check_call *call, struct adv_check_qp *qp,
			 const struct ibv_send_wr *bad, int err)
{
	uint32_t not_posted = 0;

	for (; err && bad; bad = bad->next)
		not_posted++;
	if (!qp)
		return;
	adv_check_queue_drop_newest(&qp->sends, not_posted);
	qp->sends_posted -= not_posted;
	adv_check_cq_fits(call, qp->send_cq);
	if (err == ENOMEM)
		adv_check_send_queue_full(call, qp);
}

void adv_check_recv_begins(struct adv_check_call *call, struct adv_check_qp *qp,
			   struct adv_check_srq *srq, const struct ibv_recv_wr *wr)
{
	const struct adv_check_object *owner = srq ? &srq->base : qp ? &qp->base : NULL;
	struct adv_check_queue *queue = srq ? &srq->recvs : qp ? &qp->recvs : NULL;

	adv_check_receive_buffers(call);
	if (qp) {
		adv_check_posts_in_error(call, qp);
		adv_check_rnr(call, qp);
	}
	for (; queue && wr; wr = wr->next) {
		struct adv_check_work *w =
			adv_check_queue_add(queue, wr->wr_id, wr->sg_list, sane_count(wr->num_sge),
					    adv_check_call_stack(call));

		if (!w)
			return;
		w->owner = owner;
		w->number = qp ? qp->recvs_posted++ : 0;
		if (owner->kind == ADV_CHECK_QP)
			adv_check_datagram_recv(call, (const struct adv_check_qp *)owner, w);
		adv_check_failed_memory(call, owner, w);
		adv_check_sges(call, owner, w);
		adv_check_keys_posted(call, owner, w);
		adv_check_payload_posted(queue, w);
		adv_check_buffer_reused(call, queue, w);
		if (qp)
			adv_check_cq_expects(qp->recv_cq, w);
	}
}

void adv_check_recv_ends(struct adv_check_call *call, struct adv_check_qp *qp,
			 struct adv_check_srq *srq, const struct ibv_recv_wr *bad, int err)
{
	struct adv_check_queue *queue = srq ? &srq->recvs : qp ? &qp->recvs : NULL;
	uint32_t not_posted = 0;

	for (; err && bad; bad = bad->next)
		not_posted++;
	if (queue)
		adv_check_queue_drop_newest(queue, not_posted);
	if (qp) {
		qp->recvs_posted -= not_posted;
		adv_check_rnr_posted(qp);
		adv_check_cq_fits(call, qp->recv_cq);
	}
}

void adv_check_bind_posted(struct adv_check_call *call, struct adv_check_qp *qp,
			   const struct ibv_mw_bind *bind)
{
	struct adv_check_work *w = qp ? adv_check_queue_add(&qp->sends, bind->wr_id, NULL, 0,
							    adv_check_call_stack(call))
				      : NULL;

	if (!w)
		return;
	w->owner = &qp->base;
	w->number = qp->sends_posted++;
	w->opcode = IBV_WR_BIND_MW;
	w->signaled = qp->sq_sig_all || bind->send_flags & IBV_SEND_SIGNALED;
	if (w->signaled)
		adv_check_cq_expects(qp->send_cq, w);
	adv_check_cq_fits(call, qp->send_cq);
}

/* ---- completion ---- */

static void recv_completed(struct adv_check_call *call, struct adv_check_queue *queue,
			   const struct ibv_wc *wc)
{
	struct adv_check_work *w = adv_check_queue_find(queue, wc->wr_id);

	if (!w)
		return;
	adv_check_recv_status(call, w->owner, w, wc->status);
	if (wc->status != IBV_WC_SUCCESS)
		adv_check_failed(w, wc);
	adv_check_queue_remove(queue, w);
}

/* Returns the oldest send request that may give this completion, or NULL. */
static struct adv_check_work *find_completed_send(struct adv_check_qp *qp, const struct ibv_wc *wc)
{
	adv_list_for_each(struct adv_check_work, w, &qp->sends.works, link)
		if (w->wr_id == wc->wr_id && (w->signaled || wc->status != IBV_WC_SUCCESS))
			return w;
	return NULL;
}

/* The request of the completion has ended, and with it all requests before it. */
static void send_completed(struct adv_check_call *call, struct adv_check_qp *qp,
			   const struct ibv_wc *wc)
{
	struct adv_check_work *last = find_completed_send(qp, wc), *w;
	bool ended;

	if (!last)
		return;
	adv_check_keys_completed(call, qp, last, wc->status);
	if (wc->status != IBV_WC_SUCCESS)
		adv_check_failed(last, wc);
	do {
		w = adv_container_of(qp->sends.works.next, struct adv_check_work, link);
		ended = w == last;
		if (wc->status != IBV_WC_WR_FLUSH_ERR)
			adv_check_payload_sent(call, qp, w);
		adv_check_queue_remove(&qp->sends, w);
	} while (!ended);
}

void adv_check_completed(struct adv_check_call *call, struct adv_check_cq *cq,
			 const struct ibv_wc *wc)
{
	struct adv_check_qp *qp = adv_check_qp_numbered(wc->qp_num);
	struct adv_check_srq *srq;

	if (!qp)
		return;
	if (cq && wc->status != IBV_WC_SUCCESS)
		adv_check_error_polled(qp, cq);
	if (wc->opcode & IBV_WC_RECV) {
		srq = qp->qp->srq ? adv_check_srq_of(qp->qp->srq) : NULL;
		recv_completed(call, srq ? &srq->recvs : &qp->recvs, wc);
		adv_check_rnr(call, qp);
	} else {
		send_completed(call, qp, wc);
	}
}
