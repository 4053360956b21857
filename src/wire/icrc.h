/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The invariant CRC of RoCE (annexes A16.5, A17.3.3): CRC-32 of Ethernet over
 * eight bytes of ones (the LRH that is not there), the IP header with ToS/TTL/
 * checksum (IPv4) or traffic class/flow label/hop limit (IPv6, GRH) as ones, the
 * UDP header with its checksum as ones, the BTH with its byte 4 as ones, and all
 * that follows up to the ICRC itself, which is sent least significant byte first.
 */
#ifndef ADV_WIRE_ICRC_H
#define ADV_WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What the ICRC needs to know of the layers below the BTH. Ports in host order. */
struct adv_icrc_flow {
	bool ipv4;
	bool ipv4_no_df;   /* Don't Fragment is clear, as other stacks may send it */
	uint8_t saddr[16]; /* IPv6 address, or the IPv4 one in bytes 0..3 */
	uint8_t daddr[16];
	uint16_t sport;
	uint16_t dport; /* ADV_ROCE_UDP_PORT */
};

/* The addresses of the flow, whose `ipv4` is set, from GIDs as on the wire. */
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

/* A CRC in progress: feed the bytes in order. */
typedef uint32_t adv_icrc_state;

/*
 * State after the masked IP and UDP headers of a packet of udp_payload bytes (BTH
 * to ICRC inclusive). ip_id: IPv4 Identification, host order; ignored for IPv6.
 */
adv_icrc_state adv_icrc_begin(const struct adv_icrc_flow *flow, uint16_t ip_id, size_t udp_payload);

/* Packets of one flow in a row, most of them of one length, as a segmented send has them. */
struct adv_icrc_run {
	struct adv_icrc_flow flow;
	size_t udp_payload; /* of those that begun is for; 0: none yet */
	adv_icrc_state begun;
};

/* As adv_icrc_begin() with the run's flow; what the packets have in common is worked out once. */
adv_icrc_state adv_icrc_run_begin(struct adv_icrc_run *run, uint16_t ip_id, size_t udp_payload);

/* As adv_icrc_begin(), for a RoCE v1 frame: grh is the 40-byte GRH as on the wire. */
adv_icrc_state adv_icrc_begin_v1(const uint8_t grh[40]);

/* Takes the 12 bytes of a BTH, its byte 4 masked. */
adv_icrc_state adv_icrc_bth(adv_icrc_state s, const uint8_t bth[12]);

/* Takes any further bytes: extended headers, payload, padding. */
adv_icrc_state adv_icrc_update(adv_icrc_state s, const void *p, size_t len);

/* The value to store, as uint32_t whose little-endian bytes go on the wire. */
uint32_t adv_icrc_end(adv_icrc_state s);

/* All that adv_icrc_begin() leaves: len bytes from the BTH up to the ICRC, whose value is returned.
 */
uint32_t adv_icrc_finish(adv_icrc_state s, const uint8_t *transport, size_t len);

/*
 * Given the ICRC found in a packet and the one computed for Identification 0, finds
 * the Identification that explains the difference, if there is one: CRC-32 is affine
 * over GF(2), so the difference divided by x^(8n) must fit in 16 bits. udp_payload is
 * as in adv_icrc_begin. Returns false where no 16-bit value does: the packet is bad.
 */
bool adv_icrc_solve_id(uint32_t found, uint32_t computed_for_0, size_t udp_payload,
		       uint16_t *ip_id);

#endif
