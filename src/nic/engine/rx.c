/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives packets: finds the queue pair of each packet and checks the sender. */
#include "base/log.h"
#include "base/probe.h"
#include "nic/engine/address.h"
#include "nic/requester/completer.h"
#include "nic/queue/datagram.h"
#include "nic/congestion/flow.h"
#include "nic/queue/mcast.h"
#include "nic/queue/qpn.h"
#include "nic/responder/responder.h"
#include "nic/responder/uc.h"
#include "nic/queue/unreliable.h"
#include "nic/fast/unusual.h"

#define PKEY_WARN_NS 1000000000u

/* Counts a packet whose P_Key does not match that of the QP, and logs it at most once a second: the
 * sender learns nothing. */
static void refuse_pkey(struct adv_qp *qp, uint64_t now, const struct adv_bth *bth,
			const struct adv_rx_meta *meta)
{
	bool limited = ((bth->pkey ^ qp->pkey) & ADV_PKEY_BASE) == 0;
	struct adv_engine *e = qp->engine;
	char from[ADV_GID_TEXT_LENGTH];

	adv_qp_count(qp, &e->counters.rx_bad_pkey);
	if (now < e->pkey_warn_at)
		return;
	e->pkey_warn_at = now + PKEY_WARN_NS;
	adv_warn("queue pair 0x%06x: dropped a packet of %s with P_Key 0x%04x: the queue pair has "
		 "0x%04x, %s (IBTA 10.9.3)",
		 qp->qpn, adv_gid_text(&meta->sgid, from), bth->pkey, qp->pkey,
		 limited ? "and both are limited members" : "of another partition");
}

/* True if the destination of a UD packet is an address of the GID table, with the packet's version
 * of RoCE, or a multicast group. A packet to a group must have the multicast QPN, and no other
 * packet may have it. */
static bool is_our_address(const struct adv_engine *e, const struct adv_incoming *in)
{
	return in->h->bth.dest_qpn == ADV_QPN_MULTICAST || adv_address_is_dest(e, in->meta);
}

/* True if the packet has the addresses and the protocol of the QP's path. RoCE v1 is used on the
 * wire only: within this machine, packets of both versions take the same ways. */
static bool is_on_path(const struct adv_qp *qp, const struct adv_rx_meta *meta)
{
	return adv_gid_equal(&meta->sgid, &qp->path.dgid) &&
	       adv_gid_equal(&meta->dgid, &qp->path.sgid) &&
	       adv_rx_is_v1(meta) == (qp->path.v1 && !qp->peer_is_here);
}

static void report_established(struct adv_qp *qp)
{
	if (qp->state != IBV_QPS_RTR || qp->resp.commed)
		return;
	qp->resp.commed = true;
	adv_affiliated_raise(qp->engine, &qp->events, IBV_EVENT_COMM_EST, ADV_ERR_NONE);
}

/* Handles one packet for one QP. A packet that does not match the QP is counted but does not change
 * the QP (IBTA 9.6.1). */
static void deliver_packet(struct adv_engine *e, struct adv_qp *qp, uint64_t now,
			   const struct adv_incoming *in)
{
	struct adv_engine_counters *c = &e->counters;

	if ((in->h->bth.opcode & ADV_SERVICE_MASK) != qp->service || !adv_qp_can_receive(qp)) {
		c->rx_no_qp++;
		return;
	}
	if (!adv_pkey_matches(in->h->bth.pkey, qp->pkey)) {
		refuse_pkey(qp, now, &in->h->bth, in->meta);
		return;
	}
	if (qp->type == IBV_QPT_UD) {
		if (!is_our_address(e, in))
			c->rx_bad_address++;
		else if (in->h->deth.qkey != qp->attr.qkey)
			c->rx_bad_qkey++;
		else if (in->h->bth.dest_qpn != ADV_QPN_MULTICAST &&
			 !adv_address_sender_good(e, in->h->deth.src_qpn, in->meta))
			c->rx_bad_sender++;
		else
			adv_datagram_rx(qp, now, in);
		return;
	}
	if (!is_on_path(qp, in->meta)) {
		c->rx_bad_address++;
		return;
	}
	if (qp->peer_is_here && e->sender_port &&
	    !adv_address_is_of_qpn(e, qp->attr.dest_qp_num, in->meta)) {
		c->rx_bad_sender++;
		return;
	}
	if (in->info->flags & ADV_PKT_RESPONSE) {
		if (qp->flow && qp->flow->round_trips.ring)
			adv_flow_on_ack(qp, now, in);
		adv_completer_rx(qp, now, in);
		return;
	}
	if (qp->type == IBV_QPT_XRC_SEND) {
		c->rx_no_qp++;
		return;
	}
	report_established(qp);
	if (qp->type == IBV_QPT_UC)
		adv_responder_uc_rx(qp, now, in);
	else
		adv_responder_rx(qp, now, in);
}

/* True if the QP itself has sent the datagram. QPs of other machines may have the same number. */
static bool is_own_packet(const struct adv_qp *qp, const struct adv_incoming *in)
{
	return qp->qpn == in->h->deth.src_qpn && adv_address_is_here(qp->engine, &in->meta->sgid);
}

/* Delivers a datagram to all members of its group, as Linux rxe also to its sender. */
static void deliver_multicast(struct adv_engine *e, uint64_t now, const struct adv_incoming *in)
{
	struct adv_mcast_group *g = adv_mcast_find(e, &in->meta->dgid);

	if (!g) {
		e->counters.rx_no_qp++;
		return;
	}
	for (uint32_t i = 0; i < g->count; i++) {
		struct adv_qp *qp = g->member[i];

		if (!qp->block_self_multicast || !is_own_packet(qp, in))
			deliver_packet(e, qp, now, in);
	}
}

