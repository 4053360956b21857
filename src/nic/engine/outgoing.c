/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/probe.h"
#include "nic/engine/outgoing.h"

#define ETHERNET_BYTES 18 /* bytes of the Ethernet header and the FCS */
#define IPV4_UDP_BYTES 28
#define IPV6_UDP_BYTES 48

struct adv_tx_packet *adv_outgoing_add(struct adv_engine *e, struct adv_path *path,
				       struct adv_tx_batch *batch, const struct adv_headers *h)
{
	struct adv_tx_packet *pkt = &batch->packet[batch->count++];

	pkt->path = path;
	pkt->iov = &batch->iov[batch->iov_used];
	pkt->iov_count = 0;
	pkt->payload_len = 0;
	pkt->more = 0;
	pkt->pad = h->bth.pad;
	pkt->dest_qpn = h->bth.dest_qpn;
	pkt->ecn = e->tx_ecn;
	pkt->icrc_flip = 0;
	pkt->header_len = (uint8_t)adv_headers_encode(h, pkt->header);
	e->counters.tx_packets++;
	ADV_PROBE(packet_tx, h->bth.dest_qpn, h->bth.psn, h->bth.opcode);
	return pkt;
}

static uint32_t ip_udp_bytes(const struct adv_path *path)
{
	return adv_gid_is_ipv4(&path->sgid) ? IPV4_UDP_BYTES : IPV6_UDP_BYTES;
}

uint32_t adv_outgoing_full_frame(const struct adv_qp *qp)
{
	return ETHERNET_BYTES + ip_udp_bytes(&qp->path) + ADV_BTH_LEN + qp->mtu + ADV_ICRC_LEN;
}

uint32_t adv_outgoing_frame_bytes(const struct adv_tx_packet *pkt)
{
	return ETHERNET_BYTES + ip_udp_bytes(pkt->path) + pkt->header_len + pkt->payload_len +
	       pkt->pad + ADV_ICRC_LEN;
}
