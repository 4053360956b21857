/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/frame.h"
#include "base/bytes.h"
#include "nic/wire/headers.h"

#define ETH_LEN	       14
#define VLAN_LEN       4
#define IPV4_LEN       20
#define IPV6_LEN       40
#define UDP_LEN	       8
#define TRANSPORT_MIN  (ADV_BTH_LEN + ADV_ICRC_LEN)
#define IP_LENGTH_MAX  65535 /* includes the header for IPv4, not for IPv6 and GRH */
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define PROTO_UDP      17
#define PROTO_IBA      27 /* next header of a GRH before a BTH (IBTA 8.3) */
#define IPV4_DF	       0x4000
#define IPV4_RESERVED  0x8000
#define IPV4_MF	       0x2000
#define IPV4_OFFSET    0x1fff

/* Bytes that remain to be parsed. */
struct rest {
	const uint8_t *p;
	size_t len;
};

static void advance_rest(struct rest *r, size_t n)
{
	r->p += n;
	r->len -= n;
}

/* Returns the checksum (RFC 1071) of a header without options. Its checksum field counts as 0. */
static uint16_t ipv4_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < IPV4_LEN; i += 2)
		if (i != 10)
			sum += adv_get_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* ---- parsing ---- */

/* Parses the BTH, the payload and the ICRC, which are in *r. */
static enum adv_frame_error parse_transport(const struct rest *r, struct adv_frame *f)
{
	const uint8_t *icrc;

	if (r->len < TRANSPORT_MIN)
		return ADV_FRAME_MALFORMED;
	f->transport = r->p;
	f->transport_len = r->len - ADV_ICRC_LEN;
	icrc = r->p + f->transport_len;
	f->icrc = (uint32_t)icrc[0] | (uint32_t)icrc[1] << 8 | (uint32_t)icrc[2] << 16 |
		  (uint32_t)icrc[3] << 24;
	return ADV_FRAME_OK;
}

/* Parses the payload of the IP packet, which is in *r. */
static enum adv_frame_error parse_udp(struct rest *r, struct adv_frame *f)
{
	if (r->len < UDP_LEN || adv_get_be16(r->p + 4) != r->len)
		return ADV_FRAME_MALFORMED;
	f->sport = adv_get_be16(r->p);
	f->dport = adv_get_be16(r->p + 2);
	f->udp_checksum = adv_get_be16(r->p + 6);
	advance_rest(r, UDP_LEN);
	return parse_transport(r, f);
}

/* True if a UDP header at p[offset] has RoCE's destination port. */
static bool is_roce_port(const struct rest *r, size_t offset)
{
	return r->len >= offset + 4 && adv_get_be16(r->p + offset + 2) == ADV_ROCE_UDP_PORT;
}

/* Reads the fields of a complete IPv4 header. */
static void read_ipv4(const uint8_t *ip, struct adv_frame *f)
{
	f->kind = ADV_FRAME_V2_IPV4;
	f->tclass = ip[1];
	f->ip_id = adv_get_be16(ip + 4);
	f->ip_df = adv_get_be16(ip + 6) & IPV4_DF;
	f->hop_limit = ip[8];
	memcpy(f->saddr, ip + 12, 4);
	memcpy(f->daddr, ip + 16, 4);
}

static enum adv_frame_error parse_ipv4(struct rest *r, struct adv_frame *f)
{
	const uint8_t *ip = r->p;
	uint16_t total, fragment;

	if (r->len < IPV4_LEN)
		return ADV_FRAME_TRUNCATED;
	total = adv_get_be16(ip + 2);
	fragment = adv_get_be16(ip + 6);
	if (ip[0] >> 4 != 4)
		return ADV_FRAME_MALFORMED;
	if (ip[9] != PROTO_UDP || (fragment & IPV4_OFFSET) ||
	    !is_roce_port(r, (size_t)(ip[0] & 0x0f) * 4))
		return ADV_FRAME_NOT_ROCE;
	if (ip[0] != 0x45 || (fragment & (IPV4_MF | IPV4_RESERVED)) || total < IPV4_LEN ||
	    adv_get_be16(ip + 10) != ipv4_checksum(ip))
		return ADV_FRAME_MALFORMED;
	if (total > r->len)
		return ADV_FRAME_TRUNCATED;
	read_ipv4(ip, f);
	r->len = total;
	advance_rest(r, IPV4_LEN);
	return parse_udp(r, f);
}

/* Reads the fields that an IPv6 header and a GRH share, and advances r past the header. */
static enum adv_frame_error parse_ipv6_header(struct rest *r, struct adv_frame *f)
{
	uint32_t first = adv_get_be32(r->p);
	uint16_t payload = adv_get_be16(r->p + 4);

