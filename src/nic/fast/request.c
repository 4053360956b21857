/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fast/request.h"
#include "nic/requester/long_packet.h"
#include "nic/responder/message.h"

/* Adds packets of the request at the cursor, at least one: t->room is not 0. */
INLINED void send_request(struct adv_qp *qp, struct turn *t, const struct adv_send_wqe *wqe,
			  uint8_t *memory)
{
	uint32_t mtu = qp->mtu, left = wqe->length - qp->req.offset;
	uint8_t *from = memory + qp->req.offset;

	if (left > mtu && left == wqe->length) {
		send_packet(qp, t, wqe, from, mtu, FIRST);
		from += mtu;
		left -= mtu;
	}
	for (; left > mtu && t->room; left -= mtu, from += mtu)
		send_packet(qp, t, wqe, from, mtu, MIDDLE);
	if (!t->room) {
		qp->req.offset = wqe->length - left;
		return;
	}
	if (left == wqe->length)
		send_packet(qp, t, wqe, from, left, ONLY);
	else
		send_packet(qp, t, wqe, from, left, LAST);
	qp->req.offset = 0;
	qp->sq.next++;
}

void adv_fast_send_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch,
			    unsigned budget)
{
	struct turn t = turn_begin(qp, batch, budget);
	unsigned sent = t.room;

	while (t.room && qp->sq.next != qp->sq.head) {
		struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);
		uint8_t *memory = request_memory(qp, wqe);

		if (!memory || adv_long_is_next(qp, wqe))
			break;
		if (!wqe->started)
			start_request(wqe, &t, adv_message_packets(wqe->length, qp->mtu));
		send_request(qp, &t, wqe, memory);
	}
	sent -= t.room;
	turn_end(qp, &t, sent, now);
	if (qp->sq.next == qp->sq.head)
		return;
	if (sent == budget || !adv_outgoing_has_room(batch)) {
		adv_qp_schedule(qp); /* all that adv_requester_tx() would do */
		return;
	}
	adv_requester_tx(qp, now, batch, budget - sent);
	adv_qp_review(qp);
}

void adv_fast_requests(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget)
{
	if ((qp->unusual & ADV_UNUSUAL_FOR_PACED) || qp->state != IBV_QPS_RTS ||
	    qp->engine->ackreq_interval != ADV_ACKREQ_INTERVAL)
		adv_requester_tx(qp, now, batch, budget);
	else
		adv_fast_send_requests(qp, now, batch, budget);
}
