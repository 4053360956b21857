/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/segment.h"

#include <inttypes.h>
#include <string.h>

#include "cli/capture/checksum.h"
#include "nic/iwarp/fpdu.h"
#include "nic/iwarp/mpa.h"
#include "nic/iwarp/rdmap.h"

#define ETHERNET_LEN	14
#define IPV4_LEN	20
#define IPV6_LEN	40
#define TCP_LEN		20
#define IPPROTO_OF_TCP	6
#define ETHERTYPE_IPV4	0x0800
#define ETHERTYPE_IPV6	0x86dd
#define HOPS		64
#define WINDOW		65535
#define START_LEN	(ADV_MPA_FRAME_LEN + ADV_MPA_ENHANCED_LEN)
#define FIRST_NUMBER	(1 + START_LEN) /* sequence number of position 0, behind SYN and start-up */
#define FLAG_SYN	2
#define FLAG_PSH	8
#define FLAG_ACK	16
#define MARKER_SPACING	ADV_FPDU_MARKER_SPACING
#define TEXT_FPDUS_MOST 8

struct adv_tap_stream adv_segment_head(const uint8_t *data)
{
	struct adv_tap_stream head;

	memcpy(&head, data, sizeof(head));
	return head;
}

/* ---- frames ---- */

/* A TCP segment. */
struct segment {
	const struct adv_gid *from;
	const struct adv_gid *to;
	uint16_t sport;
	uint16_t dport;
	uint32_t number;
	uint32_t acknowledges;
	uint8_t flags;
	const uint8_t *payload;
	uint32_t payload_len;
	uint32_t kept; /* bytes of the payload that are known */
};

static size_t write_ipv4(const struct segment *s, size_t len, uint8_t *ip)
{
	static const uint8_t fixed[IPV4_LEN] = {0x45, [6] = 0x40, [8] = HOPS, [9] = IPPROTO_OF_TCP};

	memcpy(ip, fixed, sizeof(fixed));
	adv_put_be16(ip + 2, (uint16_t)(IPV4_LEN + len));
	memcpy(ip + 12, s->from->raw + 12, 4);
	memcpy(ip + 16, s->to->raw + 12, 4);
	adv_put_be16(ip + 10, (uint16_t)~adv_checksum_fold(adv_checksum_add(0, ip, IPV4_LEN)));
	return IPV4_LEN;
}

static size_t write_ipv6(const struct segment *s, size_t len, uint8_t *ip)
{
	static const uint8_t fixed[8] = {0x60, [6] = IPPROTO_OF_TCP, [7] = HOPS};

	memcpy(ip, fixed, sizeof(fixed));
	adv_put_be16(ip + 4, (uint16_t)len);
	memcpy(ip + 8, s->from->raw, 16);
	memcpy(ip + 24, s->to->raw, 16);
	return IPV6_LEN;
}

static void write_tcp(const struct segment *s, uint8_t *tcp)
{
	memset(tcp, 0, TCP_LEN);
	adv_put_be16(tcp, s->sport);
	adv_put_be16(tcp + 2, s->dport);
	adv_put_be32(tcp + 4, s->number);
	if (s->flags & FLAG_ACK)
		adv_put_be32(tcp + 8, s->acknowledges);
	tcp[12] = TCP_LEN / 4 << 4;
	tcp[13] = s->flags;
	adv_put_be16(tcp + 14, WINDOW);
}

/* Writes the checksum; if not all bytes are known, the sum of the pseudo header. */
static void write_checksum(uint8_t *tcp, size_t len, size_t addresses, bool all)
{
	uint64_t sum = adv_checksum_add(IPPROTO_OF_TCP + len, tcp - addresses, addresses);

	if (all)
		sum = adv_checksum_add(sum, tcp, len);
	adv_put_be16(tcp + 16, all ? (uint16_t)~adv_checksum_fold(sum) : adv_checksum_fold(sum));
}