	if (first >> 28 != 6)
		return ADV_FRAME_MALFORMED;
	f->tclass = (uint8_t)(first >> 20);
	f->flow_label = first & 0xfffff;
	f->hop_limit = r->p[7];
	memcpy(f->saddr, r->p + 8, 16);
	memcpy(f->daddr, r->p + 24, 16);
	advance_rest(r, IPV6_LEN);
	if (payload > r->len)
		return ADV_FRAME_TRUNCATED;
	r->len = payload;
	return ADV_FRAME_OK;
}

static enum adv_frame_error parse_ipv6(struct rest *r, struct adv_frame *f)
{
	enum adv_frame_error err;

	if (r->len < IPV6_LEN)
		return ADV_FRAME_TRUNCATED;
	if (r->p[6] != PROTO_UDP || !is_roce_port(r, IPV6_LEN))
		return ADV_FRAME_NOT_ROCE;
	f->kind = ADV_FRAME_V2_IPV6;
	err = parse_ipv6_header(r, f);
	return err ? err : parse_udp(r, f);
}

static enum adv_frame_error parse_v1(struct rest *r, struct adv_frame *f)
{
	enum adv_frame_error err;

	if (r->len < ADV_GRH_LEN)
		return ADV_FRAME_TRUNCATED;
	if (r->p[6] != PROTO_IBA)
		return ADV_FRAME_NOT_ROCE;
	f->kind = ADV_FRAME_V1;
	err = parse_ipv6_header(r, f);
	return err ? err : parse_transport(r, f);
}

enum adv_frame_error adv_frame_parse(const uint8_t *frame, size_t len, struct adv_frame *f)
{
	struct rest r = {frame, len};
	uint16_t type;

	memset(f, 0, sizeof(*f));
	if (len < ETH_LEN)
		return ADV_FRAME_TRUNCATED;
	memcpy(f->dmac, frame, 6);
	memcpy(f->smac, frame + 6, 6);
	type = adv_get_be16(frame + 12);
	advance_rest(&r, ETH_LEN);
	if (type == ETHERTYPE_VLAN) {
		if (r.len < VLAN_LEN)
			return ADV_FRAME_TRUNCATED;
		f->has_vlan = true;
		f->vlan_tci = adv_get_be16(r.p);
		type = adv_get_be16(r.p + 2);
		advance_rest(&r, VLAN_LEN);
	}
	switch (type) {
	case ETHERTYPE_IPV4:
		return parse_ipv4(&r, f);
	case ETHERTYPE_IPV6:
		return parse_ipv6(&r, f);
	case ADV_ROCE_V1_ETHERTYPE:
		return parse_v1(&r, f);
	default:
		return ADV_FRAME_NOT_ROCE;
	}
}

/* ---- building ---- */

static const struct {
	uint16_t ethertype;
	uint16_t headers; /* length of the IP header or GRH and of the UDP header, bytes */
	uint16_t max;	  /* maximum length from the BTH to the end of the ICRC, bytes */
} kinds[] = {
	[ADV_FRAME_V2_IPV4] = {ETHERTYPE_IPV4, IPV4_LEN + UDP_LEN,
			       IP_LENGTH_MAX - IPV4_LEN - UDP_LEN},
	[ADV_FRAME_V2_IPV6] = {ETHERTYPE_IPV6, IPV6_LEN + UDP_LEN, IP_LENGTH_MAX - UDP_LEN},
	[ADV_FRAME_V1] = {ADV_ROCE_V1_ETHERTYPE, ADV_GRH_LEN, IP_LENGTH_MAX},
};

/* Writes an IPv6 header or a GRH; only the next header differs. length: number of bytes that
 * follow. */
static uint8_t *put_ipv6(uint8_t *p, const struct adv_frame *f, uint8_t next_header, size_t length)
{
	adv_put_be32(p, 6u << 28 | (uint32_t)f->tclass << 20 | (f->flow_label & 0xfffff));
	adv_put_be16(p + 4, (uint16_t)length);
	p[6] = next_header;
	p[7] = f->hop_limit;
	memcpy(p + 8, f->saddr, 16);
	memcpy(p + 24, f->daddr, 16);
	return p + IPV6_LEN;
}

static uint8_t *put_ipv4(uint8_t *p, const struct adv_frame *f, size_t length)
{
	p[0] = 0x45;
	p[1] = f->tclass;
	adv_put_be16(p + 2, (uint16_t)(IPV4_LEN + length));
	adv_put_be16(p + 4, f->ip_id);
	adv_put_be16(p + 6, f->ip_df ? IPV4_DF : 0);
	p[8] = f->hop_limit;
	p[9] = PROTO_UDP;
	memcpy(p + 12, f->saddr, 4);
	memcpy(p + 16, f->daddr, 4);
	adv_put_be16(p + 10, ipv4_checksum(p));
	return p + IPV4_LEN;
}

