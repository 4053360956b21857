/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/iwarp/ddp.h"
#include "base/bytes.h"

/* Bits of the two control bytes: DDP's, then RDMAP's. */
#define DDP_LAST	    0x40
#define DDP_VERSION_MASK    0x03
#define RDMAP_VERSION_SHIFT 6
#define RDMAP_OPCODE_MASK   0x0f

size_t adv_ddp_decode(const uint8_t *p, size_t len, struct adv_ddp_header *h)
{
	if (len == 0 || len < adv_ddp_header_len(p[0]))
		return 0;
	*h = (struct adv_ddp_header){
		.tagged = p[0] & ADV_DDP_TAGGED_BIT,
		.last = p[0] & DDP_LAST,
		.ddp_version = p[0] & DDP_VERSION_MASK,
		.rdmap_version = p[1] >> RDMAP_VERSION_SHIFT,
		.opcode = p[1] & RDMAP_OPCODE_MASK,
	};
	if (h->tagged) {
		h->stag = adv_get_be32(p + 2);
		h->to = adv_get_be64(p + 6);
		return ADV_DDP_TAGGED_LEN;
	}
	h->invalidate_stag = adv_get_be32(p + 2);
	h->queue = adv_get_be32(p + 6);
	h->msn = adv_get_be32(p + 10);
	h->mo = adv_get_be32(p + 14);
	return ADV_DDP_UNTAGGED_LEN;
}

size_t adv_ddp_encode(const struct adv_ddp_header *h, uint8_t *out)
{
	out[0] = (uint8_t)((h->tagged ? ADV_DDP_TAGGED_BIT : 0) | (h->last ? DDP_LAST : 0) |
			   (h->ddp_version & DDP_VERSION_MASK));
	out[1] = (uint8_t)(h->rdmap_version << RDMAP_VERSION_SHIFT |
			   (h->opcode & RDMAP_OPCODE_MASK));
	if (h->tagged) {
		adv_put_be32(out + 2, h->stag);
		adv_put_be64(out + 6, h->to);
		return ADV_DDP_TAGGED_LEN;
	}
	adv_put_be32(out + 2, h->invalidate_stag);
	adv_put_be32(out + 6, h->queue);
	adv_put_be32(out + 10, h->msn);
	adv_put_be32(out + 14, h->mo);
	return ADV_DDP_UNTAGGED_LEN;
}