static void build_frame(const struct segment *s, uint32_t snaplen, struct adv_capture_frame *frame)
{
	bool ipv4 = adv_gid_is_ipv4(s->from) && adv_gid_is_ipv4(s->to);
	size_t len = TCP_LEN + s->payload_len;
	uint8_t *ip = frame->bytes + ETHERNET_LEN, *tcp;

	memset(frame->bytes, 0, ETHERNET_LEN);
	adv_put_be16(frame->bytes + 12, ipv4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	tcp = ip + (ipv4 ? write_ipv4(s, len, ip) : write_ipv6(s, len, ip));
	write_tcp(s, tcp);
	memcpy(tcp + TCP_LEN, s->payload, s->kept);
	write_checksum(tcp, len, ipv4 ? 8 : 32, s->kept == s->payload_len);
	frame->len = (size_t)(tcp - frame->bytes) + len;
	frame->captured = frame->len - (s->payload_len - s->kept);
	if (frame->captured > snaplen)
		frame->captured = snaplen;
	memset(&frame->bth, 0, sizeof(frame->bth));
	frame->src_qpn = 0;
	frame->rebuilt = false;
}

/* ---- segments ---- */

void adv_segment_make(const struct adv_tap_record *record, const uint8_t *data,
		      const struct adv_segment_place *place, uint32_t snaplen,
		      struct adv_capture_frame *frame)
{
	struct adv_tap_stream head = adv_segment_head(data);
	uint32_t skip = place->skip, left = record->payload_len - skip;
	struct segment s = {
		.from = &record->sgid,
		.to = &record->dgid,
		.sport = head.sport,
		.dport = head.dport,
		.number = FIRST_NUMBER + (uint32_t)head.at + skip + place->skew,
		.acknowledges = FIRST_NUMBER + (uint32_t)place->other + place->skew,
		.flags = FLAG_PSH | FLAG_ACK,
		.payload = data + record->header_len + (skip < record->kept ? skip : record->kept),
		.payload_len = left < ADV_TAP_SEGMENT_MAX ? left : ADV_TAP_SEGMENT_MAX,
	};

	s.kept = record->kept > skip ? record->kept - skip : 0;
	if (s.kept > s.payload_len)
		s.kept = s.payload_len;
	build_frame(&s, snaplen, frame);
	frame->out = record->flags & ADV_TAP_OUT;
	frame->time = record->time;
	frame->own_qpn = head.qpn;
}

/* Writes the start-up frame of one end. `ours`: it is that of the process. */
static size_t write_start(const struct adv_tap_stream *head, bool request, bool ours, uint8_t *out)
{
	struct adv_mpa_frame f = {
		.kind = request ? ADV_MPA_REQUEST : ADV_MPA_REPLY,
		.markers = head->flags & (ours ? ADV_TAP_MARKERS_TAKEN : ADV_TAP_MARKERS_SENT),
		.crc = head->flags & ADV_TAP_CRC,
		.revision = 2,
		.enhanced = true,
		.ird = (ours ? head->ird : head->ord) & ADV_MPA_IRD_MAX,
		.ord = (ours ? head->ord : head->ird) & ADV_MPA_IRD_MAX,
		.peer_to_peer = true,
		.rtr_write = true,
	};

	return adv_mpa_encode(&f, out);
}

void adv_segment_start(const struct adv_tap_record *record, const uint8_t *data, unsigned i,
		       const struct adv_segment_place *place, struct adv_capture_frame *frame)
{
	static const struct {
		bool responder;
		uint8_t flags;
		bool has_start;
	} starts[ADV_SEGMENT_STARTS] = {{false, FLAG_SYN, false},
					{true, FLAG_SYN | FLAG_ACK, false},
					{false, FLAG_ACK, false},
					{false, FLAG_PSH | FLAG_ACK, true},
					{true, FLAG_PSH | FLAG_ACK, true}};
	struct adv_tap_stream head = adv_segment_head(data);
	bool responder = starts[i].responder, out = record->flags & ADV_TAP_OUT;
	bool ours = responder != !!(head.flags & ADV_TAP_INITIATOR), same = ours == out;
	bool syn = starts[i].flags & FLAG_SYN;
	uint8_t start[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];
	struct segment s = {
		.from = same ? &record->sgid : &record->dgid,
		.to = same ? &record->dgid : &record->sgid,
		.sport = same ? head.sport : head.dport,
		.dport = same ? head.dport : head.sport,
		.number = (uint32_t)place->from[responder] + place->skew + !syn,
		.acknowledges = (uint32_t)place->from[!responder] + place->skew + 1,
		.flags = starts[i].flags,
		.payload = start,
	};

	if (starts[i].has_start)
		s.kept = s.payload_len = (uint32_t)write_start(&head, !responder, ours, start);
	if (starts[i].has_start && responder)
		s.acknowledges += START_LEN;
	build_frame(&s, UINT32_MAX, frame);
	frame->out = ours;
	frame->rebuilt = true;
	frame->time = record->time;
	frame->own_qpn = head.qpn;
}

/* ---- text ---- */

/* The known bytes of a record, read without markers. */
struct reader {
	const uint8_t *bytes;
	uint64_t at; /* position of the first of them */
	uint32_t known;
	uint32_t used;
	bool markers;
};

/* Copies the next n bytes. False: they are not known. */
static bool read_bytes(struct reader *r, uint8_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (r->markers && (r->at + r->used) % MARKER_SPACING == 0)
			r->used += ADV_FPDU_MARKER_LEN;
		if (r->used >= r->known)
			return false;
		to[i] = r->bytes[r->used++];
	}
	return true;
}