/* True if the packet may be long or have its payload elsewhere: SENDs, WRITEs and responses to
 * READs of reliable QPs. adv_message_fits() and the completer compare `more` with the length. */
static bool is_long_good(const struct adv_rx_packet *pkt, struct adv_incoming *in)
{
	uint8_t service = in->h->bth.opcode & ADV_SERVICE_MASK;
	uint16_t flags = in->info->flags;

	in->more = pkt->more;
	in->source = pkt->source;
	return (service == ADV_SERVICE_RC || service == ADV_SERVICE_XRC) &&
	       (flags & (ADV_PKT_SEND | ADV_PKT_WRITE | ADV_PKT_READ)) &&
	       (flags & ADV_PKT_PAYLOAD) && in->payload_len && in->more < ADV_LONG_PACKETS &&
	       in->payload_len <= ADV_LONG_MAX &&
	       (!in->source || in->source->length == in->payload_len);
}

/* Separates payload and padding. Returns false if the length does not match the opcode. */
static bool split_payload(const struct adv_rx_packet *pkt, size_t header_len,
			  struct adv_incoming *in)
{
	uint32_t rest = pkt->len - (uint32_t)header_len;
	uint8_t pad = in->h->bth.pad;

	if (pad > rest || (rest & 3))
		return false;
	in->payload = adv_rx_payload(pkt, header_len);
	in->payload_len = rest - pad;
	if (pkt->more || pkt->source)
		return is_long_good(pkt, in);
	return in->payload_len == 0 || (in->info->flags & ADV_PKT_PAYLOAD);
}

/* ---- congestion: CE marks and CNPs ---- */

/* Returns NULL if the packet is from the QP's peer. Else returns the counter in which
 * deliver_packet() would count it. */
static uint64_t *wrong_sender(struct adv_engine *e, const struct adv_qp *qp,
			      const struct adv_bth *bth, const struct adv_rx_meta *meta)
{
	struct adv_engine_counters *c = &e->counters;

	if (!qp || qp->type == IBV_QPT_UD || !adv_qp_can_receive(qp))
		return &c->rx_no_qp;
	if (!adv_pkey_matches(bth->pkey, qp->pkey))
		return &c->rx_bad_pkey;
	if (!is_on_path(qp, meta))
		return &c->rx_bad_address;
	if (qp->peer_is_here && e->sender_port &&
	    !adv_address_is_of_qpn(e, qp->attr.dest_qp_num, meta))
		return &c->rx_bad_sender;
	return NULL;
}

/* Handles a CNP. It names only the QP that must reduce its rate (annex A17.9.3). Its sender is
 * checked as for any other packet of the QP's peer. */
static void deliver_cnp(struct adv_engine *e, uint64_t now, const struct adv_headers *h,
			const struct adv_rx_meta *meta)
{
	struct adv_qp *qp = adv_qp_number_find(e, h->bth.dest_qpn);
	uint64_t *wrong = wrong_sender(e, qp, &h->bth, meta);

	if (wrong)
		++*wrong;
	else
		adv_flow_on_cnp(qp, now);
	if (!wrong)
		adv_qp_review(qp);
}

/* Handles the CE mark that a switch has set on a packet. Marked packets are decoded twice; so
 * packets without a mark need no further check. */
static void note_mark(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct adv_headers h;
	struct adv_qp *qp;

	e->counters.np_ecn_marked_roce_packets++;
	if (!adv_headers_decode(pkt->data, pkt->len, &h))
		return;
	qp = adv_qp_number_find(e, h.bth.dest_qpn);
	if (wrong_sender(e, qp, &h.bth, pkt->meta) ||
	    (h.bth.opcode & ADV_SERVICE_MASK) != qp->service)
		return;
	adv_flow_marked(qp, now, &h.bth);
	adv_qp_review(qp);
}

void adv_incoming_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt)
{
	struct adv_headers h;
	struct adv_incoming in = {.h = &h, .meta = pkt->meta};
	size_t header_len;
	struct adv_qp *qp;

	e->counters.rx_packets++;
	if ((pkt->meta->tclass & ADV_ECN_MASK) == ADV_ECN_CE)
		note_mark(e, now, pkt);
	header_len = adv_headers_decode(pkt->data, pkt->len, &h);
	if (header_len == 0) {
		e->counters.rx_malformed++;
		return;
	}
	if (h.bth.opcode == ADV_OPCODE_CNP) {
		if (pkt->len == header_len)
			deliver_cnp(e, now, &h, pkt->meta);
		else
			e->counters.rx_malformed++;
		return;
	}
	if (h.bth.opcode == ADV_OPCODE_PROBE || h.bth.opcode == ADV_OPCODE_ANSWER) {
		adv_unreliable_rx(e, now, &h, pkt->meta);
		return;
	}
	in.info = &adv_opcode_table[h.bth.opcode];
	if (!split_payload(pkt, header_len, &in)) {
		e->counters.rx_malformed++;
		return;
	}
	ADV_PROBE(packet_rx, h.bth.dest_qpn, h.bth.psn, h.bth.opcode, in.payload_len);
	if (h.bth.dest_qpn == ADV_QPN_MULTICAST) {
		deliver_multicast(e, now, &in);
		return;
	}
	qp = adv_qp_number_find(e, h.bth.dest_qpn);
	if (!qp) {
		e->counters.rx_no_qp++;
		return;
	}
	deliver_packet(e, qp, now, &in);
	adv_qp_review(qp);
}
