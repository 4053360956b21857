/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unreliable datagrams (IBTA 9.8.3): each message is one packet, and each request has its own
 * destination. */
#include "nic/queue/datagram.h"
#include "nic/engine/inject.h"
#include "nic/memory/mr.h"
#include "nic/engine/outgoing.h"
#include "nic/responder/payload.h"
#include "nic/queue/qp_complete.h"
#include "nic/queue/unreliable.h"
#include "nic/wire/frame.h"

/* If this bit of a request's Q_Key is set, the QP's own Q_Key is sent (IBTA 10.2.5). */
#define QKEY_OF_QP 0x80000000u

/* ---- sending ---- */

/* Returns the largest message for this destination, bytes. The MTU of the address handle's
 * interface may be smaller than the largest MTU of the port. */
static uint32_t max_message(const struct adv_qp *qp, const struct adv_ah *ah)
{
	const struct adv_engine *e = qp->engine;
	uint8_t i = ah->path.sgid_index;

	return i < e->gid_count && e->gids[i].mtu < qp->mtu ? e->gids[i].mtu : qp->mtu;
}

static enum ibv_wc_status check_datagram(struct adv_qp *qp, const struct adv_send_wqe *wqe,
					 enum adv_vendor_err *why)
{
	if (wqe->failed) {
		*why = wqe->vendor_err;
		return wqe->status;
	}
	if (wqe->length > max_message(qp, wqe->ah)) {
		*why = ADV_ERR_DATAGRAM_TOO_LONG;
		return IBV_WC_LOC_LEN_ERR;
	}
	if (wqe->ah->pd != qp->pd) {
		*why = ADV_ERR_AH_PD;
		return IBV_WC_LOC_QP_OP_ERR;
	}
	if (!adv_payload_sges_good(qp, wqe->sge, wqe->num_sge, ADV_ACCESS_LOCAL_READ, why))
		return IBV_WC_LOC_PROT_ERR;
	return IBV_WC_SUCCESS;
}

static void emit_datagram(struct adv_qp *qp, struct adv_tx_batch *batch,
			  const struct adv_send_wqe *wqe)
{
	enum adv_vendor_err why;
	struct adv_tx_packet *pkt;
	struct adv_headers h;
	bool gathered;

	memset(&h.bth, 0, sizeof(h.bth));
	h.bth.opcode = ADV_SERVICE_UD | ADV_OP_SEND_ONLY;
	if (wqe->opcode == IBV_WR_SEND_WITH_IMM)
		h.bth.opcode++;
	h.bth.pkey = qp->pkey;
	h.bth.dest_qpn = wqe->remote_qpn;
	h.bth.psn = qp->req.next_psn;
	h.bth.pad = -wqe->length & 3;
	h.bth.solicited = wqe->send_flags & IBV_SEND_SOLICITED;
	h.deth.qkey = wqe->remote_qkey & QKEY_OF_QP ? qp->attr.qkey : wqe->remote_qkey;
	h.deth.src_qpn = qp->qpn;
	h.immdt = wqe->imm;
	pkt = adv_outgoing_add(qp->engine, &wqe->ah->path, batch, &h);
	gathered = adv_payload_gather(qp, wqe, 0, wqe->length, batch, pkt, &why);
	assert(gathered);
	(void)gathered;
	qp->req.next_psn = adv_psn_add(qp->req.next_psn, 1);
}

void adv_datagram_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget)
{
	while (qp->sq.next != qp->sq.head && qp->state == IBV_QPS_RTS) {
		const struct adv_send_wqe *wqe = adv_send_wqe_at(qp, qp->sq.next);
		enum adv_vendor_err why = ADV_ERR_NONE;
		enum ibv_wc_status status = check_datagram(qp, wqe, &why);

		if (status != IBV_WC_SUCCESS) {
			adv_qp_fail_send(qp, status, why, now);
			return;
		}
		if (budget-- == 0 || !adv_outgoing_has_room(batch)) {
			adv_qp_schedule(qp);
			return;
		}
		if (!adv_unreliable_may_send(qp, &wqe->ah->path, wqe->remote_qpn, batch, now))
			return;
		emit_datagram(qp, batch, wqe);
		adv_unreliable_sent(qp, &wqe->ah->path, wqe->remote_qpn, batch, now);
		adv_qp_complete_send(qp, IBV_WC_SUCCESS, ADV_ERR_NONE, now);
	}
}

