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
#ifndef ADV_WIRE_ICRC_H
#define ADV_WIRE_ICRC_H

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

/* The state of a CRC computation. Bytes are added in order. */
typedef uint32_t adv_icrc_state;

/*
 * Returns the state after the masked IP and UDP headers of a packet of udp_payload bytes (from the
 * BTH to the end of the ICRC). ip_id: IPv4 Identification, host order; ignored for IPv6.
 */
adv_icrc_state adv_icrc_begin(const struct adv_icrc_flow *flow, uint16_t ip_id, size_t udp_payload);

/* The state for consecutive packets of one flow, mostly of one length, as in a segmented send. */
struct adv_icrc_run {
	struct adv_icrc_flow flow;
	size_t udp_payload; /* length for which `begun` is valid; 0: `begun` is not computed */
	adv_icrc_state begun;
};

/* As adv_icrc_begin() with the run's flow, but computes the common part of the packets only once.
 */
adv_icrc_state adv_icrc_run_begin(struct adv_icrc_run *run, uint16_t ip_id, size_t udp_payload);

/* As adv_icrc_begin(), but for a RoCE v1 frame. grh: its GRH. */
adv_icrc_state adv_icrc_begin_v1(const uint8_t grh[40]);

/* Adds the 12 bytes of a BTH, with byte 4 masked. */
adv_icrc_state adv_icrc_bth(adv_icrc_state s, const uint8_t bth[12]);

/* Adds further bytes: extended headers, payload, padding. */
adv_icrc_state adv_icrc_update(adv_icrc_state s, const void *p, size_t len);

/* Returns the ICRC. Its bytes are sent in little-endian order. */
uint32_t adv_icrc_end(adv_icrc_state s);

/* Adds len bytes from the BTH up to the ICRC to the state of adv_icrc_begin(), and returns the
 * ICRC. */
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
