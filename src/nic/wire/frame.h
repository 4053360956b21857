/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whole frames: Ethernet, IPv4 or IPv6, and UDP (RoCE v2), or Ethernet and GRH (RoCE v1, Ethertype
 * 0x8915), before the BTH. Captures and tools use them; the UDP link does not handle these layers.
 */
#ifndef ADV_NIC_WIRE_FRAME_H
#define ADV_NIC_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/wire/icrc.h"

enum adv_frame_kind { ADV_FRAME_V2_IPV4, ADV_FRAME_V2_IPV6, ADV_FRAME_V1 };

struct adv_frame {
	enum adv_frame_kind kind;
	uint8_t dmac[6];
	uint8_t smac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	uint8_t saddr[16]; /* IPv4: in bytes 0..3; RoCE v1: GID */
	uint8_t daddr[16];
	uint8_t tclass;	     /* ToS or traffic class: DSCP << 2 | ECN */
	uint8_t hop_limit;   /* TTL or hop limit */
	uint32_t flow_label; /* IPv6, GRH */
	uint16_t ip_id;	     /* IPv4 */
	bool ip_df;	     /* IPv4: don't fragment */
	uint16_t sport;	     /* UDP */
	uint16_t dport;
	uint16_t udp_checksum;	  /* UDP checksum of the frame, host order; 0: none */
	const uint8_t *transport; /* first byte of the BTH */
	size_t transport_len;	  /* BTH up to the ICRC, without it */
	uint32_t icrc;		  /* ICRC of the frame, comparable to adv_icrc_finish() */
	bool no_icrc;		  /* adv_frame_build() writes 0 in place of the ICRC */
};

enum adv_frame_error {
	ADV_FRAME_OK = 0,
	ADV_FRAME_NOT_ROCE,  /* another protocol or port; a fragment other than the first */
	ADV_FRAME_TRUNCATED, /* a header, or the length it states, exceeds the frame */
	ADV_FRAME_MALFORMED, /* IP options, first fragment, bad version, bad IPv4 checksum,
			      * contradictory lengths, too short for BTH and ICRC */
};

/* Dissects one Ethernet frame. f->transport points into frame. Trailing Ethernet padding is
 * ignored. */
enum adv_frame_error adv_frame_parse(const uint8_t *frame, size_t len, struct adv_frame *f);

/* Returns the right ICRC for f's headers and transport bytes, which are at least a BTH. */
uint32_t adv_frame_icrc(const struct adv_frame *f);

/*
 * Writes the frame of f, whose transport bytes go from the BTH up to the ICRC. Appends the ICRC and
 * computes the IPv4 checksum; copies udp_checksum from f. Returns the length, or 0 if `room` is too
 * small, the BTH is incomplete or the frame exceeds the longest IP packet.
 */
size_t adv_frame_build(const struct adv_frame *f, uint8_t *out, size_t room);

/*
 * Returns the UDP source port, like the Linux kernel's rdma_get_udp_sport(): computed from the flow
 * label, or if that is 0, from the two QP numbers. The port is 0xC000 or higher, and the same for
 * both directions.
 */
uint16_t adv_frame_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn);

/*
 * Writes the 40 bytes before a UD message received over RoCE v2 (annex A17.4.5.1): an IPv6 header,
 * or 20 zero bytes and an IPv4 header with a right checksum. payload_len: from the BTH to the end
 * of the ICRC. Addresses are GIDs (IPv4-mapped for IPv4).
 */
void adv_grh_for_ud(uint8_t out[40], const uint8_t sgid[16], const uint8_t dgid[16], uint8_t tclass,
		    uint8_t hop_limit, uint32_t flow_label, size_t payload_len);

/* Writes the GRH of a RoCE v1 frame (IBTA 8.3, annex A16.4). payload_len: from the BTH to the end
 * of the ICRC. flow_label: 20 bits. Addresses are GIDs. */
void adv_grh_of_v1(uint8_t out[40], const uint8_t sgid[16], const uint8_t dgid[16], uint8_t tclass,
		   uint8_t hop_limit, uint32_t flow_label, size_t payload_len);

#define ADV_FRAME_PFC_LEN 60 /* without the FCS */

/* Writes a PFC frame (IEEE 802.1Q 36.1.3): `mask` has a bit for each priority whose quanta are
 * valid. The source address is 0. */
void adv_frame_pfc(uint8_t out[ADV_FRAME_PFC_LEN], uint8_t mask, const uint16_t quanta[8]);

#endif
