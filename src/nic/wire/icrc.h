/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The invariant CRC of RoCE (annexes A16.5, A17.3.3). It is Ethernet's CRC-32 over:
 * - eight bytes 0xff in place of the LRH, which RoCE does not have,
 * - the IP header, with ToS, TTL and checksum (IPv4) or traffic class, flow label and hop limit
 * (IPv6, GRH) set to ones,
 * - the UDP header, with its checksum set to ones,
 * - the BTH, with its byte 4 set to ones,
 * - all bytes that follow, up to the ICRC.
 * The ICRC is sent least significant byte first.
 */
#ifndef ADV_NIC_WIRE_ICRC_H
#define ADV_NIC_WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The fields of the layers below the BTH that the ICRC covers. Ports are in host order. */
struct adv_icrc_flow {
	bool ipv4;
	bool ipv4_no_df;   /* Don't Fragment is clear; other stacks may send that */
	uint8_t saddr[16]; /* IPv6 address; or IPv4 address in bytes 0..3 */
	uint8_t daddr[16];
	uint16_t sport;
	uint16_t dport; /* ADV_ROCE_UDP_PORT */
};

/* Sets the addresses of the flow, whose `ipv4` is valid, from GIDs. */
static inline void adv_icrc_flow_set_addresses(struct adv_icrc_flow *flow, const uint8_t sgid[16],
					       const uint8_t dgid[16])
{
	if (flow->ipv4) {
		memcpy(flow->saddr, sgid + 12, 4);
		memcpy(flow->daddr, dgid + 12, 4);
	} else {
		memcpy(flow->saddr, sgid, 16);
		memcpy(flow->daddr, dgid, 16);
	}
}

/* The state of a CRC computation. */
typedef uint32_t adv_icrc_state;

/*
 * Returns the state after the masked IP and UDP headers of a packet of udp_payload bytes (from the
 * BTH to the end of the ICRC). ip_id: IPv4 Identification, host order; ignored for IPv6.
 */
adv_icrc_state adv_icrc_begin(const struct adv_icrc_flow *flow, uint16_t ip_id, size_t udp_payload);

/*
 * Returns what to XOR with adv_icrc_begin(flow, 0, 0) to get adv_icrc_begin(flow, 0, udp_payload)
 * of any flow of this IP version: a CRC is affine. Callers that send or receive many packets keep
 * the value.
 */
uint32_t adv_icrc_length_effect(bool ipv4, size_t udp_payload);

/* [digit][i]: what adv_icrc_id_effect_of() adds for the value i of a hexadecimal digit. */
extern const uint32_t adv_icrc_id_effect[4][16];

/* Returns what to XOR with adv_icrc_begin(flow, 0, n) to get adv_icrc_begin(flow, ip_id, n), over
 * IPv4. */
static inline uint32_t adv_icrc_id_effect_of(uint16_t ip_id)
{
	uint32_t effect = 0;

	if (ip_id < 256)
		return adv_icrc_id_effect[0][ip_id & 15] ^ adv_icrc_id_effect[1][ip_id >> 4];
	for (unsigned digit = 0, left = ip_id; left; digit++, left >>= 4)
		effect ^= adv_icrc_id_effect[digit][left & 15];
	return effect;
}

/* As adv_icrc_begin(), but for a RoCE v1 frame. grh: its GRH. */
adv_icrc_state adv_icrc_begin_v1(const uint8_t grh[40]);

/*
 * Adds len bytes from the BTH up to the ICRC, with byte 4 of the BTH masked, to the state of
 * adv_icrc_begin(). len: at least 5. Returns the ICRC. Its bytes are sent in little-endian order.
 */
uint32_t adv_icrc_finish(adv_icrc_state s, const uint8_t *transport, size_t len);

/*
 * Computes the Identification of a packet from its ICRC and the ICRC computed for Identification 0.
 * CRC-32 is affine over GF(2): the difference of the ICRCs, divided by x^(8n), is the
 * Identification. udp_payload: as for adv_icrc_begin(). Returns false if the quotient does not fit
 * into 16 bits: the packet is bad.
 */
bool adv_icrc_solve_id(uint32_t found, uint32_t computed_for_0, size_t udp_payload,
		       uint16_t *ip_id);

#endif
