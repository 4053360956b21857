/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>

#include "base/array.h"
#include "test_util.h"
#include "nic/wire/frame.h"
#include "nic/wire/headers.h"

/* Offsets in a frame without VLAN tag. */
#define IP	  14
#define UDP4	  (IP + 20)
#define UDP6	  (IP + 40)
#define V4_BYTES  (IP + 20 + 8 + TRANSPORT + 4)
#define V6_BYTES  (IP + 40 + 8 + TRANSPORT + 4)
#define V1_BYTES  (IP + 40 + TRANSPORT + 4)

#define TRANSPORT 20
#define FRAME_MAX 256

static const uint8_t transport[TRANSPORT] = {0x04, 0x00, 0xff, 0xff, 0,	  0,   0,  0x11,
					     0x80, 0,	 0,    0x22, 'p', 'a', 'y'};

static const struct adv_frame sample = {
	.dmac = {2, 1, 1, 1, 1, 1},
	.smac = {2, 2, 2, 2, 2, 2},
	.saddr = {10, 0, 0, 1},
	.daddr = {10, 0, 0, 2},
	.tclass = 0x6a,
	.hop_limit = 64,
	.ip_id = 0x1234,
	.ip_df = true,
	.sport = 0xc001,
	.dport = ADV_ROCE_UDP_PORT,
	.transport = transport,
	.transport_len = TRANSPORT,
};

static struct adv_frame sample_of(enum adv_frame_kind kind)
{
	struct adv_frame f = sample;

	f.kind = kind;
	if (kind != ADV_FRAME_V2_IPV4) {
		inet_pton(AF_INET6, "2001:db8::1", f.saddr);
		inet_pton(AF_INET6, "2001:db8::2", f.daddr);
		f.flow_label = 0xabcde;
		f.ip_id = 0;
		f.ip_df = false;
	}
	if (kind == ADV_FRAME_V1)
		f.sport = f.dport = 0;
	return f;
}

static size_t build(enum adv_frame_kind kind, uint8_t *out)
{
	struct adv_frame f = sample_of(kind);
	size_t len = adv_frame_build(&f, out, FRAME_MAX);

	assert_int_not_equal(len, 0);
	return len;
}

static enum adv_frame_error parse_frame(const uint8_t *p, size_t len)
{
	uint8_t *copy = exact_copy(p, len);
	struct adv_frame f;
	enum adv_frame_error err = adv_frame_parse(copy, len, &f);

	free(copy);
	return err;
}

