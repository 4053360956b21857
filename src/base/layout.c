/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/layout.h"

#include <string.h>

/* Returns the shift of byte i of a number of `bytes` bytes. */
static unsigned shift_of(const struct adv_layout *l, unsigned bytes, unsigned i)
{
	return 8 * (l->little ? i : bytes - 1 - i);
}

static uint64_t mask_of(const struct adv_field *f)
{
	return UINT64_MAX >> (64 - f->bits);
}

static unsigned bytes_of(const struct adv_field *f)
{
	return (f->shift + f->bits + 7u) / 8;
}

static uint64_t load_bytes(const struct adv_layout *l, const struct adv_field *f, const uint8_t *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes_of(f); i++)
		v |= (uint64_t)p[i] << shift_of(l, bytes_of(f), i);
	return v;
}

static uint64_t load_member(const struct adv_field *f, const void *member)
{
	switch (f->size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		return *(const uint16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		return *(const uint64_t *)member;
	}
}

static void store_member(const struct adv_field *f, void *member, uint64_t v)
{
	switch (f->size) {
	case 1:
		*(uint8_t *)member = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)member = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)member = (uint32_t)v;
		break;
	default:
		*(uint64_t *)member = v;
	}
}

void adv_layout_decode(const struct adv_layout *l, const uint8_t *in, void *out)
{
	for (const struct adv_field *f = l->field; f < l->field + l->count; f++) {
		void *member = (char *)out + f->into;
		uint64_t v;

		if (f->of) {
			adv_layout_decode(f->of, in + f->at, member);
			continue;
		}
		if (f->bits == 0) {
			memcpy(member, in + f->at, f->size);
			continue;
		}
		v = (load_bytes(l, f, in + f->at) >> f->shift & mask_of(f)) << f->up;
		store_member(f, member, f->up ? load_member(f, member) | v : v);
	}
}

void adv_layout_encode(const struct adv_layout *l, const void *in, uint8_t *out)
{
	for (const struct adv_field *f = l->field; f < l->field + l->count; f++) {
		const void *member = (const char *)in + f->into;
		uint8_t *p = out + f->at;
		uint64_t v;

		if (f->of) {
			adv_layout_encode(f->of, member, p);
			continue;
		}
		if (f->bits == 0) {
			memcpy(p, member, f->size);
			continue;
		}
		v = load_bytes(l, f, p) & ~(mask_of(f) << f->shift);
		v |= (load_member(f, member) >> f->up & mask_of(f)) << f->shift;
		for (unsigned i = 0; i < bytes_of(f); i++)
			p[i] = (uint8_t)(v >> shift_of(l, bytes_of(f), i));
	}
}
