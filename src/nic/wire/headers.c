/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/headers.h"
#include "base/bytes.h"

/* Bits of the BTH (IBTA 9.2) that only this file reads. */
#define BTH_MIGREQ 0x40
#define BTH_FECN   0x80
#define BTH_BECN   0x40

/* Bits of the FETH (annex A19): placement type, then selectivity level. */
#define FETH_PLACEMENT_MASK    0x0fu
#define FETH_SELECTIVITY_MASK  0x03u
#define FETH_SELECTIVITY_SHIFT 4

#define CNP_PAD_LEN	       16

static void bth_decode(const uint8_t *p, struct adv_bth *bth)
{
	uint32_t last = adv_get_be32(p + 8);

	bth->opcode = p[0];
	bth->solicited = p[1] & ADV_BTH_SOLICITED;
	bth->migreq = p[1] & BTH_MIGREQ;
	bth->pad = (p[1] >> ADV_BTH_PAD_SHIFT) & ADV_BTH_PAD_MASK;
	bth->version = p[1] & ADV_BTH_TVER_MASK;
	bth->pkey = adv_get_be16(p + 2);
	bth->fecn = p[4] & BTH_FECN;
	bth->becn = p[4] & BTH_BECN;
	bth->dest_qpn = adv_get_be32(p + 4) & ADV_QPN_MASK;
	bth->ackreq = last & ADV_BTH_ACKREQ;
	bth->psn = last & ADV_PSN_MASK;
}

static void bth_encode(const struct adv_bth *bth, uint8_t *out)
{
	out[0] = bth->opcode;
	out[1] = (uint8_t)((bth->solicited ? ADV_BTH_SOLICITED : 0) |
			   (bth->migreq ? BTH_MIGREQ : 0) |
			   (bth->pad & ADV_BTH_PAD_MASK) << ADV_BTH_PAD_SHIFT |
			   (bth->version & ADV_BTH_TVER_MASK));
	adv_put_be16(out + 2, bth->pkey);
	adv_put_be32(out + 4, bth->dest_qpn & ADV_QPN_MASK);
	out[4] = (uint8_t)((bth->fecn ? BTH_FECN : 0) | (bth->becn ? BTH_BECN : 0));
	adv_put_be32(out + 8, (bth->ackreq ? ADV_BTH_ACKREQ : 0) | (bth->psn & ADV_PSN_MASK));
}

/* Decodes the rare headers: those of datagrams, XRC and FLUSH. A separate function keeps them out
 * of the path of the common headers. */
static const uint8_t *rare_decode(const uint8_t *p, uint16_t has, struct adv_headers *h)
{
	if (has & ADV_HAS_DETH) {
		h->deth.qkey = adv_get_be32(p);
		h->deth.src_qpn = adv_get_be32(p + 4) & ADV_QPN_MASK;
		p += 8;
	}
	if (has & ADV_HAS_XRCETH) {
		h->xrceth.xrcsrq = adv_get_be32(p) & ADV_QPN_MASK;
		p += 4;
	}
	if (has & ADV_HAS_FETH) {
		uint32_t feth = adv_get_be32(p);

		h->feth.placement = feth & FETH_PLACEMENT_MASK;
		h->feth.selectivity = (feth >> FETH_SELECTIVITY_SHIFT) & FETH_SELECTIVITY_MASK;
		p += 4;
	}
	return p;
}

static uint8_t *rare_encode(const struct adv_headers *h, uint16_t has, uint8_t *p)
{
	if (has & ADV_HAS_DETH) {
		adv_put_be32(p, h->deth.qkey);
		adv_put_be32(p + 4, h->deth.src_qpn & ADV_QPN_MASK);
		p += 8;
	}
	if (has & ADV_HAS_XRCETH) {
		adv_put_be32(p, h->xrceth.xrcsrq & ADV_QPN_MASK);
		p += 4;
	}
	if (has & ADV_HAS_FETH) {
		adv_put_be32(p, (h->feth.placement & FETH_PLACEMENT_MASK) |
					(h->feth.selectivity & FETH_SELECTIVITY_MASK)
						<< FETH_SELECTIVITY_SHIFT);
		p += 4;
	}
	return p;
}

