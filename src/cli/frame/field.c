/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/frame/field.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"

#define AT(member)                                                                                 \
	.size = sizeof(((struct adv_frame_text *)0)->member),                                      \
	.offset = offsetof(struct adv_frame_text, member)
#define FIELD(the_name, the_header, the_layer, the_form, on, bits, the_max, member)                \
	{                                                                                          \
		.name = (the_name), .header = (the_header), .layer = ADV_LAYER_##the_layer,        \
		.form = ADV_FORM_##the_form, .kinds = (on), .any = (bits), .max = (the_max),       \
		AT(member)                                                                         \
	}

#define BITS24 0xffffffu
#define BITS32 UINT32_MAX
#define BITS64 UINT64_MAX
#define ALL    ADV_ON_ALL

const struct adv_frame_field adv_frame_fields[] = {
	FIELD("vlan", "VLAN tag", ETHERNET, DECIMAL, ALL, 0, 4095, vlan),
	FIELD("pcp", "VLAN tag", ETHERNET, DECIMAL, ALL, 0, 7, pcp),
	FIELD("dei", "VLAN tag", ETHERNET, FLAG, ALL, 0, 1, dei),
	FIELD("dscp", "IP header", NETWORK, DECIMAL, ALL, 0, 63, dscp),
	FIELD("ecn", "IP header", NETWORK, DECIMAL, ALL, 0, 3, ecn),
	FIELD("ttl", "IP header", NETWORK, DECIMAL, ALL, 0, 255, frame.hop_limit),
	FIELD("id", "IPv4 header", NETWORK, HEX, ADV_ON_IPV4, 0, 0xffff, frame.ip_id),
	FIELD("df", "IPv4 header", NETWORK, FLAG, ADV_ON_IPV4, 0, 1, frame.ip_df),
	FIELD("flow", "IPv6 header", NETWORK, HEX, ADV_ON_IPV6 | ADV_ON_V1, 0, 0xfffff,
	      frame.flow_label),
	FIELD("sport", "UDP header", UDP, DECIMAL, ADV_ON_V2, 0, 0xffff, frame.sport),
	FIELD("checksum", "UDP header", UDP, HEX, ADV_ON_V2, 0, 0xffff, frame.udp_checksum),
	FIELD("se", "BTH", BTH, FLAG, ALL, 0, 1, headers.bth.solicited),
	FIELD("migreq", "BTH", BTH, FLAG, ALL, 0, 1, headers.bth.migreq),
	FIELD("pad", "BTH", BTH, DECIMAL, ALL, 0, 3, headers.bth.pad),
	FIELD("pkey", "BTH", BTH, HEX, ALL, 0, 0xffff, headers.bth.pkey),
	FIELD("fecn", "BTH", BTH, FLAG, ALL, 0, 1, headers.bth.fecn),
	FIELD("becn", "BTH", BTH, FLAG, ALL, 0, 1, headers.bth.becn),
	FIELD("dest-qp", "BTH", BTH, HEX, ALL, 0, BITS24, headers.bth.dest_qpn),
	FIELD("ackreq", "BTH", BTH, FLAG, ALL, 0, 1, headers.bth.ackreq),
	FIELD("psn", "BTH", BTH, DECIMAL, ALL, 0, BITS24, headers.bth.psn),
	FIELD("qkey", "DETH", EXTENDED, HEX, ALL, ADV_HAS_DETH, BITS32, headers.deth.qkey),
	FIELD("src-qp", "DETH", EXTENDED, HEX, ALL, ADV_HAS_DETH, BITS24, headers.deth.src_qpn),
	FIELD("xrcsrq", "XRCETH", EXTENDED, HEX, ALL, ADV_HAS_XRCETH, BITS24,
	      headers.xrceth.xrcsrq),
	FIELD("selectivity", "FETH", EXTENDED, DECIMAL, ALL, ADV_HAS_FETH, 3,
	      headers.feth.selectivity),
	FIELD("placement", "FETH", EXTENDED, DECIMAL, ALL, ADV_HAS_FETH, 15,
	      headers.feth.placement),
	FIELD("va", "RETH", EXTENDED, HEX, ALL, ADV_HAS_RETH, BITS64, headers.reth.va),
	FIELD("rkey", "RETH", EXTENDED, HEX, ALL, ADV_HAS_RETH, BITS32, headers.reth.rkey),
	FIELD("length", "RETH", EXTENDED, DECIMAL, ALL, ADV_HAS_RETH, BITS32, headers.reth.length),
	FIELD("atomic-va", "AtomicETH", EXTENDED, HEX, ALL, ADV_HAS_ATOMICETH, BITS64,
	      headers.atomiceth.va),
	FIELD("atomic-rkey", "AtomicETH", EXTENDED, HEX, ALL, ADV_HAS_ATOMICETH, BITS32,
	      headers.atomiceth.rkey),
	FIELD("swap-add", "AtomicETH", EXTENDED, HEX, ALL, ADV_HAS_ATOMICETH, BITS64,
	      headers.atomiceth.swap_add),
	FIELD("compare", "AtomicETH", EXTENDED, HEX, ALL, ADV_HAS_ATOMICETH, BITS64,
	      headers.atomiceth.compare),
	FIELD("syndrome", "AETH", EXTENDED, HEX, ALL, ADV_HAS_AETH, 0xff, headers.aeth.syndrome),
	FIELD("msn", "AETH", EXTENDED, DECIMAL, ALL, ADV_HAS_AETH, BITS24, headers.aeth.msn),
	FIELD("original", "AtomicAckETH", EXTENDED, HEX, ALL, ADV_HAS_ATOMICACKETH, BITS64,
	      headers.atomicacketh.original),
	FIELD("imm", "ImmDt", EXTENDED, HEX, ALL, ADV_HAS_IMMDT, BITS32, immdt),
	FIELD("inv-rkey", "IETH", EXTENDED, HEX, ALL, ADV_HAS_IETH, BITS32, headers.ieth.rkey),
};
#define COUNT ADV_ARRAY_SIZE(adv_frame_fields)
static_assert(COUNT <= ADV_FRAME_FIELDS_MAX, "a bit for each in adv_frame_text.given");
const unsigned adv_frame_field_count = COUNT;

uint64_t adv_frame_field_get(const struct adv_frame_text *t, const struct adv_frame_field *f)
{
	const uint8_t *p = (const uint8_t *)t + f->offset;
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (f->size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return v32;
	default:
		assert(f->size == 8);
		memcpy(&v64, p, sizeof(v64));
		return v64;
	}
}

void adv_frame_field_set(struct adv_frame_text *t, const struct adv_frame_field *f, uint64_t value)
{
	uint8_t *p = (uint8_t *)t + f->offset;
	uint32_t v32 = (uint32_t)value;
	uint16_t v16 = (uint16_t)value;

	assert(value <= f->max);
	switch (f->size) {
	case 1:
		*p = (uint8_t)value;
		return;
	case 2:
		memcpy(p, &v16, sizeof(v16));
		return;
	case 4:
		memcpy(p, &v32, sizeof(v32));
		return;
	default:
		memcpy(p, &value, sizeof(value));
	}
}

bool adv_frame_field_is_in(const struct adv_frame_text *t, const struct adv_frame_field *f)
{
	if (!(f->kinds & 1 << t->frame.kind))
		return false;
	if (f->layer < ADV_LAYER_BTH)
		return true;
	if (t->has_transport)
		return false;
	return !f->any || (adv_opcode_table[t->headers.bth.opcode].headers & f->any);
}
