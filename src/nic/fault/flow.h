/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults of a TCP connection, by the rules for packets: the bytes that one call would send or
 * receive are a packet. TCP hides from its user what happens to packets: it sends a lost one again
 * after a time, and all bytes behind it wait, so a loss is a pause. Duplicates and packets out of
 * order have no effect. Pure, as decide.h.
 */
#ifndef ADV_NIC_FAULT_FLOW_H
#define ADV_NIC_FAULT_FLOW_H

#include "nic/fault/decide.h"

#define ADV_FAULT_RTO_MIN_NS 200000000ull /* Linux TCP's least retransmission timeout */

/* One direction of a connection. All 0 at first. */
struct adv_fault_flow {
	uint64_t until;	 /* the bytes wait until then */
	uint32_t losses; /* of the bytes that wait: each doubles the time */
	bool decided;	 /* the next bytes pass without another decision */
	bool damaged;	 /* ... and are damaged */
};

enum adv_fault_flow_verdict {
	ADV_FAULT_FLOW_PASSES,
	ADV_FAULT_FLOW_DAMAGED, /* the bytes pass, and the CRC of an FPDU is wrong */
	ADV_FAULT_FLOW_WAITS,	/* nothing passes before f->until */
};

/* True if the rule has a meaning for connections. */
bool adv_fault_flow_fits(const struct adv_fault_rule *r);

/* Decides about the next bytes. crc: they have CRCs; otherwise TCP finds damage, and sends the
 * bytes again. p->dest_qpn is the queue pair of this end. */
enum adv_fault_flow_verdict adv_fault_flow_decide(struct adv_fault_flow *f,
						  struct adv_fault_state *s, uint64_t now,
						  const struct adv_fault_packet *p, bool crc);

#endif
