/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers of a DDP segment (RFC 5041 section 4) with RDMAP's control byte (RFC 5040 section
 * 4.1). All fields are in host order.
 *
 * A tagged segment names the memory for its payload: an STag and an offset. An untagged one names a
 * queue of the receiver, a message in it and the offset in the message.
 */
#ifndef ADV_NIC_IWARP_DDP_H
#define ADV_NIC_IWARP_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_DDP_TAGGED_LEN   14
#define ADV_DDP_UNTAGGED_LEN 18
#define ADV_DDP_HEADER_MAX   ADV_DDP_UNTAGGED_LEN
#define ADV_DDP_TAGGED_BIT   0x80 /* of the first byte */
#define ADV_DDP_VERSION	     1

/* Queues of untagged messages (RFC 5040 section 4.1, RFC 7306 section 4). */
enum adv_ddp_queue {
	ADV_DDP_QUEUE_SEND = 0,
	ADV_DDP_QUEUE_READ_REQUEST = 1, /* atomic requests, too */
	ADV_DDP_QUEUE_TERMINATE = 2,
	ADV_DDP_QUEUE_ATOMIC_RESPONSE = 3,
};

struct adv_ddp_header {
	bool tagged;
	bool last; /* the last segment of its message */
	uint8_t ddp_version;
	uint8_t rdmap_version;
	uint8_t opcode; /* enum adv_rdmap_opcode, or a value without a name */
	/* tagged */
	uint32_t stag;
	uint64_t to; /* tagged offset */
	/* untagged */
	uint32_t invalidate_stag; /* of the SENDs that invalidate; else 0 */
	uint32_t queue;
	uint32_t msn; /* message sequence number: each queue begins with 1 */
	uint32_t mo;  /* offset of the payload in its message */
};

/* Returns the length of the header that begins with this byte. */
static inline size_t adv_ddp_header_len(uint8_t first)
{
	return first & ADV_DDP_TAGGED_BIT ? ADV_DDP_TAGGED_LEN : ADV_DDP_UNTAGGED_LEN;
}

/* Decodes a header from p[0..len). Returns its length; 0 if there are too few bytes. Versions and
 * opcode are the caller's to check. Reserved bits are ignored. */
size_t adv_ddp_decode(const uint8_t *p, size_t len, struct adv_ddp_header *h);

/* Encodes a header to out, which has room for ADV_DDP_HEADER_MAX bytes, and returns its length. It
 * is the inverse of adv_ddp_decode(); reserved bits are 0. */
size_t adv_ddp_encode(const struct adv_ddp_header *h, uint8_t *out);

#endif
