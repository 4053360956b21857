/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets between the transport engine and a link: from the BTH to the end of the padding, without
 * the ICRC. The link adds and checks the ICRC, UDP, IP and Ethernet.
 */
#ifndef ADV_NIC_WIRE_PACKET_H
#define ADV_NIC_WIRE_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "nic/wire/gid.h"
#include "nic/wire/headers.h"

/* The route of a packet. It belongs to a QP or an address handle. */
struct adv_path {
	struct adv_gid sgid;
	struct adv_gid dgid;
	uint32_t flow_label;
	uint16_t sport; /* preferred UDP source port */
	uint8_t tclass; /* DSCP << 2; each packet has its own ECN bits */
	uint8_t hop_limit;
	uint8_t sgid_index;
	uint8_t sl;
	bool v1; /* RoCE v1: packets that leave this machine are Ethernet frames with a GRH */
	uint32_t link_hint; /* cache of the link: where it finds the flow of this path; any value */
	uint8_t dmac[6];    /* v1: MAC address of the next hop, for a unicast dgid */
	/* Cache of the link: the flow of the last packet of this path, if such packets need nothing
	 * unusual, or what all of its packets have in common; 0: none. A path that is changed must
	 * have 0. */
	uint64_t link_memo;
};

/* ECN field of the IP header (RFC 3168). */
enum adv_ecn { ADV_ECN_NOT_ECT = 0, ADV_ECN_ECT1 = 1, ADV_ECN_ECT0 = 2, ADV_ECN_CE = 3 };
#define ADV_ECN_MASK 3 /* of tclass */

/* Properties of packets that one receive call delivers together. */
struct adv_rx_meta {
	struct adv_gid sgid; /* network source */
	struct adv_gid dgid; /* network destination: an own address, or a multicast group */
	uint16_t sport;	     /* UDP source port */
	uint8_t tclass;	     /* DSCP << 2 | ECN */
	uint8_t hop_limit;   /* 0: unknown */
	uint16_t pkey; /* MADs: the entry of the own P_Key table that the packet matched; else 0 */
	uint16_t slot; /* 0: received by UDP; ADV_RX_V1; else 1 + the slot of the process that
			* shares the memory */
	uint32_t flow_label; /* v1; else 0 */
};

/* In adv_rx_meta.slot: the packet was a RoCE v1 frame. It is of another machine: packets within the
 * machine are no frames. */
#define ADV_RX_V1 0xffffu

static inline bool adv_rx_is_v1(const struct adv_rx_meta *meta)
{
	return meta->slot == ADV_RX_V1;
}

/*
 * Long packets: on a way that loses nothing, a reliable QP may send one packet in place of up to
 * ADV_LONG_PACKETS packets of the path MTU. Its PSN is that of the first of them; its opcode says
 * whether it begins and ends the message. Every packet but the last of a message fills the MTUs.
 */
#define ADV_LONG_PACKETS 64u
#define ADV_LONG_MAX	 (ADV_LONG_PACKETS * 4096u) /* bytes of payload */

/* Payload that is still in the memory of the sending process. */
struct adv_rx_source {
	/*
	 * Copies the payload to `to`, whose lengths together are the payload's. At most one call a
	 * packet, during the delivery of the packet. Returns false if the memory cannot be read:
	 * the contents of `to` are then undefined, and the packet counts as lost.
	 */
	bool (*pull)(struct adv_rx_source *source, const struct iovec *to, unsigned count);
	uint32_t length; /* bytes of the payload */
};

/* A received packet. The link has checked its ICRC. */
struct adv_rx_packet {
	const struct adv_rx_meta *meta;
	const uint8_t *data; /* BTH, extended headers, payload, padding */
	uint32_t len;
	uint32_t more; /* long packet: packets that it stands for, besides one; else 0 */
	/* If not NULL: `data` has the headers only, and the payload is in the sender's memory. */
	struct adv_rx_source *source;
	/* If not NULL: the whole packet, in memory that a peer may still change. `data` is then a
	 * copy of the headers only. The reader reads the payload from `body`, and only once. */
	const uint8_t *body;
	/* If not 0: the number of the datagram of several packets that contained this one, which is
	 * not long. Packets with equal numbers have the same meta, and nothing happened between
	 * their deliveries. */
	uint64_t datagram;
};

/* Returns the payload, which begins after header_len bytes. */
static inline const uint8_t *adv_rx_payload(const struct adv_rx_packet *pkt, size_t header_len)
{
	return (pkt->body ? pkt->body : pkt->data) + header_len;
}

/*
 * A packet to send. The payload is not copied: iov entries point into the application's memory and
 * are valid until the next call of the engine. The link appends `pad` zero bytes and the ICRC.
 */
struct adv_tx_packet {
	struct adv_path *path; /* the link may update path->link_hint */
	const struct iovec *iov;
	uint16_t iov_count;
	uint8_t header_len;
	uint8_t pad;
	uint32_t payload_len;
	uint32_t dest_qpn; /* selects the system call: one call serves one destination slot */
	uint32_t more; /* long packet: packets that it stands for, besides one; else 0. The payload
			* of a long packet stays unchanged until the packet is acknowledged */
	enum adv_ecn ecn;
	uint8_t header[ADV_HEADERS_MAX]; /* aligned to 8: accessed in words */
	uint32_t icrc_flip;		 /* XORed with the ICRC; 0 unless a fault is injected */
};

#define ADV_TX_BATCH_PACKETS 64
#define ADV_TX_BATCH_IOV     512
#define ADV_MAX_SGE	     32

/* A batch of packets, filled by the engine and sent by a link. It belongs to the caller. */
struct adv_tx_batch {
	unsigned count;
	unsigned limit; /* packets; set by the filling function */
	unsigned iov_used;
	struct adv_tx_packet packet[ADV_TX_BATCH_PACKETS];
	struct iovec iov[ADV_TX_BATCH_IOV];
};

#endif
