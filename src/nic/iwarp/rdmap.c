/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/iwarp/rdmap.h"
#include "base/bytes.h"

/* Terminate control (RFC 5040 figure 8). */
#define TERMINATE_CONTROL_LEN 4
#define DDP_LENGTH_LEN	      2
#define FLAG_DDP_LENGTH	      0x80
#define FLAG_DDP	      0x40
#define FLAG_RDMAP	      0x20
#define FLAGS_RFC	      0xe0
#define SIW_FLAG_DDP_LENGTH   0x01
#define SIW_FLAG_DDP	      0x02
#define SIW_FLAG_RDMAP	      0x04
#define FLAGS_SIW	      0x07

size_t adv_rdmap_decode_read_request(const uint8_t *p, size_t len, struct adv_rdmap_read_request *r)
{
	if (len < ADV_RDMAP_READ_REQUEST_LEN)
		return 0;
	r->sink_stag = adv_get_be32(p);
	r->sink_to = adv_get_be64(p + 4);
	r->length = adv_get_be32(p + 12);
	r->source_stag = adv_get_be32(p + 16);
	r->source_to = adv_get_be64(p + 20);
	return ADV_RDMAP_READ_REQUEST_LEN;
}

size_t adv_rdmap_encode_read_request(const struct adv_rdmap_read_request *r, uint8_t *out)
{
	adv_put_be32(out, r->sink_stag);
	adv_put_be64(out + 4, r->sink_to);
	adv_put_be32(out + 12, r->length);
	adv_put_be32(out + 16, r->source_stag);
	adv_put_be64(out + 20, r->source_to);
	return ADV_RDMAP_READ_REQUEST_LEN;
}

size_t adv_rdmap_decode_atomic_request(const uint8_t *p, size_t len,
				       struct adv_rdmap_atomic_request *r)
{
	if (len < ADV_RDMAP_ATOMIC_REQUEST_LEN)
		return 0;
	r->operation = p[3] & 0x0f;
	r->id = adv_get_be32(p + 4);
	r->stag = adv_get_be32(p + 8);
	r->to = adv_get_be64(p + 12);
	r->add_swap = adv_get_be64(p + 20);
	r->add_swap_mask = adv_get_be64(p + 28);
	r->compare = adv_get_be64(p + 36);
	r->compare_mask = adv_get_be64(p + 44);
	return ADV_RDMAP_ATOMIC_REQUEST_LEN;
}

size_t adv_rdmap_encode_atomic_request(const struct adv_rdmap_atomic_request *r, uint8_t *out)
{
	adv_put_be32(out, r->operation & 0x0f);
	adv_put_be32(out + 4, r->id);
	adv_put_be32(out + 8, r->stag);
	adv_put_be64(out + 12, r->to);
	adv_put_be64(out + 20, r->add_swap);
	adv_put_be64(out + 28, r->add_swap_mask);
	adv_put_be64(out + 36, r->compare);
	adv_put_be64(out + 44, r->compare_mask);
	return ADV_RDMAP_ATOMIC_REQUEST_LEN;
}

size_t adv_rdmap_decode_atomic_response(const uint8_t *p, size_t len,
					struct adv_rdmap_atomic_response *r)
{
	if (len < ADV_RDMAP_ATOMIC_RESPONSE_LEN)
		return 0;
	r->id = adv_get_be32(p);
	r->original = adv_get_be64(p + 4);
	return ADV_RDMAP_ATOMIC_RESPONSE_LEN;
}

size_t adv_rdmap_encode_atomic_response(const struct adv_rdmap_atomic_response *r, uint8_t *out)
{
	adv_put_be32(out, r->id);
	adv_put_be64(out + 4, r->original);
	return ADV_RDMAP_ATOMIC_RESPONSE_LEN;
}

static void decode_terminate_control(const uint8_t *p, struct adv_rdmap_terminate *t)
{
	bool siw = !(p[2] & FLAGS_RFC) && p[2] & FLAGS_SIW;
	uint8_t high = p[0] >> 4, low = p[0] & 0x0f;

	*t = (struct adv_rdmap_terminate){
		.layer = siw ? low : high,
		.type = siw ? high : low,
		.code = p[1],
		.has_ddp_length = p[2] & (siw ? SIW_FLAG_DDP_LENGTH : FLAG_DDP_LENGTH),
		.has_ddp = p[2] & (siw ? SIW_FLAG_DDP : FLAG_DDP),
		.has_rdmap = p[2] & (siw ? SIW_FLAG_RDMAP : FLAG_RDMAP),
	};
}

size_t adv_rdmap_decode_terminate(const uint8_t *p, size_t len, struct adv_rdmap_terminate *t)
{
	const uint8_t *end = p + len, *start = p;
	size_t n;

	if (len < TERMINATE_CONTROL_LEN)
		return 0;
	decode_terminate_control(p, t);
	p += TERMINATE_CONTROL_LEN;
	if (!t->has_ddp_length && !t->has_ddp && !t->has_rdmap)
		return (size_t)(p - start);
	if (end - p < DDP_LENGTH_LEN) {
		t->has_ddp_length = t->has_ddp = t->has_rdmap = false;
		return (size_t)(p - start);
	}
	t->ddp_length = adv_get_be16(p);
	p += DDP_LENGTH_LEN;
	n = t->has_ddp ? adv_ddp_decode(p, (size_t)(end - p), &t->ddp) : 0;
	t->has_ddp = n != 0;
	p += n;
	n = t->has_rdmap && t->has_ddp
		    ? adv_rdmap_decode_read_request(p, (size_t)(end - p), &t->read)
		    : 0;
	t->has_rdmap = n != 0;
	p += n;
	return (size_t)(p - start);
}

size_t adv_rdmap_encode_terminate(const struct adv_rdmap_terminate *t, uint8_t *out)
{
	uint8_t *p = out;

	*p++ = (uint8_t)(t->layer << 4 | (t->type & 0x0f));
	*p++ = t->code;
	*p++ = (uint8_t)((t->has_ddp_length ? FLAG_DDP_LENGTH : 0) | (t->has_ddp ? FLAG_DDP : 0) |
			 (t->has_rdmap ? FLAG_RDMAP : 0));
	*p++ = 0;
	if (t->has_ddp_length || t->has_ddp) {
		adv_put_be16(p, t->ddp_length);
		p += DDP_LENGTH_LEN;
	}
	if (t->has_ddp)
		p += adv_ddp_encode(&t->ddp, p);
	if (t->has_ddp && t->has_rdmap)
		p += adv_rdmap_encode_read_request(&t->read, p);
	return (size_t)(p - out);
}
