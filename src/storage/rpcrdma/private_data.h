/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The private data of a connection's set-up (RFC 8797): what each side can do. */
#ifndef ADV_STORAGE_RPCRDMA_PRIVATE_DATA_H
#define ADV_STORAGE_RPCRDMA_PRIVATE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADV_RPCRDMA_PRIVATE_LEN = 8,
	ADV_RPCRDMA_INLINE_DEFAULT = 1024, /* inline threshold without private data (RFC 8166) */
	ADV_RPCRDMA_INLINE_MAX = 256 << 10,
};

struct adv_rpcrdma_private_data {
	bool remote_invalidation; /* the sender of this supports it as a requester */
	uint32_t send_size;	  /* largest message that it sends, bytes */
	uint32_t receive_size;	  /* largest message that it can receive, bytes */
};

/* Encodes the message. Sizes are rounded down to multiples of 1,024, and are 1,024 to 262,144. */
void adv_rpcrdma_private_data_encode(const struct adv_rpcrdma_private_data *p,
				     uint8_t out[ADV_RPCRDMA_PRIVATE_LEN]);
/* Finds the message in private data: transports may put bytes in front of it. If there is none, `p`
 * gets the values of a peer that does not know RFC 8797, and the function returns false. */
bool adv_rpcrdma_private_data_decode(const uint8_t *in, size_t len,
				     struct adv_rpcrdma_private_data *p);

#endif
