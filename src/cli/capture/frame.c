/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/frame.h"

#include <string.h>

#include "base/bytes.h"
#include "cli/capture/checksum.h"
#include "nic/wire/frame.h"

#define ETHERNET_LEN   14
#define IPV4_LEN       20
#define IPV6_LEN       40
#define UDP_LEN	       8
#define IPPROTO_OF_UDP 17
#define HOPS	       64 /* hop limit of a packet that names none */

/* ---- the packet from the BTH on ---- */

/* One packet, as the network would carry it. */
struct packet {
	uint32_t len;	/* bytes from the BTH to the padding */
	uint32_t known; /* of these: captured; only these are valid */
	uint8_t bytes[ADV_HEADERS_MAX + UINT16_MAX + 4];
};

/* Returns the opcode of packet i of a long packet with this opcode. */
static uint8_t opcode_of(uint8_t opcode, unsigned i, unsigned more)
{
	const struct adv_opcode_info *info = &adv_opcode_table[opcode];
	const uint8_t service = opcode & ADV_SERVICE_MASK;
	const bool send = info->flags & ADV_PKT_SEND, read = info->flags & ADV_PKT_READ;
	uint8_t op;

	if (i == 0 && info->flags & ADV_PKT_START)
		op = send   ? ADV_OP_SEND_FIRST
		     : read ? ADV_OP_READ_RESPONSE_FIRST
			    : ADV_OP_WRITE_FIRST;
	else if (i < more || !(info->flags & ADV_PKT_END))
		op = send   ? ADV_OP_SEND_MIDDLE
		     : read ? ADV_OP_READ_RESPONSE_MIDDLE
			    : ADV_OP_WRITE_MIDDLE;
	else if (read)
		op = ADV_OP_READ_RESPONSE_LAST;
	else if (info->headers & ADV_HAS_IETH)
		op = ADV_OP_SEND_LAST_WITH_INV;
	else if (info->headers & ADV_HAS_IMMDT)
		op = send ? ADV_OP_SEND_LAST_WITH_IMM : ADV_OP_WRITE_LAST_WITH_IMM;
	else
		op = send ? ADV_OP_SEND_LAST : ADV_OP_WRITE_LAST;
	return service | op;
}

/* Writes the headers of packet i of a long packet. Returns their length; 0: it is no SEND, WRITE or
 * response to a READ. */
static size_t write_headers(const struct adv_tap_record *r, const uint8_t *data, unsigned i,
			    uint8_t *out)
{
	struct adv_headers h;
	bool last = i == r->more;

	if (!adv_headers_decode(data, r->header_len, &h) ||
	    !(adv_opcode_table[h.bth.opcode].flags & (ADV_PKT_SEND | ADV_PKT_WRITE | ADV_PKT_READ)))
		return 0;
	h.bth.opcode = opcode_of(h.bth.opcode, i, r->more);
	h.bth.psn = adv_psn_add(h.bth.psn, i);
	h.bth.pad = last ? r->pad : 0;
	h.bth.ackreq = h.bth.ackreq && last;
	h.bth.solicited = h.bth.solicited && last;
	return adv_headers_encode(&h, out);
}

/* Appends n bytes of payload, of which `kept` are at `payload`, and padding. */
static void append_payload(struct packet *p, const uint8_t *payload, uint32_t n, uint32_t kept,
			   uint8_t pad)
{
	memcpy(p->bytes + p->len, payload, kept);
	if (kept == n)
		memset(p->bytes + p->len + kept, 0, pad);
	p->known = kept < n ? p->len + kept : p->len + n + pad;
	p->len += n + pad;
}

static bool fill_packet(const struct adv_tap_record *r, const uint8_t *data, unsigned i,
			struct packet *p)
{
	uint32_t mtu = adv_tap_long_mtu(r->payload_len, r->more + 1u);
	uint32_t n, kept;

	if (!r->more) {
		p->len = r->header_len;
		memcpy(p->bytes, data, r->header_len);
		append_payload(p, data + r->header_len, r->payload_len, r->kept, r->pad);
		return p->len >= ADV_BTH_LEN;
	}
	p->len = (uint32_t)write_headers(r, data, i, p->bytes);
	n = i == r->more ? r->payload_len - i * mtu : mtu;
	kept = r->piece < mtu ? r->piece : mtu;
	data += r->header_len + i * kept;
	kept = r->flags & ADV_TAP_UNREAD ? 0 : kept < n ? kept : n;
	if (p->len)
		append_payload(p, data, n, kept, i == r->more ? r->pad : 0);
	return p->len != 0;
}

/* ---- the headers before the BTH ---- */

static void fill_frame(const struct adv_tap_record *r, const struct packet *p, struct adv_frame *f)
{
	bool multicast = adv_gid_is_multicast(&r->dgid);

	*f = (struct adv_frame){
		.tclass = r->tclass,
		.flow_label = r->flow_label & 0xfffff,
		.ip_df = true,
		.sport = r->sport,
		.dport = ADV_ROCE_UDP_PORT,
		.transport = p->bytes,
		.transport_len = p->len,
	};
	f->hop_limit = r->hop_limit > 1 ? r->hop_limit : multicast ? 1 : HOPS;
	if (r->flags & ADV_TAP_V1) {
		f->kind = ADV_FRAME_V1;
		f->has_vlan = r->flags & ADV_TAP_TAGGED;
		f->vlan_tci = r->sport;
		memcpy(f->saddr, r->sgid.raw, 16);
		memcpy(f->daddr, r->dgid.raw, 16);
	} else if (adv_gid_is_ipv4(&r->sgid) && adv_gid_is_ipv4(&r->dgid)) {
		f->kind = ADV_FRAME_V2_IPV4;
		memcpy(f->saddr, r->sgid.raw + 12, 4);
		memcpy(f->daddr, r->dgid.raw + 12, 4);
	} else {
		f->kind = ADV_FRAME_V2_IPV6;
		memcpy(f->saddr, r->sgid.raw, 16);
		memcpy(f->daddr, r->dgid.raw, 16);
	}
}

