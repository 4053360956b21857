/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes and encodes the Base Transport Header and the extended headers (IBTA vol. 1, chapter 9).
 * All fields are in host order, except immediate data: verbs passes it through in network order.
 */
#ifndef ADV_NIC_WIRE_HEADERS_H
#define ADV_NIC_WIRE_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/wire/opcode.h"
#include "nic/wire/pkey.h"

#define ADV_BTH_LEN	      12
#define ADV_ICRC_LEN	      4
#define ADV_GRH_LEN	      40
#define ADV_HEADERS_MAX	      64 /* bytes; the headers of every opcode fit */
#define ADV_PSN_MASK	      0xffffffu
#define ADV_QPN_MASK	      0xffffffu
#define ADV_QPN_MULTICAST     0xffffffu
#define ADV_ROCE_UDP_PORT     4791
#define ADV_ROCE_V1_ETHERTYPE 0x8915

struct adv_bth {
	uint8_t opcode;
	bool solicited;
	bool migreq;
	uint8_t pad;	 /* bytes of padding behind the payload, 0 to 3 */
	uint8_t version; /* 0 */
	uint16_t pkey;
	bool fecn;
	bool becn;
	uint32_t dest_qpn; /* 24 bits */
	bool ackreq;
	uint32_t psn; /* 24 bits */
};

struct adv_headers {
	struct adv_bth bth;
	struct {
		uint32_t qkey;
		uint32_t src_qpn;
	} deth;
	struct {
		uint32_t xrcsrq;
	} xrceth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint32_t length;
	} reth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint64_t swap_add;
		uint64_t compare;
	} atomiceth;
	struct {
		uint8_t syndrome;
		uint32_t msn;
	} aeth;
	struct {
		uint64_t original;
	} atomicacketh;
	uint32_t immdt; /* network order, as in ibv_wc.imm_data */
	struct {
		uint32_t rkey;
	} ieth;
	struct {
		uint8_t selectivity;
		uint8_t placement;
	} feth; /* IBV_FLUSH_* numbers */
};

/* Bits of the BTH (IBTA 9.2): of its second byte, and of its last four bytes. */
#define ADV_BTH_SOLICITED 0x80
#define ADV_BTH_PAD_SHIFT 4
#define ADV_BTH_PAD_MASK  0x03
#define ADV_BTH_TVER_MASK 0x0f
#define ADV_BTH_ACKREQ	  0x80000000u

/* Returns the first 8 bytes of a BTH as a number: the first byte is the highest. Opcode and flags
 * are 0. */
static inline uint64_t adv_bth_start(uint16_t pkey, uint32_t dest_qpn)
{
	return (uint64_t)pkey << 32 | dest_qpn;
}

/* Returns the distance from PSN b to PSN a modulo 2^24. It is negative if a is before b. */
static inline int32_t adv_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t adv_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & ADV_PSN_MASK;
}

/*
 * Decodes the BTH and the extended headers of its opcode from p[0..len). Returns the length of
 * these headers. Returns 0 if there are too few bytes, the opcode is unknown or the header version
 * is not 0. *h is then unspecified, and the caller drops and counts the packet. Does not read
 * payload, padding and ICRC: the caller checks that bth.pad fits the rest.
 */
size_t adv_headers_decode(const uint8_t *p, size_t len, struct adv_headers *h);

/*
 * Encodes the BTH and the extended headers of h->bth.opcode to out, which has room for
 * ADV_HEADERS_MAX bytes. Returns the length; 0 for an unknown opcode. It is the inverse of
 * adv_headers_decode(); reserved bits are 0.
 */
size_t adv_headers_encode(const struct adv_headers *h, uint8_t *out);

/* AETH syndromes (IBTA 9.7.5.1.2, table 45). */
#define ADV_AETH_TYPE_MASK  0xe0
#define ADV_AETH_ACK	    0x00
#define ADV_AETH_RNR_NAK    0x20
#define ADV_AETH_NAK	    0x60
#define ADV_AETH_VALUE_MASK 0x1f
#define ADV_AETH_NO_CREDITS 0x1f /* credit count field: credits not in use */

enum adv_nak_code {
	ADV_NAK_PSN_SEQUENCE_ERROR = 0,
	ADV_NAK_INVALID_REQUEST = 1,
	ADV_NAK_REMOTE_ACCESS_ERROR = 2,
	ADV_NAK_REMOTE_OPERATIONAL_ERROR = 3,
	ADV_NAK_INVALID_RD_REQUEST = 4,
	/* Reserved by IBTA; see nic/requester/selective.h. */
	ADV_NAK_SELECTIVE = 31,
};

/* Returns the time of a 5-bit RNR NAK timer field, ns (table 46: 0 is 655.36 ms, 1 is 10 us, ...).
 */
uint64_t adv_rnr_timer_ns(uint8_t field);

/* Returns the bytes of payload for a path MTU of IBTA code 1..5 (256..4096); 0 for other codes. */
uint32_t adv_mtu_bytes(int mtu_code);

#endif
