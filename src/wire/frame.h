/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whole frames: Ethernet, IPv4 or IPv6 and UDP (RoCE v2), or Ethernet and GRH
 * (RoCE v1, Ethertype 0x8915) around the BTH. For captures, raw links and tools;
 * the UDP link never sees these layers.
 */
#ifndef ADV_WIRE_FRAME_H
#define ADV_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/icrc.h"

enum adv_frame_kind { ADV_FRAME_V2_IPV4, ADV_FRAME_V2_IPV6, ADV_FRAME_V1 };

struct adv_frame {
	enum adv_frame_kind kind;
	uint8_t dmac[6];
	uint8_t smac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	uint8_t saddr[16]; /* IPv4 in bytes 0..3; GIDs for v1 */
	uint8_t daddr[16];
	uint8_t tclass;	     /* ToS or traffic class: DSCP << 2 | ECN */
	uint8_t hop_limit;   /* TTL or hop limit */
	uint32_t flow_label; /* IPv6, GRH */
	uint16_t ip_id;	     /* IPv4 */
	bool ip_df;	     /* IPv4: don't fragment */
	uint16_t sport;	     /* UDP */
	uint16_t dport;
	uint16_t udp_checksum;	  /* as found, host order; 0: none */
	const uint8_t *transport; /* first byte of the BTH */
	size_t transport_len;	  /* BTH up to the ICRC, without it */
	uint32_t icrc;		  /* as found, see adv_icrc_end */
};

enum adv_frame_error {
	ADV_FRAME_OK = 0,
	ADV_FRAME_NOT_ROCE,  /* some other protocol or port; a later fragment, which has no port */
	ADV_FRAME_TRUNCATED, /* a header or length field says more than there is */
	ADV_FRAME_MALFORMED, /* IP options, first fragment, bad version, bad IPv4 checksum, lengths
			      * that disagree, no room for BTH and ICRC */
};

/* Dissects one Ethernet frame. f->transport points into frame. Trailing Ethernet padding is
 * ignored. */
enum adv_frame_error adv_frame_parse(const uint8_t *frame, size_t len, struct adv_frame *f);

/* The ICRC that f's headers and transport bytes (a BTH at least) should carry. */
uint32_t adv_frame_icrc(const struct adv_frame *f);

/*
 * Writes the whole frame for f (whose transport/transport_len are the bytes from the BTH
 * up to the ICRC), ICRC appended and the IPv4 checksum filled in; udp_checksum is written
 * as f has it. Returns the length, or 0 where `room` is too small, there is no whole BTH or
 * the whole is longer than an IP packet may be.
 */
size_t adv_frame_build(const struct adv_frame *f, uint8_t *out, size_t room);

/*
 * UDP source port as the Linux kernel's rdma_get_udp_sport(): from the flow label, or,
 * where that is 0, from the two QP numbers; 0xC000 or higher, the same for both directions.
 */
uint16_t adv_udp_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn);

/*
 * The 40 bytes put before a UD message received over RoCE v2 (annex A17.4.5.1): an IPv6
 * header, or 20 bytes of zeros and an IPv4 header with a right checksum. payload_len is the
 * length from the BTH to the ICRC inclusive. Addresses as GIDs (IPv4-mapped for IPv4).
 */
void adv_grh_for_ud(uint8_t out[40], const uint8_t sgid[16], const uint8_t dgid[16], uint8_t tclass,
		    uint8_t hop_limit, uint32_t flow_label, size_t payload_len);

#endif