/* ---- receiving ---- */

static void fail_datagram(struct adv_qp *qp, struct adv_recv_wqe *recv, enum ibv_wc_status status,
			  enum adv_vendor_err why, uint64_t now)
{
	struct ibv_wc wc = {.status = status, .vendor_err = why, .opcode = IBV_WC_RECV};

	if (status == IBV_WC_LOC_LEN_ERR)
		adv_qp_count(qp, &qp->engine->counters.resp_local_length_error);
	adv_qp_complete_recv(qp, recv, &wc, false, now);
	adv_qp_enter_error(qp, now);
}

/* Returns the low bits of wc.sl, which name the kind of the 40 bytes before the message, as with
 * mlx5: 0 for a GRH (RoCE v1), 1 for an IPv6 header, 2 for an IPv4 header. */
static uint8_t grh_kind(const struct adv_rx_meta *meta)
{
	if (adv_rx_is_v1(meta))
		return 0;
	return adv_gid_is_ipv4(&meta->dgid) ? 2 : 1;
}

static bool place_datagram(struct adv_qp *qp, struct adv_recv_wqe *recv,
			   const struct adv_incoming *in, enum adv_vendor_err *why)
{
	size_t transport_len = in->info->length + in->payload_len + in->h->bth.pad + ADV_ICRC_LEN;
	uint8_t grh[ADV_GRH_LEN];

	if (adv_rx_is_v1(in->meta))
		adv_grh_of_v1(grh, in->meta->sgid.raw, in->meta->dgid.raw, in->meta->tclass,
			      in->meta->hop_limit, in->meta->flow_label, transport_len);
	else
		adv_grh_for_ud(grh, in->meta->sgid.raw, in->meta->dgid.raw, in->meta->tclass,
			       in->meta->hop_limit, 0, transport_len);
	return adv_payload_scatter(qp, recv->sge, recv->num_sge, 0, grh, sizeof(grh), why) &&
	       adv_payload_scatter(qp, recv->sge, recv->num_sge, sizeof(grh), in->payload,
				   in->payload_len, why);
}

void adv_datagram_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in)
{
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV};
	enum adv_vendor_err why = ADV_ERR_NONE;
	struct adv_recv_wqe *recv;

	if (in->payload_len > qp->mtu) {
		adv_qp_count(qp, &qp->engine->counters.rx_malformed);
		return;
	}
	recv = adv_qp_take_recv(qp);
	if (!recv) {
		adv_qp_count(qp, &qp->engine->counters.out_of_buffer);
		adv_qp_count(qp, &qp->engine->counters.uc_drops);
		return;
	}
	if (recv->length < ADV_GRH_LEN + in->payload_len) {
		fail_datagram(qp, recv, IBV_WC_LOC_LEN_ERR, ADV_ERR_RECV_TOO_SMALL, now);
		return;
	}
	if (!place_datagram(qp, recv, in, &why)) {
		fail_datagram(qp, recv, IBV_WC_LOC_PROT_ERR, why, now);
		return;
	}
	if (qp->engine->injector)
		wc.status =
			adv_inject_recv(qp->engine, qp, ADV_INJECT_COMPLETION, in->h->bth.opcode);
	if (wc.status != IBV_WC_SUCCESS) {
		fail_datagram(qp, recv, wc.status, ADV_ERR_INJECTED, now);
		return;
	}
	wc.byte_len = ADV_GRH_LEN + in->payload_len;
	wc.wc_flags = IBV_WC_GRH;
	if (in->info->headers & ADV_HAS_IMMDT) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = in->h->immdt;
	}
	wc.src_qp = in->h->deth.src_qpn;
	wc.sl = grh_kind(in->meta);
	adv_qp_complete_recv(qp, recv, &wc, in->h->bth.solicited, now);
}
