/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "nic/iwarp/mpa.h"
#include "base/bytes.h"

#define KEY_LEN	    16
#define FLAGS_AT    16
#define REVISION_AT 17
#define LENGTH_AT   18

/* Flags of RFC 5044 section 7.1.1, and S of RFC 6581 section 9.1. */
#define FLAG_MARKERS  0x80
#define FLAG_CRC      0x40
#define FLAG_REJECT   0x20
#define FLAG_ENHANCED 0x10

/* Bits of the IRD and ORD fields (RFC 6581 section 9.2). */
#define IRD_PEER_TO_PEER 0x8000
#define IRD_RTR_SEND	 0x4000
#define ORD_RTR_WRITE	 0x8000
#define ORD_RTR_READ	 0x4000

static const char *const keys[] = {
	[ADV_MPA_REQUEST] = "MPA ID Req Frame",
	[ADV_MPA_REPLY] = "MPA ID Rep Frame",
};

static void decode_enhanced(const uint8_t *p, struct adv_mpa_frame *f)
{
	uint16_t ird = adv_get_be16(p), ord = adv_get_be16(p + 2);

	f->ird = ird & ADV_MPA_IRD_MAX;
	f->ord = ord & ADV_MPA_IRD_MAX;
	f->peer_to_peer = ird & IRD_PEER_TO_PEER;
	f->rtr_send = ird & IRD_RTR_SEND;
	f->rtr_write = ord & ORD_RTR_WRITE;
	f->rtr_read = ord & ORD_RTR_READ;
}

static void encode_enhanced(const struct adv_mpa_frame *f, uint8_t *out)
{
	adv_put_be16(out, (uint16_t)(f->ird | (f->peer_to_peer ? IRD_PEER_TO_PEER : 0) |
				     (f->rtr_send ? IRD_RTR_SEND : 0)));
	adv_put_be16(out + 2, (uint16_t)(f->ord | (f->rtr_write ? ORD_RTR_WRITE : 0) |
					 (f->rtr_read ? ORD_RTR_READ : 0)));
}

enum adv_mpa_status adv_mpa_decode(const uint8_t *p, size_t len, enum adv_mpa_kind kind,
				   struct adv_mpa_frame *f, size_t *used)
{
	size_t private_len;

	if (memcmp(p, keys[kind], len < KEY_LEN ? len : KEY_LEN) != 0)
		return ADV_MPA_BAD_KEY;
	if (len < ADV_MPA_FRAME_LEN)
		return ADV_MPA_MORE;
	private_len = adv_get_be16(p + LENGTH_AT);
	*f = (struct adv_mpa_frame){
		.kind = kind,
		.markers = p[FLAGS_AT] & FLAG_MARKERS,
		.crc = p[FLAGS_AT] & FLAG_CRC,
		.reject = p[FLAGS_AT] & FLAG_REJECT,
		.revision = p[REVISION_AT],
		.enhanced = p[FLAGS_AT] & FLAG_ENHANCED && p[REVISION_AT] >= 2,
	};
	if (private_len > ADV_MPA_PRIVATE_MAX ||
	    (f->enhanced && private_len < ADV_MPA_ENHANCED_LEN))
		return ADV_MPA_BAD_LENGTH;
	*used = ADV_MPA_FRAME_LEN + private_len;
	if (len < *used)
		return ADV_MPA_MORE;
	f->private_data = p + ADV_MPA_FRAME_LEN;
	f->private_len = (uint16_t)private_len;
	if (f->enhanced) {
		decode_enhanced(f->private_data, f);
		f->private_data += ADV_MPA_ENHANCED_LEN;
		f->private_len -= ADV_MPA_ENHANCED_LEN;
	}
	return ADV_MPA_OK;
}

size_t adv_mpa_encode(const struct adv_mpa_frame *f, uint8_t *out)
{
	size_t enhanced_len = f->enhanced ? ADV_MPA_ENHANCED_LEN : 0;
	uint8_t *p = out + ADV_MPA_FRAME_LEN;

	if (f->private_len + enhanced_len > ADV_MPA_PRIVATE_MAX || f->ird > ADV_MPA_IRD_MAX ||
	    f->ord > ADV_MPA_IRD_MAX)
		return 0;
	memcpy(out, keys[f->kind], KEY_LEN);
	out[FLAGS_AT] =
		(uint8_t)((f->markers ? FLAG_MARKERS : 0) | (f->crc ? FLAG_CRC : 0) |
			  (f->reject ? FLAG_REJECT : 0) | (f->enhanced ? FLAG_ENHANCED : 0));
	out[REVISION_AT] = f->revision;
	adv_put_be16(out + LENGTH_AT, (uint16_t)(f->private_len + enhanced_len));
	if (f->enhanced)
		encode_enhanced(f, p);
	p += enhanced_len;
	if (f->private_len)
		memcpy(p, f->private_data, f->private_len);
	return ADV_MPA_FRAME_LEN + enhanced_len + f->private_len;
}
