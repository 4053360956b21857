/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/mad.h"
#include "base/bytes.h"

bool adv_mad_header_decode(const uint8_t *p, size_t len, struct adv_mad_header *h)
{
	if (len < ADV_MAD_HEADER_LEN)
		return false;
	h->base_version = p[0];
	h->mgmt_class = p[1];
	h->class_version = p[2];
	h->method = p[3];
	h->status = adv_get_be16(p + 4);
	h->class_specific = adv_get_be16(p + 6);
	h->tid = adv_get_be64(p + 8);
	h->attribute = adv_get_be16(p + 16);
	h->modifier = adv_get_be32(p + 20);
	return true;
}

void adv_mad_header_encode(const struct adv_mad_header *h, uint8_t out[ADV_MAD_HEADER_LEN])
{
	out[0] = h->base_version;
	out[1] = h->mgmt_class;
	out[2] = h->class_version;
	out[3] = h->method;
	adv_put_be16(out + 4, h->status);
	adv_put_be16(out + 6, h->class_specific);
	adv_put_be64(out + 8, h->tid);
	adv_put_be16(out + 16, h->attribute);
	adv_put_be16(out + 18, 0);
	adv_put_be32(out + 20, h->modifier);
}
