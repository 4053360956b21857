/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The division of a machine's QP numbers among its processes. The top 13 bits of a number are its
 * prefix.
 * - Top bit 0: the prefix is the slot. A slot is a socket of port 4791 and has 2,048 numbers.
 * - Top bit 1: a block of 65,536 numbers (32 prefixes). A slot gets blocks when it has few numbers
 *   left.
 */
#ifndef ADV_NIC_WIRE_SLOT_H
#define ADV_NIC_WIRE_SLOT_H

#include <stdint.h>

#define ADV_PREFIX_SHIFT 11 /* the prefix of a QPN is qpn >> ADV_PREFIX_SHIFT */
#define ADV_PREFIXES	 8192

#define ADV_SLOTS	 4096
#define ADV_SLOT_DAEMON	 0 /* QP0, QP1 */
/* Slot whose socket gets packets to unused QPNs; no process reads that socket. */
#define ADV_SLOT_NOBODY	    1
#define ADV_SLOT_FIRST	    2 /* first slot for processes */
#define ADV_SLOT_QPN_BITS   ADV_PREFIX_SHIFT
#define ADV_SLOT_QPNS	    (1u << ADV_SLOT_QPN_BITS)
#define ADV_BLOCKS	    127 /* a 128th would contain the multicast QPN */
#define ADV_BLOCK_QPN_BITS  16
#define ADV_BLOCK_QPNS	    (1u << ADV_BLOCK_QPN_BITS)
#define ADV_BLOCK_FIRST_QPN 0x800000u
#define ADV_BLOCK_PREFIXES  (ADV_BLOCK_QPNS >> ADV_PREFIX_SHIFT)

/* Returns the prefix of a 24-bit QPN: 0 to ADV_PREFIXES - 1. */
static inline uint16_t adv_qpn_prefix(uint32_t qpn)
{
	return (uint16_t)(qpn >> ADV_PREFIX_SHIFT);
}

/* Returns the first QPN of a slot. */
static inline uint32_t adv_qpn_of_slot(uint32_t slot)
{
	return slot << ADV_SLOT_QPN_BITS;
}

/* Returns the first QPN of a block. */
static inline uint32_t adv_block_qpn(uint32_t block)
{
	return ADV_BLOCK_FIRST_QPN + (block << ADV_BLOCK_QPN_BITS);
}

/*
 * Returns the target of a QPN: its slot, or ADV_SLOTS plus its block. QPNs of one target belong to
 * one socket. Two targets may belong to the same process.
 */
static inline uint16_t adv_qpn_target(uint32_t qpn)
{
	return (uint16_t)(qpn < ADV_BLOCK_FIRST_QPN ? qpn >> ADV_SLOT_QPN_BITS
						    : ADV_SLOTS + ((qpn - ADV_BLOCK_FIRST_QPN) >>
								   ADV_BLOCK_QPN_BITS));
}

#endif
