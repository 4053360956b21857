/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receives RoCE v1 frames from the ring that the kernel writes. The link reads a frame in place,
 * and then returns its place to the kernel. */
#include "runtime/link/raw_internal.h"

#include <stdatomic.h>

#include "base/bytes.h"
#include "nic/wire/frame.h"

static struct tpacket2_hdr *place_of(const struct raw_link *l, unsigned place)
{
	const size_t at = (size_t)(place / RAW_BLOCK_PLACES) * RAW_BLOCK_LEN +
			  (size_t)(place % RAW_BLOCK_PLACES) * RAW_PLACE_LEN;

	return (struct tpacket2_hdr *)(void *)(l->ring + at);
}

/* Returns the status of a place. What the kernel has written before it is visible. */
static uint32_t status_of(const struct tpacket2_hdr *h)
{
	return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE);
}

bool adv_raw_has_frame(const struct raw_link *l)
{
	return status_of(place_of(l, l->place)) & TP_STATUS_USER;
}

static bool is_accepted_qpn(const struct raw_link *l, uint32_t qpn)
{
	for (unsigned i = 0; i < l->range_count; i++)
		if (qpn - l->range[i].first < l->range[i].count)
			return true;
	return qpn == ADV_QPN_MULTICAST;
}

/* True if the frame was sent to an address of the interface, or to a group. */
static bool is_to_interface(const struct raw_link *l, const struct adv_gid *dgid, uint32_t ifindex)
{
	for (unsigned i = 0; i < l->address_count; i++)
		if (l->address[i].ifindex == ifindex && adv_gid_equal(&l->address[i].gid, dgid))
			return true;
	return adv_gid_is_multicast(dgid);
}

/* Handles one frame of `len` bytes from the interface. */
static void take_frame(struct raw_link *l, const uint8_t *bytes, size_t len, uint32_t ifindex,
		       adv_link_rx_fn *fn, void *user)
{
	struct adv_link_counters *count = &l->link.counters;
	struct adv_rx_meta meta = {.slot = ADV_RX_V1};
	struct adv_rx_packet pkt = {.meta = &meta};
	struct adv_frame f;

	count->rx_packets++;
	if (adv_frame_parse(bytes, len, &f) != ADV_FRAME_OK || f.kind != ADV_FRAME_V1 ||
	    f.has_vlan || f.transport_len % 4 || f.transport_len > ADV_HEADERS_MAX + 4096u) {
		count->rx_malformed++;
		return;
	}
	count->rx_bytes += f.transport_len + ADV_ICRC_LEN;
	memcpy(meta.sgid.raw, f.saddr, sizeof(meta.sgid.raw));
	memcpy(meta.dgid.raw, f.daddr, sizeof(meta.dgid.raw));
	meta.tclass = (uint8_t)(f.tclass & ~ADV_ECN_MASK); /* v1 has no marks */
	meta.hop_limit = f.hop_limit;
	meta.flow_label = f.flow_label;
	pkt.data = f.transport;
	pkt.len = (uint32_t)f.transport_len;
	/* Packets within the machine are no frames. */
	if (adv_gid_is_multicast(&meta.sgid) || adv_raw_is_own(l, &meta.sgid))
		count->rx_malformed++;
	else if (adv_frame_icrc(&f) != f.icrc)
		count->rx_icrc_errors++;
	else if (!is_accepted_qpn(l, adv_get_be32(f.transport + 4) & ADV_QPN_MASK) ||
		 !is_to_interface(l, &meta.dgid, ifindex))
		count->rx_misdelivered++;
	else
		fn(user, &pkt);
}

/* Handles the frame of a place, and returns the place to the kernel. */
static void take_place(struct raw_link *l, struct tpacket2_hdr *h, adv_link_rx_fn *fn, void *user)
{
	const uint8_t *base = (const uint8_t *)h;
	struct sockaddr_ll from;

	memcpy(&from, base + TPACKET_ALIGN(sizeof(*h)), sizeof(from));
	take_frame(l, base + h->tp_mac, h->tp_snaplen, (uint32_t)from.sll_ifindex, fn, user);
	__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	l->place = (l->place + 1) % RAW_PLACES;
}

unsigned adv_raw_receive(struct adv_link *link, unsigned budget, adv_link_rx_fn *fn, void *user)
{
	struct raw_link *l = raw_link_of(link);
	unsigned packets = 0;

	while (packets < budget && !link->enough && adv_raw_has_frame(l)) {
		take_place(l, place_of(l, l->place), fn, user);
		packets++;
	}
	/* Frames that are no use do not keep the packets of the inner link waiting. */
	if (link->enough)
		return packets;
	l->inner->enough = false;
	l->inner->busy_polled = link->busy_polled;
	l->inner->spaced = link->spaced;
	return packets + l->inner->ops->receive(l->inner, budget, fn, user);
}