/* Writes the UDP checksum. If not all bytes are known, writes the sum of the pseudo header. */
static void write_udp_checksum(const struct adv_frame *f, uint8_t *ip, size_t len, bool all)
{
	bool ipv4 = f->kind == ADV_FRAME_V2_IPV4;
	uint8_t *udp = ip + (ipv4 ? IPV4_LEN : IPV6_LEN);
	size_t udp_len = len - (size_t)(udp - ip), addresses = ipv4 ? 8 : 32;
	uint64_t sum = adv_checksum_add(IPPROTO_OF_UDP + udp_len, ip + (ipv4 ? 12 : 8), addresses);
	uint16_t value;

	if (all)
		sum = adv_checksum_add(sum, udp, udp_len);
	value = adv_checksum_fold(sum);
	if (all)
		value = (uint16_t)~value;
	adv_put_be16(udp + 6, value ? value : 0xffff);
}

/* Writes the lengths of a frame of `len` bytes into its IP and UDP headers, and the checksum of
 * IPv4.
 */
static void write_lengths(const struct adv_frame *f, uint8_t *ip, size_t len)
{
	if (f->kind == ADV_FRAME_V1) {
		adv_put_be16(ip + 4, (uint16_t)(len - ADV_GRH_LEN));
		return;
	}
	if (f->kind == ADV_FRAME_V2_IPV6) {
		adv_put_be16(ip + 4, (uint16_t)(len - IPV6_LEN));
		adv_put_be16(ip + IPV6_LEN + 4, (uint16_t)(len - IPV6_LEN));
		return;
	}
	adv_put_be16(ip + 2, (uint16_t)len);
	adv_put_be16(ip + 10, 0);
	adv_put_be16(ip + 10, (uint16_t)~adv_checksum_fold(adv_checksum_add(0, ip, IPV4_LEN)));
	adv_put_be16(ip + IPV4_LEN + 4, (uint16_t)(len - IPV4_LEN));
}

/* Builds the frame of a packet of which the last `unknown` bytes are not captured: they are zeroes
 * up to the length `shown`, and so is the ICRC. Returns the length of the frame; 0: it is too long.
 */
static size_t build_part(struct adv_frame *f, uint32_t unknown, size_t shown, uint8_t *out,
			 size_t room)
{
	size_t known, len;

	f->transport_len -= unknown;
	f->no_icrc = true;
	known = adv_frame_build(f, out, room);
	f->transport_len += unknown;
	len = known + unknown;
	if (!known || len - ETHERNET_LEN > UINT16_MAX || len > room)
		return 0;
	if (shown > known)
		memset(out + known, 0, shown < len ? shown - known : unknown);
	write_lengths(f, out + ETHERNET_LEN, len - ETHERNET_LEN);
	return len;
}

static void read_bth(const struct packet *p, struct adv_capture_frame *frame)
{
	struct adv_headers h;

	memset(&frame->bth, 0, sizeof(frame->bth));
	frame->src_qpn = 0;
	frame->own_qpn = 0;
	frame->rebuilt = false;
	if (!adv_headers_decode(p->bytes, p->known, &h))
		return;
	frame->bth = h.bth;
	if (adv_opcode_table[h.bth.opcode].headers & ADV_HAS_DETH)
		frame->src_qpn = h.deth.src_qpn;
}

static void flip_icrc(uint8_t *icrc, uint32_t flip)
{
	for (unsigned i = 0; i < ADV_ICRC_LEN; i++)
		icrc[i] ^= (uint8_t)(flip >> 8 * i);
}

bool adv_capture_frame_make(const struct adv_tap_record *record, const uint8_t *data, unsigned i,
			    uint32_t snaplen, struct adv_capture_frame *frame)
{
	struct adv_frame f;
	struct packet p;
	bool all;

	if (!fill_packet(record, data, i, &p))
		return false;
	fill_frame(record, &p, &f);
	all = p.known == p.len;
	frame->len =
		all ? adv_frame_build(&f, frame->bytes, sizeof(frame->bytes))
		    : build_part(&f, p.len - p.known, snaplen, frame->bytes, sizeof(frame->bytes));
	if (!frame->len)
		return false;
	if (all)
		flip_icrc(frame->bytes + frame->len - ADV_ICRC_LEN, record->icrc_flip);
	if (f.kind != ADV_FRAME_V1)
		write_udp_checksum(&f, frame->bytes + ETHERNET_LEN, frame->len - ETHERNET_LEN, all);
	frame->captured = all ? frame->len : frame->len - ADV_ICRC_LEN - (p.len - p.known);
	if (frame->captured > snaplen)
		frame->captured = snaplen;
	frame->out = record->flags & ADV_TAP_OUT;
	frame->time = record->time;
	read_bth(&p, frame);
	return true;
}