static const char *opcode_name(uint8_t opcode)
{
	static const char *const names[] = {
		[ADV_RDMAP_WRITE] = "WRITE",
		[ADV_RDMAP_READ_REQUEST] = "READ_REQUEST",
		[ADV_RDMAP_READ_RESPONSE] = "READ_RESPONSE",
		[ADV_RDMAP_SEND] = "SEND",
		[ADV_RDMAP_SEND_INVALIDATE] = "SEND_INVALIDATE",
		[ADV_RDMAP_SEND_SE] = "SEND_SE",
		[ADV_RDMAP_SEND_SE_INVALIDATE] = "SEND_SE_INVALIDATE",
		[ADV_RDMAP_TERMINATE] = "TERMINATE",
	};

	return opcode < sizeof(names) / sizeof(names[0]) ? names[opcode] : "opcode";
}

/* Prints the header of a segment of DDP. */
static void print_ddp(const struct adv_ddp_header *h, uint32_t payload_len, FILE *f)
{
	fprintf(f, " %s%s", opcode_name(h->opcode), h->last ? "" : " more");
	if (h->tagged)
		fprintf(f, " stag=0x%" PRIx32 " to=0x%" PRIx64, h->stag, h->to);
	else
		fprintf(f, " queue=%" PRIu32 " msn=%" PRIu32 " mo=%" PRIu32, h->queue, h->msn,
			h->mo);
	fprintf(f, " length=%" PRIu32 ";", payload_len);
}

/* Prints the next FPDU, and moves behind it. False: its header is not known. */
static bool print_fpdu(struct reader *r, FILE *f)
{
	uint8_t length[ADV_FPDU_LENGTH_LEN], header[ADV_DDP_HEADER_MAX];
	struct adv_ddp_header h;
	uint32_t n, header_len;

	if (!read_bytes(r, length, sizeof(length)))
		return false;
	n = adv_get_be16(length);
	if (n == 0) {
		fprintf(f, " empty;");
		r->used += ADV_FPDU_TRAILER_MAX - 1; /* two bytes of padding */
		return !r->markers;
	}
	if (!read_bytes(r, header, 1))
		return false;
	header_len = (uint32_t)adv_ddp_header_len(header[0]);
	if (n < header_len || !read_bytes(r, header + 1, header_len - 1) ||
	    !adv_ddp_decode(header, header_len, &h))
		return false;
	print_ddp(&h, n - header_len, f);
	r->used += n - header_len + (-(ADV_FPDU_LENGTH_LEN + n) & 3) + ADV_FPDU_CRC_LEN;
	return !r->markers; /* those that follow are not counted */
}

void adv_segment_print(const struct adv_tap_record *record, const uint8_t *data, FILE *f)
{
	struct adv_tap_stream head = adv_segment_head(data);
	bool out = record->flags & ADV_TAP_OUT;
	char from[ADV_GID_TEXT_LENGTH], to[ADV_GID_TEXT_LENGTH];
	struct reader r = {
		.bytes = data + record->header_len,
		.at = head.at,
		.known = record->kept,
		.used = head.begin,
		.markers = head.flags & (out ? ADV_TAP_MARKERS_SENT : ADV_TAP_MARKERS_TAKEN),
	};

	fprintf(f, "%s.%u > %s.%u qpn=0x%06" PRIx32, adv_gid_text(&record->sgid, from), head.sport,
		adv_gid_text(&record->dgid, to), head.dport, head.qpn);
	for (unsigned i = 0; i < TEXT_FPDUS_MOST && r.used < r.known && print_fpdu(&r, f); i++)
		;
	fprintf(f, " bytes=%" PRIu32 "\n", record->payload_len);
}
