/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/rpcrdma/private_data.h"

#include "base/bytes.h"

enum { VERSION = 1, INVALIDATION = 1 };
#define MAGIC 0xf6ab0e18u

static uint8_t encode_size(uint32_t size)
{
	if (size > ADV_RPCRDMA_INLINE_MAX)
		size = ADV_RPCRDMA_INLINE_MAX;
	return (uint8_t)(size < 1024 ? 0 : (size >> 10) - 1);
}

void adv_rpcrdma_private_data_encode(const struct adv_rpcrdma_private_data *p,
				     uint8_t out[ADV_RPCRDMA_PRIVATE_LEN])
{
	adv_put_be32(out, MAGIC);
	out[4] = VERSION;
	out[5] = p->remote_invalidation ? INVALIDATION : 0;
	out[6] = encode_size(p->send_size);
	out[7] = encode_size(p->receive_size);
}

bool adv_rpcrdma_private_data_decode(const uint8_t *in, size_t len,
				     struct adv_rpcrdma_private_data *p)
{
	*p = (struct adv_rpcrdma_private_data){
		.send_size = ADV_RPCRDMA_INLINE_DEFAULT,
		.receive_size = ADV_RPCRDMA_INLINE_DEFAULT,
	};
	for (size_t at = 0; at + ADV_RPCRDMA_PRIVATE_LEN <= len; at++) {
		if (adv_get_be32(in + at) != MAGIC || in[at + 4] != VERSION)
			continue;
		p->remote_invalidation = in[at + 5] & INVALIDATION;
		p->send_size = (in[at + 6] + 1u) << 10;
		p->receive_size = (in[at + 7] + 1u) << 10;
		return true;
	}
	return false;
}
