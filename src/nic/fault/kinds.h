/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kinds of packets and their names in fault plans. Most kinds are IBTA opcodes. The other kinds are
 * ACKs, NAKs and CM messages, which the opcode alone does not distinguish. Pure.
 */
#ifndef ADV_NIC_FAULT_KINDS_H
#define ADV_NIC_FAULT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kind of a packet is its opcode, except for ACKNOWLEDGE. A UD packet to QP1 is also of the
 * kind ADV_FAULT_KIND_CM.
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

/* A set of kinds. */
struct adv_fault_kinds {
	uint64_t bit[(ADV_FAULT_KINDS + 63) / 64];
};

static inline bool adv_fault_kinds_has(const struct adv_fault_kinds *set, unsigned kind)
{
	return set->bit[kind / 64] >> (kind % 64) & 1;
}

/* Returns the kind of a packet with this opcode. syndrome (of the AETH) counts for ACKNOWLEDGE
 * only. */
unsigned adv_fault_kind_of(uint8_t opcode, uint8_t syndrome);

/*
 * True if the set contains the kind of some work request. `sent`: the kinds of send requests count;
 * that is the request packet (its ONLY form if there are several). `received`: the kinds of receive
 * requests count; that is the last packet of the message.
 */
bool adv_fault_kinds_has_request(const struct adv_fault_kinds *set, bool sent, bool received);

/*
 * Adds the kinds of this name to the set. A name is one of:
 * - an opcode ("rc-send-only", "RC_RDMA_READ_REQUEST"),
 * - an opcode of any service ("send-only"),
 * - the beginning of opcodes ("read-response", "uc"),
 * - a group ("request", "response", "atomic", "acknowledge", "ack", "nak", "rnr-nak", "cm").
 * Returns false, and leaves the set unchanged, if there is no such name.
 */
bool adv_fault_kinds_add(struct adv_fault_kinds *set, const char *name, size_t len);

/* Writes names, separated by commas, that yield exactly this set. Returns the length as snprintf(3)
 * does. */
size_t adv_fault_kinds_print(const struct adv_fault_kinds *set, char *out, size_t room);

#endif
