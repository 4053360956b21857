/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of packets, as fault plans use them: those of IBTA's opcodes, and of what an opcode
 * alone does not tell: positive and negative acknowledgements, messages of the connection
 * manager.
 */
#ifndef ADV_LINK_FAULT_OPCODE_H
#define ADV_LINK_FAULT_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A packet is of one kind, which is its opcode but for ACKNOWLEDGE, and of the kind
 * ADV_FAULT_KIND_CM besides where it is a UD packet to QP1.
 */
enum {
	ADV_FAULT_KIND_RC_ACK = 256,
	ADV_FAULT_KIND_RC_RNR_NAK,
	ADV_FAULT_KIND_RC_NAK,
	ADV_FAULT_KIND_XRC_ACK,
	ADV_FAULT_KIND_XRC_RNR_NAK,
	ADV_FAULT_KIND_XRC_NAK,
	ADV_FAULT_KIND_CM,
	ADV_FAULT_KINDS
};

struct adv_fault_kinds {
	uint64_t bit[(ADV_FAULT_KINDS + 63) / 64];
};

static inline bool adv_fault_kinds_has(const struct adv_fault_kinds *set, unsigned kind)
{
	return set->bit[kind / 64] >> (kind % 64) & 1;
}

/* The kind of a packet with this opcode and, where it is an ACKNOWLEDGE, this AETH syndrome. */
unsigned adv_fault_kind(uint8_t opcode, uint8_t syndrome);

/*
 * A packet of the set is of the kind by which a request is known: of one that is sent, the name
 * with ONLY where there are several; of one that receives, the last of the message.
 */
bool adv_fault_kinds_has_request(const struct adv_fault_kinds *set, bool sent, bool received);

/*
 * Adds to the set what the name says: an opcode ("rc-send-only", "RC_RDMA_READ_REQUEST"), one
 * of any service ("send-only"), all that begin so ("read-response", "uc"), or a group
 * ("request", "response", "atomic", "acknowledge", "ack", "nak", "rnr-nak", "cm"). False: there is
 * no such name, and the set is as it was.
 */
bool adv_fault_kinds_add(struct adv_fault_kinds *set, const char *name, size_t len);

/* Writes names, with commas, that give just this set. As snprintf(3): returns the length. */
size_t adv_fault_kinds_print(const struct adv_fault_kinds *set, char *out, size_t room);

#endif
