/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ACKs report to congestion control: round-trip times, marks, telemetry. */
#include <stdlib.h>

#include "nic/congestion/flow.h"
#include "nic/queue/qpn.h"
#include "nic/congestion/telemetry.h"
#include "base/bytes.h"

/* ---- ACKs ---- */

/* True if the packet is an ACK of packets in flight. */
static bool is_new_ack(const struct adv_qp *qp, const struct adv_incoming *in)
{
	uint32_t psn = in->h->bth.psn;

	return (in->h->bth.opcode & ADV_OP_MASK) == ADV_OP_ACKNOWLEDGE &&
	       (in->h->aeth.syndrome & ADV_AETH_TYPE_MASK) == ADV_AETH_ACK &&
	       adv_psn_diff(psn, qp->req.una_psn) >= 0 && adv_psn_diff(psn, qp->req.max_psn) < 0;
}

void adv_flow_on_ack(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	const struct adv_time_factor *time = &qp->engine->time;
	struct adv_cc_link link = adv_flow_link(qp);
	uint32_t psn = in->h->bth.psn;
	struct adv_flow *f = qp->flow;
	const struct adv_telemetry *telemetry = f->echoed;
	struct adv_cc_ack ack;
	uint64_t before;

	f->echoed = NULL;
	if (!is_new_ack(qp, in))
		return;
	ack = (struct adv_cc_ack){
		.now = adv_time_of_network(time, now),
		.rtt = adv_time_of_network(time, adv_round_trips_take(&f->round_trips, psn, now)),
		.packets = 1 + ((psn - qp->req.una_psn) & ADV_PSN_MASK),
		.marked = in->h->bth.becn,
		.round = adv_psn_diff(psn, f->round_psn) >= 0,
		.telemetry = telemetry,
	};
	if (ack.round)
		f->round_psn = qp->req.max_psn;
	before = adv_flow_rate(qp, now);
	qp->engine->cc_ops->on_ack(&f->cc, &link, &ack);
	adv_flow_rate_changed(f, before, now);
	/* The limits may permit a packet earlier than before. */
	if (qp->sq.next != qp->sq.head)
		adv_qp_schedule(qp);
}

/* ---- telemetry ---- */

void adv_flow_rx_telemetry(struct adv_engine *e, const struct adv_rx_packet *pkt,
			   const struct adv_telemetry *t)
{
	uint32_t qpn = adv_get_be32(pkt->data + 4) & ADV_QPN_MASK;
	struct adv_qp *qp = adv_qp_number_find(e, qpn);
	struct adv_flow *f = qp ? qp->flow : NULL;

	if (!f)
		return;
	if (adv_opcode_table[pkt->data[0]].flags & ADV_PKT_RESPONSE) {
		f->echoed = t;
		return;
	}
	if (!t)
		return;
	if (!f->echo)
		f->echo = malloc(sizeof(*f->echo));
	if (f->echo)
		*f->echo = *t;
	else
		e->counters.out_of_memory++;
}

const struct adv_telemetry *adv_flow_telemetry_of_ack(const struct adv_engine *e,
						      const struct adv_tx_packet *pkt)
{
	const struct adv_qp *qp;

	if ((pkt->header[0] & ADV_OP_MASK) != ADV_OP_ACKNOWLEDGE)
		return NULL;
	qp = adv_container_of(pkt->path, struct adv_qp, path);
	return qp->flow ? qp->flow->echo : NULL;
}