/* Corrects the IPv4 header checksum after a change. */
static void fix_checksum(uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	ip[10] = ip[11] = 0;
	for (i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

static void assert_same_fields(const struct adv_frame *a, const struct adv_frame *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_memory_equal(a->dmac, b->dmac, 6);
	assert_memory_equal(a->smac, b->smac, 6);
	assert_int_equal(a->has_vlan, b->has_vlan);
	assert_int_equal(a->vlan_tci, b->vlan_tci);
	assert_memory_equal(a->saddr, b->saddr, 16);
	assert_memory_equal(a->daddr, b->daddr, 16);
	assert_int_equal(a->tclass, b->tclass);
	assert_int_equal(a->hop_limit, b->hop_limit);
	assert_int_equal(a->flow_label, b->flow_label);
	assert_int_equal(a->ip_id, b->ip_id);
	assert_int_equal(a->ip_df, b->ip_df);
	assert_int_equal(a->sport, b->sport);
	assert_int_equal(a->dport, b->dport);
	assert_int_equal(a->udp_checksum, b->udp_checksum);
	assert_int_equal(a->transport_len, b->transport_len);
	assert_memory_equal(a->transport, b->transport, a->transport_len);
}

static void both_ways(const struct adv_frame *f)
{
	uint8_t out[FRAME_MAX], again[FRAME_MAX];
	struct adv_frame parsed;
	size_t len = adv_frame_build(f, out, sizeof(out));

	assert_int_not_equal(len, 0);
	assert_int_equal(adv_frame_parse(out, len, &parsed), ADV_FRAME_OK);
	assert_same_fields(&parsed, f);
	assert_int_equal(parsed.icrc, adv_frame_icrc(f));
	assert_int_equal(adv_frame_build(&parsed, again, sizeof(again)), len);
	assert_memory_equal(out, again, len);
	/* Ethernet padding does not count. */
	memset(out + len, 0xee, 20);
	assert_int_equal(adv_frame_parse(out, len + 20, &parsed), ADV_FRAME_OK);
	assert_int_equal(parsed.transport_len, f->transport_len);
}

static void test_both_ways(void **state)
{
	int kind, vlan;

	for (kind = ADV_FRAME_V2_IPV4; kind <= ADV_FRAME_V1; kind++) {
		for (vlan = 0; vlan < 2; vlan++) {
			struct adv_frame f = sample_of((enum adv_frame_kind)kind);

			f.has_vlan = vlan;
			f.vlan_tci = vlan ? 0x6064 : 0;
			both_ways(&f);
			f.tclass = 0xff;
			f.hop_limit = 1;
			f.ip_df = false;
			f.udp_checksum = kind == ADV_FRAME_V1 ? 0 : 0xbeef;
			both_ways(&f);
		}
	}
}

static void test_bytes_of_ipv4(void **state)
{
	static const uint8_t right[] = {
		2,    1,    1,	  1,	1,    1,    2,	  2,	2,  2,
		2,    2,    0x08, 0x00,					/* Ethernet */
		0x45, 0x6a, 0x00, 52,	0x12, 0x34, 0x40, 0x00, 64, 17, /* IPv4 */
		0x14, 0x19, 10,	  0,	0,    1,    10,	  0,	0,  2,	/* */
		0xc0, 0x01, 0x12, 0xb7, 0x00, 32,   0x00, 0x00,		/* UDP */
	};
	uint8_t out[FRAME_MAX];

	assert_int_equal(build(ADV_FRAME_V2_IPV4, out), V4_BYTES);
	assert_memory_equal(out, right, sizeof(right));
	assert_memory_equal(out + sizeof(right), transport, TRANSPORT);
}

static void test_bytes_of_v1(void **state)
{
	static const uint8_t right[] = {
		2,    1,    1,	  1,	1,    1,
		2,    2,    2,	  2,	2,    2,
		0x89, 0x15, /* Ethernet */
		0x66, 0xaa, 0xbc, 0xde, 0x00, TRANSPORT + 4,
		27,   64, /* GRH */
		0x20, 0x01, 0x0d, 0xb8, 0,    0,
		0,    0,    0,	  0,	0,    0,
		0,    0,    0,	  1,	0x20, 0x01,
		0x0d, 0xb8, 0,	  0,	0,    0,
		0,    0,    0,	  0,	0,    0,
		0,    2,
	};
	uint8_t out[FRAME_MAX];

	assert_int_equal(build(ADV_FRAME_V1, out), V1_BYTES);
	assert_memory_equal(out, right, sizeof(right));
	assert_memory_equal(out + sizeof(right), transport, TRANSPORT);
}

/* A frame that is cut at any place is an error. If the rest shows that it is RoCE, the error is
 * "truncated". */
static void test_truncated(void **state)
{
	static const size_t port_seen[] = {UDP4 + 4, UDP6 + 4, IP + 40};
	int kind;

	for (kind = ADV_FRAME_V2_IPV4; kind <= ADV_FRAME_V1; kind++) {
		uint8_t out[FRAME_MAX];
		size_t len = build((enum adv_frame_kind)kind, out), cut;

		for (cut = 0; cut < len; cut++) {
			enum adv_frame_error err = parse_frame(out, cut);

			assert_int_not_equal(err, ADV_FRAME_OK);
			if (cut < 34 || cut >= port_seen[kind])
				assert_int_equal(err, ADV_FRAME_TRUNCATED);
		}
		assert_int_equal(parse_frame(out, len), ADV_FRAME_OK);
	}
}

static void test_truncated_vlan(void **state)
{
	struct adv_frame f = sample_of(ADV_FRAME_V2_IPV4);
	uint8_t out[FRAME_MAX];
	size_t len, cut;

	f.has_vlan = true;
	len = adv_frame_build(&f, out, sizeof(out));
	assert_int_equal(len, V4_BYTES + 4);
	for (cut = 0; cut < 18; cut++)
		assert_int_equal(parse_frame(out, cut), ADV_FRAME_TRUNCATED);
	assert_int_equal(parse_frame(out, len), ADV_FRAME_OK);
}

/* The result for a frame with one byte changed. */
struct change {
	enum adv_frame_kind kind;
	size_t at;
	uint8_t value;
	enum adv_frame_error expected;
};

static void test_changes(void **state)
{
	static const struct change changes[] = {
		{ADV_FRAME_V2_IPV4, 12, 0x09, ADV_FRAME_NOT_ROCE},  /* Ethertype */
		{ADV_FRAME_V2_IPV4, IP, 0x65, ADV_FRAME_MALFORMED}, /* version */
		/* Other offset of the UDP header: no RoCE port there. */
		{ADV_FRAME_V2_IPV4, IP, 0x44, ADV_FRAME_NOT_ROCE},
		{ADV_FRAME_V2_IPV4, IP + 2, 0x01, ADV_FRAME_TRUNCATED}, /* total length */
		/* Shorter than an IP header. */
		{ADV_FRAME_V2_IPV4, IP + 3, 19, ADV_FRAME_MALFORMED},
		/* Too short for a UDP header. */
		{ADV_FRAME_V2_IPV4, IP + 3, 27, ADV_FRAME_MALFORMED},
		{ADV_FRAME_V2_IPV4, IP + 3, 51, ADV_FRAME_MALFORMED},	/* UDP longer than IP */
		{ADV_FRAME_V2_IPV4, IP + 6, 0xc0, ADV_FRAME_MALFORMED}, /* reserved flag */
		{ADV_FRAME_V2_IPV4, IP + 6, 0x20, ADV_FRAME_MALFORMED}, /* first fragment */
		{ADV_FRAME_V2_IPV4, IP + 6, 0x01, ADV_FRAME_NOT_ROCE},	/* later fragment */
		{ADV_FRAME_V2_IPV4, IP + 7, 0x01, ADV_FRAME_NOT_ROCE},	/* later fragment */
		{ADV_FRAME_V2_IPV4, IP + 9, 6, ADV_FRAME_NOT_ROCE},	/* TCP */
		{ADV_FRAME_V2_IPV4, UDP4 + 3, 53, ADV_FRAME_NOT_ROCE},	/* port */
		{ADV_FRAME_V2_IPV4, UDP4 + 5, 31, ADV_FRAME_MALFORMED}, /* UDP length */
		{ADV_FRAME_V2_IPV4, UDP4 + 5, 33, ADV_FRAME_MALFORMED}, /* UDP length */
		{ADV_FRAME_V2_IPV4, UDP4 + 8, 0xff,
		 ADV_FRAME_OK}, /* the parser does not check it */
		{ADV_FRAME_V2_IPV6, IP, 0x46, ADV_FRAME_MALFORMED},	/* version */
		{ADV_FRAME_V2_IPV6, IP + 4, 0x01, ADV_FRAME_TRUNCATED}, /* payload length */
		/* Too short for a UDP header. */
		{ADV_FRAME_V2_IPV6, IP + 5, 7, ADV_FRAME_MALFORMED},
		{ADV_FRAME_V2_IPV6, IP + 6, 44, ADV_FRAME_NOT_ROCE},	/* fragment */
		{ADV_FRAME_V2_IPV6, UDP6 + 3, 53, ADV_FRAME_NOT_ROCE},	/* port */
		{ADV_FRAME_V2_IPV6, UDP6 + 5, 31, ADV_FRAME_MALFORMED}, /* UDP length */
		{ADV_FRAME_V1, IP, 0x46, ADV_FRAME_MALFORMED},		/* version */
		{ADV_FRAME_V1, IP + 4, 0x01, ADV_FRAME_TRUNCATED},	/* payload length */
		{ADV_FRAME_V1, IP + 5, 15, ADV_FRAME_MALFORMED}, /* too short for BTH and ICRC */
		{ADV_FRAME_V1, IP + 6, 17, ADV_FRAME_NOT_ROCE},	 /* next header */
	};
	size_t i;

	for (i = 0; i < ADV_ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];
		uint8_t out[FRAME_MAX];
		size_t len = build(c->kind, out);

		out[c->at] = c->value;
		if (c->kind == ADV_FRAME_V2_IPV4 && c->at >= IP && c->at < UDP4)
			fix_checksum(out + IP);
		if (parse_frame(out, len) != c->expected)
			fail_msg("change %zu: %d instead of %d", i, parse_frame(out, len),
				 c->expected);
	}
}

static void test_ipv4_options(void **state)
{
	uint8_t out[FRAME_MAX];
	size_t len = build(ADV_FRAME_V2_IPV4, out);

	memmove(out + UDP4 + 4, out + UDP4, len - UDP4);
	memset(out + UDP4, 0x01, 4);
	out[IP] = 0x46;
	out[IP + 3] += 4;
	assert_int_equal(parse_frame(out, len + 4), ADV_FRAME_MALFORMED);
	out[UDP4 + 4 + 3] = 53;
	assert_int_equal(parse_frame(out, len + 4), ADV_FRAME_NOT_ROCE);
}

static void test_ipv4_checksum(void **state)
{
	uint8_t out[FRAME_MAX];
	size_t len = build(ADV_FRAME_V2_IPV4, out);
	int bit;

	for (bit = 0; bit < 16; bit++) {
		out[IP + 10 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse_frame(out, len), ADV_FRAME_MALFORMED);
		out[IP + 10 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(parse_frame(out, len), ADV_FRAME_OK);
}

/* In some of these sums, adding the carry to the low half gives another carry. */
static void test_ipv4_checksum_carries(void **state)
{
	struct adv_frame f = sample_of(ADV_FRAME_V2_IPV4);
	uint8_t out[FRAME_MAX], right[20];
	unsigned id;

	memset(f.saddr, 0xfa, 4);
	memset(f.daddr, 0xfb, 4);
	for (id = 0; id < 0x10000; id++) {
		f.ip_id = (uint16_t)id;
		assert_int_equal(adv_frame_build(&f, out, sizeof(out)), V4_BYTES);
		memcpy(right, out + IP, sizeof(right));
		fix_checksum(right);
		assert_memory_equal(out + IP, right, sizeof(right));
	}
}

/* The shortest packet is BTH and ICRC, 16 bytes. */
static void test_shortest(void **state)
{
	int kind;

	for (kind = ADV_FRAME_V2_IPV4; kind <= ADV_FRAME_V1; kind++) {
		struct adv_frame f = sample_of((enum adv_frame_kind)kind);
		uint8_t out[FRAME_MAX];

		f.transport_len = ADV_BTH_LEN;
		both_ways(&f);
		f.transport_len = ADV_BTH_LEN - 1;
		assert_int_equal(adv_frame_build(&f, out, sizeof(out)), 0);
	}
}

static void test_too_short_for_transport(void **state)
{
	uint8_t out[FRAME_MAX];

	build(ADV_FRAME_V2_IPV4, out);
	out[IP + 3] = 28 + 15;
	out[UDP4 + 5] = 8 + 15;
	fix_checksum(out + IP);
	assert_int_equal(parse_frame(out, UDP4 + 8 + 15), ADV_FRAME_MALFORMED);
}

static void test_room(void **state)
{
	static const size_t bytes[] = {V4_BYTES, V6_BYTES, V1_BYTES};
	int kind;

	for (kind = ADV_FRAME_V2_IPV4; kind <= ADV_FRAME_V1; kind++) {
		struct adv_frame f = sample_of((enum adv_frame_kind)kind);
		uint8_t *out = malloc(bytes[kind] + 4);

		assert_non_null(out);
		assert_int_equal(adv_frame_build(&f, out, bytes[kind]), bytes[kind]);
		assert_int_equal(adv_frame_build(&f, out, bytes[kind] - 1), 0);
		f.has_vlan = true;
		assert_int_equal(adv_frame_build(&f, out, bytes[kind] + 4), bytes[kind] + 4);
		assert_int_equal(adv_frame_build(&f, out, bytes[kind] + 3), 0);
		free(out);
	}
}

/* The longest frame that the length fields allow, and one byte more. */
static void test_longest(void **state)
{
	static const size_t longest[] = {65535 - 28, 65535 - 8, 65535};
	uint8_t *bytes = calloc(1, 70000), *out = malloc(70000);
	int kind;

	assert_non_null(bytes);
	assert_non_null(out);
	for (kind = ADV_FRAME_V2_IPV4; kind <= ADV_FRAME_V1; kind++) {
		struct adv_frame f = sample_of((enum adv_frame_kind)kind), parsed;
		size_t len;

		f.transport = bytes;
		f.transport_len = longest[kind] - ADV_ICRC_LEN;
		len = adv_frame_build(&f, out, 70000);
		assert_int_equal(adv_frame_parse(out, len, &parsed), ADV_FRAME_OK);
		assert_same_fields(&parsed, &f);
		assert_int_equal(parsed.icrc, adv_frame_icrc(&f));
		f.transport_len++;
		assert_int_equal(adv_frame_build(&f, out, 70000), 0);
		f.transport_len = SIZE_MAX;
		assert_int_equal(adv_frame_build(&f, out, 70000), 0);
	}
	free(bytes);
	free(out);
}

/* The ICRC covers all fields except those that may change on the way. */
static void test_what_the_icrc_covers(void **state)
{
	struct adv_frame f = sample_of(ADV_FRAME_V2_IPV4), g;
	uint32_t icrc = adv_frame_icrc(&f);
	uint8_t marked[TRANSPORT];

	memcpy(marked, transport, TRANSPORT);
	marked[4] = 0xc0; /* FECN, BECN */
	g = f;
	g.transport = marked;
	g.tclass = 3;
	g.hop_limit = 1;
	g.udp_checksum = 0x1234;
	g.has_vlan = true;
	assert_int_equal(adv_frame_icrc(&g), icrc);
	marked[5] = 1;
	assert_int_not_equal(adv_frame_icrc(&g), icrc);

	g = f;
	g.ip_df = false;
	assert_int_not_equal(adv_frame_icrc(&g), icrc);
	g = f;
	g.ip_id++;
	assert_int_not_equal(adv_frame_icrc(&g), icrc);
	g = f;
	g.sport++;
	assert_int_not_equal(adv_frame_icrc(&g), icrc);
	g = f;
	g.dport++;
	assert_int_not_equal(adv_frame_icrc(&g), icrc);

	f = g = sample_of(ADV_FRAME_V1);
	g.flow_label = 0;
	g.tclass = 0;
	g.hop_limit = 0;
	assert_int_equal(adv_frame_icrc(&g), adv_frame_icrc(&f));
	g.saddr[15]++;
	assert_int_not_equal(adv_frame_icrc(&g), adv_frame_icrc(&f));
}

/* Pairs of QP numbers, and the port that the Linux kernel chose for them. */
static void test_sport_from_qpns(void **state)
{
	static const struct {
		uint32_t a, b;
		uint16_t port;
	} seen[] = {
		{0x28, 0x2a, 0xc690}, {0x2b, 0x2d, 0xc78f}, {0x2d, 0x2f, 0xc843},
		{0x20, 0x22, 0xc440}, {0x2f, 0x31, 0xc8ff}, {0x32, 0x34, 0xca28},
	};
	size_t i;

	for (i = 0; i < ADV_ARRAY_SIZE(seen); i++) {
		assert_int_equal(adv_frame_sport(0, seen[i].a, seen[i].b), seen[i].port);
		assert_int_equal(adv_frame_sport(0, seen[i].b, seen[i].a), seen[i].port);
	}
	assert_int_equal(adv_frame_sport(0, 0, 0), 0xc000);
	/* 0xffffff^2 = 0xfffffe000001: folded by 20 and by 40, then by 14 bits. */
	assert_int_equal(adv_frame_sport(0, 0xffffff, 0xffffff), 0xc000 | (0x3f1e ^ 0x3f));
}

static void test_sport_from_flow_label(void **state)
{
	assert_int_equal(adv_frame_sport(1, 0x28, 0x2a), 0xc001);
	assert_int_equal(adv_frame_sport(0x4000, 0x28, 0x2a), 0xc001);
	assert_int_equal(adv_frame_sport(0xfffff, 0x28, 0x2a), 0xc000 | (0x3fff ^ 0x3f));
	/* Only the 20 low bits of the flow label count. */
	assert_int_equal(adv_frame_sport(0x100000, 0x28, 0x2a), 0xc690);
}

/* Returns the IP version of the 40 bytes, as rdma-core's ibv_init_ah_from_wc() detects it; 0:
 * neither 4 nor 6. */
static int version_for_verbs(const uint8_t *grh)
{
	uint8_t ip[20];

	memcpy(ip, grh + 20, sizeof(ip));
	fix_checksum(ip);
	if (grh[0] >> 4 != 6)
		return ip[0] >> 4 == 4 ? 4 : 0;
	return (ip[0] & 0x0f) == 5 && memcmp(ip + 10, grh + 30, 2) == 0 ? 4 : 6;
}

static void test_grh_ipv4(void **state)
{
	static const uint8_t sgid[16] = {[10] = 0xff, 0xff, 10, 1, 2, 3};
	static const uint8_t dgid[16] = {[10] = 0xff, 0xff, 239, 7, 7, 7};
	static const uint8_t zeros[20];
	uint8_t grh[40], checked[20];

	memset(grh, 0xa5, sizeof(grh));
	adv_grh_for_ud(grh, sgid, dgid, 0x68, 63, 0, 100);
	assert_memory_equal(grh, zeros, 20);
	assert_int_equal(version_for_verbs(grh), 4);
	assert_memory_equal(grh + 20, "\x45\x68\0\x80", 4);
	assert_int_equal(grh[28], 63);
	assert_int_equal(grh[29], 17);
	assert_memory_equal(grh + 32, sgid + 12, 4);
	assert_memory_equal(grh + 36, dgid + 12, 4);
	memcpy(checked, grh + 20, 20);
	fix_checksum(checked);
	assert_memory_equal(grh + 20, checked, 20);
}

static void test_grh_ipv6(void **state)
{
	uint8_t sgid[16], dgid[16], grh[40];

	inet_pton(AF_INET6, "2001:db8::1", sgid);
	inet_pton(AF_INET6, "ff0e::7", dgid);
	adv_grh_for_ud(grh, sgid, dgid, 0x68, 63, 0x12345, 100);
	assert_memory_equal(grh, "\x66\x81\x23\x45\0\x6c\x11\x3f", 8);
	assert_memory_equal(grh + 8, sgid, 16);
	assert_memory_equal(grh + 24, dgid, 16);
	assert_int_equal(version_for_verbs(grh), 6);
}

/* ---- PFC ---- */

/* The bytes of IEEE 802.1Q, 36.1.3. */
static void test_pfc(void **state)
{
	static const uint8_t wanted[ADV_FRAME_PFC_LEN] = {1, 0x80, 0xc2, 0,    0,	    1,	  0,
							  0, 0,	   0,	 0,    0,	    0x88, 8,
							  1, 1,	   0,	 0x28, [24] = 0xff, 0xff};
	const uint16_t quanta[8] = {1, 2, 3, 0xffff, 5, 0, 7, 8};
	uint8_t frame[ADV_FRAME_PFC_LEN];

	adv_frame_pfc(frame, 0x28, quanta);
	assert_memory_equal(frame, wanted, sizeof(frame));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_bytes_of_ipv4),
		cmocka_unit_test(test_bytes_of_v1),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_truncated_vlan),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_ipv4_options),
		cmocka_unit_test(test_ipv4_checksum),
		cmocka_unit_test(test_ipv4_checksum_carries),
		cmocka_unit_test(test_shortest),
		cmocka_unit_test(test_too_short_for_transport),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_what_the_icrc_covers),
		cmocka_unit_test(test_sport_from_qpns),
		cmocka_unit_test(test_sport_from_flow_label),
		cmocka_unit_test(test_grh_ipv4),
		cmocka_unit_test(test_grh_ipv6),
		cmocka_unit_test(test_pfc),
	};

	return cmocka_run_group_tests_name("wire frame", tests, NULL, NULL);
}