static uint8_t *put_udp(uint8_t *p, const struct adv_frame *f, size_t length)
{
	adv_put_be16(p, f->sport);
	adv_put_be16(p + 2, f->dport);
	adv_put_be16(p + 4, (uint16_t)length);
	adv_put_be16(p + 6, f->udp_checksum);
	return p + UDP_LEN;
}

static uint8_t *put_ethernet(uint8_t *p, const struct adv_frame *f)
{
	memcpy(p, f->dmac, 6);
	memcpy(p + 6, f->smac, 6);
	p += 12;
	if (f->has_vlan) {
		adv_put_be16(p, ETHERTYPE_VLAN);
		adv_put_be16(p + 2, f->vlan_tci);
		p += VLAN_LEN;
	}
	adv_put_be16(p, kinds[f->kind].ethertype);
	return p + 2;
}

static adv_icrc_state icrc_begin(const struct adv_frame *f, size_t length)
{
	struct adv_icrc_flow flow = {
		.ipv4 = f->kind == ADV_FRAME_V2_IPV4,
		.ipv4_no_df = !f->ip_df,
		.sport = f->sport,
		.dport = f->dport,
	};
	uint8_t grh[ADV_GRH_LEN];

	if (f->kind == ADV_FRAME_V1) {
		put_ipv6(grh, f, PROTO_IBA, length);
		return adv_icrc_begin_v1(grh);
	}
	memcpy(flow.saddr, f->saddr, sizeof(flow.saddr));
	memcpy(flow.daddr, f->daddr, sizeof(flow.daddr));
	return adv_icrc_begin(&flow, f->ip_id, length);
}

uint32_t adv_frame_icrc(const struct adv_frame *f)
{
	adv_icrc_state s = icrc_begin(f, f->transport_len + ADV_ICRC_LEN);

	return adv_icrc_finish(s, f->transport, f->transport_len);
}

size_t adv_frame_build(const struct adv_frame *f, uint8_t *out, size_t room)
{
	size_t length = f->transport_len + ADV_ICRC_LEN;
	size_t headers = ETH_LEN + (f->has_vlan ? VLAN_LEN : 0) + kinds[f->kind].headers;
	uint32_t icrc;
	uint8_t *p;

	if (f->transport_len < ADV_BTH_LEN ||
	    f->transport_len > kinds[f->kind].max - (size_t)ADV_ICRC_LEN || room < headers + length)
		return 0;
	p = put_ethernet(out, f);
	if (f->kind == ADV_FRAME_V2_IPV4)
		p = put_udp(put_ipv4(p, f, UDP_LEN + length), f, UDP_LEN + length);
	else if (f->kind == ADV_FRAME_V2_IPV6)
		p = put_udp(put_ipv6(p, f, PROTO_UDP, UDP_LEN + length), f, UDP_LEN + length);
	else
		p = put_ipv6(p, f, PROTO_IBA, length);
	memcpy(p, f->transport, f->transport_len);
	p += f->transport_len;
	icrc = f->no_icrc ? 0 : htole32(adv_frame_icrc(f));
	memcpy(p, &icrc, sizeof(icrc));
	return headers + length;
}

uint16_t adv_frame_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn)
{
	uint32_t label = flow_label & 0xfffff;

	if (!label) {
		uint64_t v = (uint64_t)lqpn * rqpn;

		v ^= v >> 20;
		v ^= v >> 40;
		label = v & 0xfffff;
	}
	return (uint16_t)(((label & 0x3fff) ^ label >> 14) | 0xc000);
}

void adv_grh_for_ud(uint8_t out[40], const uint8_t sgid[16], const uint8_t dgid[16], uint8_t tclass,
		    uint8_t hop_limit, uint32_t flow_label, size_t payload_len)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	struct adv_frame f = {
		.tclass = tclass,
		.hop_limit = hop_limit,
		.flow_label = flow_label,
		.ip_df = true,
	};

	if (memcmp(dgid, mapped, sizeof(mapped)) == 0) {
		memcpy(f.saddr, sgid + 12, 4);
		memcpy(f.daddr, dgid + 12, 4);
		memset(out, 0, ADV_GRH_LEN - IPV4_LEN);
		put_ipv4(out + ADV_GRH_LEN - IPV4_LEN, &f, UDP_LEN + payload_len);
	} else {
		memcpy(f.saddr, sgid, 16);
		memcpy(f.daddr, dgid, 16);
		put_ipv6(out, &f, PROTO_UDP, UDP_LEN + payload_len);
	}
}

void adv_grh_of_v1(uint8_t out[40], const uint8_t sgid[16], const uint8_t dgid[16], uint8_t tclass,
		   uint8_t hop_limit, uint32_t flow_label, size_t payload_len)
{
	struct adv_frame f = {.tclass = tclass, .hop_limit = hop_limit, .flow_label = flow_label};

	memcpy(f.saddr, sgid, 16);
	memcpy(f.daddr, dgid, 16);
	put_ipv6(out, &f, PROTO_IBA, payload_len);
}
