/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the QP numbers of a machine are divided among its processes. The top 13 bits of a number are
 * its prefix. Numbers whose top bit is 0 are the slots' own: there the prefix is the slot, a socket
 * of port 4791, which has 2,048 numbers. Those whose top bit is 1 are blocks of 65,536 (32
 * prefixes) that slots get besides, when theirs get few.
 */
#ifndef ADV_WIRE_SLOT_H
#define ADV_WIRE_SLOT_H

#include <stdint.h>

#define ADV_PREFIX_SHIFT    11 /* the prefix of a QPN is qpn >> ADV_PREFIX_SHIFT */
#define ADV_PREFIXES	    8192

#define ADV_SLOTS	    4096
#define ADV_SLOT_DAEMON	    0 /* QP0, QP1 */
#define ADV_SLOT_NOBODY	    1 /* its socket gets what is for nobody, and is not read */
#define ADV_SLOT_FIRST	    2 /* of those that processes get */
#define ADV_SLOT_QPN_BITS   ADV_PREFIX_SHIFT
#define ADV_SLOT_QPNS	    (1u << ADV_SLOT_QPN_BITS)
#define ADV_BLOCKS	    127 /* one more would have the multicast QPN */
#define ADV_BLOCK_QPN_BITS  16
#define ADV_BLOCK_QPNS	    (1u << ADV_BLOCK_QPN_BITS)
#define ADV_BLOCK_FIRST_QPN 0x800000u
#define ADV_BLOCK_PREFIXES  (ADV_BLOCK_QPNS >> ADV_PREFIX_SHIFT)

/* 24-bit QPN; 0 to ADV_PREFIXES - 1. */
static inline uint16_t adv_qpn_prefix(uint32_t qpn)
{
	return (uint16_t)(qpn >> ADV_PREFIX_SHIFT);
}

/* The first QPN of a slot, and of a block. */
static inline uint32_t adv_slot_qpn(uint32_t slot)
{
	return slot << ADV_SLOT_QPN_BITS;
}

static inline uint32_t adv_block_qpn(uint32_t block)
{
	return ADV_BLOCK_FIRST_QPN + (block << ADV_BLOCK_QPN_BITS);
}

/*
 * What goes to one socket, for who knows no more than the number: the slot, or ADV_SLOTS and more
 * for a block. Two of these may still be one process's.
 */
static inline uint16_t adv_qpn_target(uint32_t qpn)
{
	return (uint16_t)(qpn < ADV_BLOCK_FIRST_QPN ? qpn >> ADV_SLOT_QPN_BITS
						    : ADV_SLOTS + ((qpn - ADV_BLOCK_FIRST_QPN) >>
								   ADV_BLOCK_QPN_BITS));
}

#endif