size_t adv_headers_decode(const uint8_t *p, size_t len, struct adv_headers *h)
{
	const struct adv_opcode_info *info;
	uint16_t has;

	if (len < ADV_BTH_LEN)
		return 0;
	info = &adv_opcode_table[p[0]];
	if (!info->name || len < info->length)
		return 0;
	bth_decode(p, &h->bth);
	if (h->bth.version != 0)
		return 0;
	p += ADV_BTH_LEN;
	has = info->headers;
	if (has & (ADV_HAS_DETH | ADV_HAS_XRCETH | ADV_HAS_FETH))
		p = rare_decode(p, has, h);
	if (has & ADV_HAS_RETH) {
		h->reth.va = adv_get_be64(p);
		h->reth.rkey = adv_get_be32(p + 8);
		h->reth.length = adv_get_be32(p + 12);
		p += 16;
	}
	if (has & ADV_HAS_ATOMICETH) {
		h->atomiceth.va = adv_get_be64(p);
		h->atomiceth.rkey = adv_get_be32(p + 8);
		h->atomiceth.swap_add = adv_get_be64(p + 12);
		h->atomiceth.compare = adv_get_be64(p + 20);
	}
	if (has & ADV_HAS_AETH) {
		h->aeth.syndrome = p[0];
		h->aeth.msn = adv_get_be32(p) & ADV_PSN_MASK;
		p += 4;
	}
	if (has & ADV_HAS_ATOMICACKETH)
		h->atomicacketh.original = adv_get_be64(p);
	if (has & ADV_HAS_IMMDT)
		memcpy(&h->immdt, p, sizeof(h->immdt));
	if (has & ADV_HAS_IETH)
		h->ieth.rkey = adv_get_be32(p);
	return info->length;
}

size_t adv_headers_encode(const struct adv_headers *h, uint8_t *out)
{
	const struct adv_opcode_info *info = &adv_opcode_table[h->bth.opcode];
	uint16_t has = info->headers;
	uint8_t *p = out + ADV_BTH_LEN;

	if (!info->name)
		return 0;
	bth_encode(&h->bth, out);
	if (has & (ADV_HAS_DETH | ADV_HAS_XRCETH | ADV_HAS_FETH))
		p = rare_encode(h, has, p);
	if (has & ADV_HAS_RETH) {
		adv_put_be64(p, h->reth.va);
		adv_put_be32(p + 8, h->reth.rkey);
		adv_put_be32(p + 12, h->reth.length);
		p += 16;
	}
	if (has & ADV_HAS_ATOMICETH) {
		adv_put_be64(p, h->atomiceth.va);
		adv_put_be32(p + 8, h->atomiceth.rkey);
		adv_put_be64(p + 12, h->atomiceth.swap_add);
		adv_put_be64(p + 20, h->atomiceth.compare);
	}
	if (has & ADV_HAS_AETH) {
		adv_put_be32(p, h->aeth.msn & ADV_PSN_MASK);
		p[0] = h->aeth.syndrome;
		p += 4;
	}
	if (has & ADV_HAS_ATOMICACKETH)
		adv_put_be64(p, h->atomicacketh.original);
	if (has & ADV_HAS_IMMDT)
		memcpy(p, &h->immdt, sizeof(h->immdt));
	if (has & ADV_HAS_IETH)
		adv_put_be32(p, h->ieth.rkey);
	if (has & ADV_HAS_CNP_PAD)
		memset(p, 0, CNP_PAD_LEN);
	return info->length;
}

uint64_t adv_rnr_timer_ns(uint8_t field)
{
	/* Table 46, in units of 10 us. */
	static const uint32_t units[32] = {
		65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
		48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return units[field & ADV_AETH_VALUE_MASK] * UINT64_C(10000);
}

uint32_t adv_mtu_bytes(int mtu_code)
{
	return mtu_code >= 1 && mtu_code <= 5 ? 128u << mtu_code : 0;
}
