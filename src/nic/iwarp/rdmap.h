/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of RDMAP that have a format of their own: READ requests, Terminate (RFC 5040
 * sections 4.4 and 4.8) and atomics (RFC 7306 section 5). They are the payload of untagged DDP
 * segments. All fields are in host order.
 */
#ifndef ADV_NIC_IWARP_RDMAP_H
#define ADV_NIC_IWARP_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/iwarp/ddp.h"

#define ADV_RDMAP_VERSION	      1
#define ADV_RDMAP_READ_REQUEST_LEN    28
#define ADV_RDMAP_ATOMIC_REQUEST_LEN  52
#define ADV_RDMAP_ATOMIC_RESPONSE_LEN 12
#define ADV_RDMAP_IMMEDIATE_LEN	      8
#define ADV_RDMAP_TERMINATE_MAX	      (6 + ADV_DDP_HEADER_MAX + ADV_RDMAP_READ_REQUEST_LEN)

enum adv_rdmap_opcode {
	ADV_RDMAP_WRITE = 0,
	ADV_RDMAP_READ_REQUEST = 1,
	ADV_RDMAP_READ_RESPONSE = 2,
	ADV_RDMAP_SEND = 3,
	ADV_RDMAP_SEND_INVALIDATE = 4,
	ADV_RDMAP_SEND_SE = 5,
	ADV_RDMAP_SEND_SE_INVALIDATE = 6,
	ADV_RDMAP_TERMINATE = 7,
	ADV_RDMAP_IMMEDIATE = 8,
	ADV_RDMAP_IMMEDIATE_SE = 9,
	ADV_RDMAP_ATOMIC_REQUEST = 10,
	ADV_RDMAP_ATOMIC_RESPONSE = 11,
};

struct adv_rdmap_read_request {
	uint32_t sink_stag; /* where the requester wants the data */
	uint64_t sink_to;
	uint32_t length;
	uint32_t source_stag; /* what the responder reads */
	uint64_t source_to;
};

enum adv_rdmap_atomic {
	ADV_RDMAP_FETCH_ADD = 0,
	ADV_RDMAP_COMPARE_SWAP = 2,
};

struct adv_rdmap_atomic_request {
	uint8_t operation; /* enum adv_rdmap_atomic, or a value without a name */
	uint32_t id;	   /* the response repeats it */
	uint32_t stag;
	uint64_t to;
	uint64_t add_swap;
	uint64_t add_swap_mask;
	uint64_t compare;
	uint64_t compare_mask;
};

struct adv_rdmap_atomic_response {
	uint32_t id;
	uint64_t original;
};

/* Who found the error, and its type (RFC 5040 section 4.8, figures 9 and 10). */
enum adv_terminate_layer {
	ADV_TERMINATE_RDMAP = 0,
	ADV_TERMINATE_DDP = 1,
	ADV_TERMINATE_LLP = 2, /* MPA */
};

enum adv_terminate_type {
	ADV_TERMINATE_LOCAL_CATASTROPHIC = 0, /* of every layer; of MPA: an MPA error */
	ADV_TERMINATE_RDMAP_PROTECTION = 1,
	ADV_TERMINATE_RDMAP_OPERATION = 2,
	ADV_TERMINATE_DDP_TAGGED = 1,
	ADV_TERMINATE_DDP_UNTAGGED = 2,
};

struct adv_rdmap_terminate {
	uint8_t layer; /* enum adv_terminate_layer */
	uint8_t type;  /* enum adv_terminate_type, for this layer */
	uint8_t code;
	bool has_ddp;	     /* D: the header of the segment that was wrong follows */
	bool has_ddp_length; /* M: the length of this segment is valid */
	bool has_rdmap;	     /* R: the READ request of this segment follows */
	uint16_t ddp_length;
	struct adv_ddp_header ddp;
	struct adv_rdmap_read_request read;
};

/*
 * The decoders read p[0..len). Each returns the number of bytes that it has read; 0 if there are
 * too few. The encoders write to out, which has room for the length above, and return the number of
 * bytes written. A decoder and its encoder are each other's inverse; reserved bits are 0.
 */
size_t adv_rdmap_decode_read_request(const uint8_t *p, size_t len,
				     struct adv_rdmap_read_request *r);
size_t adv_rdmap_encode_read_request(const struct adv_rdmap_read_request *r, uint8_t *out);
size_t adv_rdmap_decode_atomic_request(const uint8_t *p, size_t len,
				       struct adv_rdmap_atomic_request *r);
size_t adv_rdmap_encode_atomic_request(const struct adv_rdmap_atomic_request *r, uint8_t *out);
size_t adv_rdmap_decode_atomic_response(const uint8_t *p, size_t len,
					struct adv_rdmap_atomic_response *r);
size_t adv_rdmap_encode_atomic_response(const struct adv_rdmap_atomic_response *r, uint8_t *out);

/*
 * As above, for Terminate. The decoder also understands the layout of Linux's siw, which swaps
 * layer with type and has the flags M, D and R at the other end of their byte: a Terminate is taken
 * as siw's if only the flags' place of siw has bits. What the flags announce may be cut short: the
 * flags of *t tell what was there.
 */
size_t adv_rdmap_decode_terminate(const uint8_t *p, size_t len, struct adv_rdmap_terminate *t);
size_t adv_rdmap_encode_terminate(const struct adv_rdmap_terminate *t, uint8_t *out);

#endif
