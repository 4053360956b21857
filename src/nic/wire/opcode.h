/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BTH opcodes (IBTA vol. 1, table 38; FLUSH and ATOMIC WRITE: annex A19) and a table of their
 * headers and properties.
 */
#ifndef ADV_NIC_WIRE_OPCODE_H
#define ADV_NIC_WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* The three high bits of an opcode: the transport service. */
enum adv_service {
	ADV_SERVICE_RC = 0x00,
	ADV_SERVICE_UC = 0x20,
	ADV_SERVICE_RD = 0x40,
	ADV_SERVICE_UD = 0x60,
	ADV_SERVICE_CNP = 0x80,
	ADV_SERVICE_XRC = 0xa0,
};
#define ADV_SERVICE_MASK 0xe0

/* The five low bits: the operation. */
enum adv_op {
	ADV_OP_SEND_FIRST = 0x00,
	ADV_OP_SEND_MIDDLE = 0x01,
	ADV_OP_SEND_LAST = 0x02,
	ADV_OP_SEND_LAST_WITH_IMM = 0x03,
	ADV_OP_SEND_ONLY = 0x04,
	ADV_OP_SEND_ONLY_WITH_IMM = 0x05,
	ADV_OP_WRITE_FIRST = 0x06,
	ADV_OP_WRITE_MIDDLE = 0x07,
	ADV_OP_WRITE_LAST = 0x08,
	ADV_OP_WRITE_LAST_WITH_IMM = 0x09,
	ADV_OP_WRITE_ONLY = 0x0a,
	ADV_OP_WRITE_ONLY_WITH_IMM = 0x0b,
	ADV_OP_READ_REQUEST = 0x0c,
	ADV_OP_READ_RESPONSE_FIRST = 0x0d,
	ADV_OP_READ_RESPONSE_MIDDLE = 0x0e,
	ADV_OP_READ_RESPONSE_LAST = 0x0f,
	ADV_OP_READ_RESPONSE_ONLY = 0x10,
	ADV_OP_ACKNOWLEDGE = 0x11,
	ADV_OP_ATOMIC_ACKNOWLEDGE = 0x12,
	ADV_OP_COMPARE_SWAP = 0x13,
	ADV_OP_FETCH_ADD = 0x14,
	ADV_OP_SEND_LAST_WITH_INV = 0x16,
	ADV_OP_SEND_ONLY_WITH_INV = 0x17,
	ADV_OP_FLUSH = 0x1c,
	ADV_OP_ATOMIC_WRITE = 0x1d,
};
#define ADV_OP_MASK 0x1f

/* RoCE v2 congestion notification packet (annex A17.9.3): a whole opcode. */
#define ADV_OPCODE_CNP 0x81

/* Two manufacturer's opcodes (table 38: 0xc0 and up). Adverb uses them within one machine only.
 * Their packets have a BTH and a DETH. The PSN counts packets, see nic/queue/unreliable.c. */
#define ADV_OPCODE_PROBE  0xc0
#define ADV_OPCODE_ANSWER 0xc1

/* The extended headers that follow the BTH, in this order on the wire. */
enum adv_header_bits {
	ADV_HAS_RDETH = 1 << 0,
	ADV_HAS_DETH = 1 << 1,
	ADV_HAS_XRCETH = 1 << 2,
	ADV_HAS_FETH = 1 << 3,
	ADV_HAS_RETH = 1 << 4,
	ADV_HAS_ATOMICETH = 1 << 5,
	ADV_HAS_AETH = 1 << 6,
	ADV_HAS_ATOMICACKETH = 1 << 7,
	ADV_HAS_IMMDT = 1 << 8,
	ADV_HAS_IETH = 1 << 9,
	ADV_HAS_CNP_PAD = 1 << 10, /* the CNP's 16 reserved bytes */
};

/* The packet's position in its message, and its operation. */
enum adv_opcode_flags {
	ADV_PKT_START = 1 << 0,	   /* FIRST or ONLY */
	ADV_PKT_END = 1 << 1,	   /* LAST or ONLY */
	ADV_PKT_PAYLOAD = 1 << 2,  /* may carry payload */
	ADV_PKT_REQUEST = 1 << 3,  /* sent by a requester */
	ADV_PKT_RESPONSE = 1 << 4, /* sent by a responder */
	ADV_PKT_SEND = 1 << 5,
	ADV_PKT_WRITE = 1 << 6,
	ADV_PKT_READ = 1 << 7,
	ADV_PKT_ATOMIC = 1 << 8,
};

struct adv_opcode_info {
	const char *name; /* "RC SEND_ONLY"; NULL: no such opcode */
	uint16_t headers; /* adv_header_bits */
	uint16_t flags;	  /* adv_opcode_flags */
	uint8_t length;	  /* bytes of BTH and extended headers */
};

/* Indexed by opcode; unknown opcodes have the name NULL. */
extern const struct adv_opcode_info adv_opcode_table[256];

#endif
