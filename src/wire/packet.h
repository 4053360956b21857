/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets as they pass between the transport engine and a link: from the BTH up to, but
 * without, the ICRC. A link adds and checks what is outside of that (ICRC, UDP, IP,
 * Ethernet). Plain structures; both sides of the line speak them.
 */
#ifndef ADV_WIRE_PACKET_H
#define ADV_WIRE_PACKET_H

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "wire/headers.h"

/* A GID: an IPv6 address, or an IPv4 one mapped (::ffff:a.b.c.d). Network order. */
struct adv_gid {
	uint8_t raw[16];
};

static inline bool adv_gid_equal(const struct adv_gid *a, const struct adv_gid *b)
{
	return memcmp(a->raw, b->raw, 16) == 0;
}

static inline bool adv_gid_is_ipv4(const struct adv_gid *g)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(g->raw, mapped, 12) == 0;
}

static inline bool adv_gid_is_multicast(const struct adv_gid *g)
{
	return adv_gid_is_ipv4(g) ? (g->raw[12] & 0xf0) == 0xe0 : g->raw[0] == 0xff;
}

/* How a packet is to travel; owned by a QP or an address handle. */
struct adv_path {
	struct adv_gid sgid;
	struct adv_gid dgid;
	uint32_t flow_label;
	uint16_t sport; /* UDP source port that is wished for */
	uint8_t tclass; /* DSCP << 2; the ECN bits are the packet's own */
	uint8_t hop_limit;
	uint8_t sgid_index;
	uint8_t sl;
	uint32_t link_hint; /* the link's own note of what it resolved this path to; 0: none yet */
};

/* ECN field of the IP header (RFC 3168). */
enum adv_ecn { ADV_ECN_NOT_ECT = 0, ADV_ECN_ECT1 = 1, ADV_ECN_ECT0 = 2, ADV_ECN_CE = 3 };
#define ADV_ECN_MASK 3 /* of tclass */

/* What a receive call tells of all packets that came in together. */
struct adv_rx_meta {
	struct adv_gid sgid; /* network source */
	struct adv_gid dgid; /* network destination: one of ours, or a multicast group */
	uint16_t sport;	     /* UDP source port */
	uint8_t tclass;	     /* DSCP << 2 | ECN */
	uint8_t hop_limit;   /* 0: not known */
	uint16_t slot;	     /* 0: from a socket; else 1 + the slot whose process shares the memory
			      * that it came through */
};

/* A packet received, its ICRC already found right by the link. */
struct adv_rx_packet {
	const struct adv_rx_meta *meta;
	const uint8_t *data; /* BTH, extended headers, payload, padding */
	uint32_t len;
	/* Where not NULL, the same bytes where a peer may still change them: then `data` is a copy
	 * of the headers only, and the payload is read here, once. */
	const uint8_t *body;
};

/* Where to copy the payload from, which begins after header_len bytes. */
static inline const uint8_t *adv_rx_payload(const struct adv_rx_packet *pkt, size_t header_len)
{
	return (pkt->body ? pkt->body : pkt->data) + header_len;
}

/*
 * A packet to send. The payload is referenced, not copied: iov entries point into the
 * application's memory and are good until the engine is called again. The link appends
 * `pad` zero bytes and the ICRC.
 */
struct adv_tx_packet {
	struct adv_path *path; /* the link may update path->link_hint */
	const struct iovec *iov;
	uint16_t iov_count;
	uint8_t header_len;
	uint8_t pad;
	uint32_t payload_len;
	uint32_t dest_qpn; /* one send call must not mix destination slots */
	enum adv_ecn ecn;
	uint8_t header[ADV_HEADERS_MAX]; /* at a multiple of 8: it is written and read in words */
	uint32_t icrc_flip; /* XORed to the ICRC: 0, but where a fault is made on purpose */
};

#define ADV_TX_BATCH_PACKETS 64
#define ADV_TX_BATCH_IOV     512
#define ADV_MAX_SGE	     32

/* A batch that the engine fills and a link empties; the caller owns it. */
struct adv_tx_batch {
	unsigned count;
	unsigned limit; /* packets; set by who fills it */
	unsigned iov_used;
	struct adv_tx_packet packet[ADV_TX_BATCH_PACKETS];
	struct iovec iov[ADV_TX_BATCH_IOV];
};

#endif
