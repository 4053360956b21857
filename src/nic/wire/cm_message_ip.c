/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/cm_message_ip.h"
#include "base/bytes.h"

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static void address_decode(const uint8_t *p, uint8_t ip_version, struct adv_gid *gid)
{
	memcpy(gid->raw, p, 16);
	if (ip_version == 4)
		memcpy(gid->raw, mapped_prefix, sizeof(mapped_prefix));
}

static void address_encode(const struct adv_gid *gid, uint8_t ip_version, uint8_t *p)
{
	memcpy(p, gid->raw, 16);
	if (ip_version == 4)
		memset(p, 0, sizeof(mapped_prefix));
}

bool adv_cm_ip_header_decode(const uint8_t *p, size_t len, struct adv_cm_ip_header *h)
{
	if (len < ADV_CM_IP_HEADER_LEN || p[0] >> 4 != 0)
		return false;
	h->major = p[0] >> 4;
	h->minor = p[0] & 0xf;
	h->ip_version = p[1] >> 4;
	if (h->ip_version != 4 && h->ip_version != 6)
		return false;
	h->source_port = adv_get_be16(p + 2);
	address_decode(p + 4, h->ip_version, &h->source);
	address_decode(p + 20, h->ip_version, &h->destination);
	return true;
}

void adv_cm_ip_header_encode(const struct adv_cm_ip_header *h, uint8_t out[ADV_CM_IP_HEADER_LEN])
{
	out[0] = (uint8_t)(h->major << 4 | (h->minor & 0xf));
	out[1] = (uint8_t)(h->ip_version << 4);
	adv_put_be16(out + 2, h->source_port);
	address_encode(&h->source, h->ip_version, out + 4);
	address_encode(&h->destination, h->ip_version, out + 20);
}
