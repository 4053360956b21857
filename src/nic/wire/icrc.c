/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/icrc.h"
#include "base/bytes.h"
#include "nic/wire/headers.h"
#include "nic/wire/isal.h"

#ifdef ADV_HAVE_ISAL
#include <isa-l/crc.h>
#define crc32 crc32_gzip_refl
#else
#include "nic/wire/crc32.h"
#define crc32 adv_crc32
#endif

#define LRH_CRC	     0x2144df1cu /* CRC-32 of eight bytes 0xff */
#define POLYNOMIAL   0xedb88320u /* reflected: bit 31 is the coefficient of x^0 */
#define PROTO_UDP    17
#define IPV4_LEN     20
#define IPV4_DF	     0x4000
#define IPV6_LEN     40
#define UDP_LEN	     8
#define BTH_RESERVED 4 /* byte of the BTH with FECN, BECN and reserved bits */

static uint8_t *put_ipv4(uint8_t *p, const struct adv_icrc_flow *flow, uint16_t id, size_t udp_len)
{
	p[0] = 0x45;
	p[1] = 0xff; /* ToS */
	adv_put_be16(p + 2, (uint16_t)(IPV4_LEN + udp_len));
	adv_put_be16(p + 4, id);
	adv_put_be16(p + 6, flow->ipv4_no_df ? 0 : IPV4_DF);
	p[8] = 0xff; /* TTL */
	p[9] = PROTO_UDP;
	p[10] = 0xff; /* header checksum */
	p[11] = 0xff;
	memcpy(p + 12, flow->saddr, 4);
	memcpy(p + 16, flow->daddr, 4);
	return p + IPV4_LEN;
}

static uint8_t *put_ipv6(uint8_t *p, const struct adv_icrc_flow *flow, size_t udp_len)
{
	p[0] = 0x6f; /* version; traffic class and flow label */
	memset(p + 1, 0xff, 3);
	adv_put_be16(p + 4, (uint16_t)udp_len);
	p[6] = PROTO_UDP;
	p[7] = 0xff; /* hop limit */
	memcpy(p + 8, flow->saddr, 16);
	memcpy(p + 24, flow->daddr, 16);
	return p + IPV6_LEN;
}

adv_icrc_state adv_icrc_begin(const struct adv_icrc_flow *flow, uint16_t ip_id, size_t udp_payload)
{
	uint8_t masked[IPV6_LEN + UDP_LEN];
	size_t udp_len = UDP_LEN + udp_payload;
	uint8_t *udp = flow->ipv4 ? put_ipv4(masked, flow, ip_id, udp_len)
				  : put_ipv6(masked, flow, udp_len);

	adv_put_be16(udp, flow->sport);
	adv_put_be16(udp + 2, flow->dport);
	adv_put_be16(udp + 4, (uint16_t)udp_len);
	udp[6] = 0xff; /* checksum */
	udp[7] = 0xff;
	return crc32(LRH_CRC, masked, (size_t)(udp + UDP_LEN - masked));
}

/* The entry for n is the XOR of the entries for the bits of n, because a CRC is affine. */
const uint32_t adv_icrc_id_effect[4][16] = {
	{0x00000000, 0x9b73ead4, 0xed96d3e9, 0x76e5393d, 0x005ca193, 0x9b2f4b47, 0xedca727a,
	 0x76b998ae, 0x00b94326, 0x9bcaa9f2, 0xed2f90cf, 0x765c7a1b, 0x00e5e2b5, 0x9b960861,
	 0xed73315c, 0x7600db88},
	{0x00000000, 0x0172864c, 0x02e50c98, 0x03978ad4, 0x05ca1930, 0x04b89f7c, 0x072f15a8,
	 0x065d93e4, 0x0b943260, 0x0ae6b42c, 0x09713ef8, 0x0803b8b4, 0x0e5e2b50, 0x0f2cad1c,
	 0x0cbb27c8, 0x0dc9a184},
	{0x00000000, 0x81256527, 0xd93bcc0f, 0x581ea928, 0x69069e5f, 0xe823fb78, 0xb03d5250,
	 0x31183777, 0xd20d3cbe, 0x53285999, 0x0b36f0b1, 0x8a139596, 0xbb0ba2e1, 0x3a2ec7c6,
	 0x62306eee, 0xe3150bc9},
	{0x00000000, 0x7f6b7f3d, 0xfed6fe7a, 0x81bd8147, 0x26dcfab5, 0x59b78588, 0xd80a04cf,
	 0xa7617bf2, 0x4db9f56a, 0x32d28a57, 0xb36f0b10, 0xcc04742d, 0x6b650fdf, 0x140e70e2,
	 0x95b3f1a5, 0xead88e98},
};

uint32_t adv_icrc_length_effect(bool ipv4, size_t udp_payload)
{
	const struct adv_icrc_flow any = {.ipv4 = ipv4};

	return adv_icrc_begin(&any, 0, udp_payload) ^ adv_icrc_begin(&any, 0, 0);
}

adv_icrc_state adv_icrc_begin_v1(const uint8_t grh[40])
{
	uint8_t masked[ADV_GRH_LEN];

	memcpy(masked, grh, ADV_GRH_LEN);
	masked[0] |= 0x0f; /* traffic class and flow label */
	memset(masked + 1, 0xff, 3);
	masked[7] = 0xff; /* hop limit */
	return crc32(LRH_CRC, masked, ADV_GRH_LEN);
}

/*
 * The change of the state before the BTH that has the same effect as a change of each bit of the
 * BTH's byte 4. It is the state of the CRC, run four bytes backward from that bit. Does not depend
 * on the packet.
 */
static const uint32_t effect_of_reserved_bit[8] = {
	0xdb710641, 0x6d930ac3, 0xdb261586, 0x6d3d2d4d,
	0xda7a5a9a, 0x6f85b375, 0xdf0b66ea, 0x6567cb95,
};
#define EFFECT_OF_RESERVED_BITS 0x0f6a70d9 /* of all eight */

uint32_t adv_icrc_finish(adv_icrc_state s, const uint8_t *transport, size_t len)
{
	/* Changing the state instead of the byte makes one CRC of the packet, without a copy of the
	 * BTH. */
	s ^= EFFECT_OF_RESERVED_BITS;
	for (unsigned set = transport[BTH_RESERVED]; set; set &= set - 1)
		s ^= effect_of_reserved_bit[__builtin_ctz(set)];
	s = crc32(s, transport, len);
	adv_isal_end();
	return s;
}

/* Returns a * b modulo the polynomial. */
static uint32_t gf2_multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		product ^= b & -(a >> 31);
		b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
	}
	return product;
}

/* [digit][i]: x^(-8 * i * 16^digit), the factor that removes i * 16^digit zero bytes. */
static const uint32_t undo_bytes[4][16] = {
	{0x80000000, 0x6567cb95, 0xd7125358, 0x1f81b6e1, 0x5b358fd3, 0xeb21cebf, 0x2ff880c5,
	 0x97fc423c, 0x2e9bb40b, 0x2fb98a7d, 0xd6f6fa3c, 0x2059d4a0, 0x36511375, 0x525983aa,
	 0x31619cb3, 0x0f125cae},
	{0x80000000, 0x12a59a49, 0x8df9403d, 0x9d764201, 0x5139de12, 0x17958e0b, 0xdb1c4863,
	 0xc31ec6b9, 0xba340226, 0x6b85d37b, 0x0ba861bc, 0x39b0d61c, 0xfb844d1f, 0xc9771684,
	 0x8073ef0c, 0xc3f881be},
	{0x80000000, 0x29c45641, 0x12fbc105, 0x8b712bc1, 0xecd30c55, 0x930588dc, 0x3c4c471a,
	 0x25cd5760, 0x3755ebd8, 0xe264a9e0, 0xc3a68b42, 0x219c9d64, 0x75cc86fa, 0xebcce135,
	 0x84773a36, 0x4e1b970f},
	{0x80000000, 0x24ee460c, 0x23783fcf, 0xea8683d0, 0x479933fc, 0x1e25ac62, 0x6523628c,
	 0x3704e154, 0xa39442a5, 0x4ff1fa8c, 0xbc26806e, 0x1b2888be, 0x7910287d, 0xb8721901,
	 0x7bea74c8, 0x655ffa6b},
};

bool adv_icrc_solve_id(uint32_t found, uint32_t computed_for_0, size_t udp_payload, uint16_t *ip_id)
{
	/*
	 * The CRC of a message M is M * x^32 plus constants. The constants cancel in the
	 * difference. The Identification is followed by 14 bytes of the IPv4 header, the UDP header
	 * and its payload without the ICRC.
	 */
	size_t n = 14 + UDP_LEN + udp_payload - ADV_ICRC_LEN + 32 / 8;
	uint32_t difference = found ^ computed_for_0;
	int digit;

	for (digit = 0; difference && digit < 4; digit++, n >>= 4)
		if (n & 15)
			difference = gf2_multiply(undo_bytes[digit][n & 15], difference);
	/* The two bytes of the Identification remain. Its first byte is in bits 16 to 23. */
	*ip_id = (uint16_t)(difference >> 24 | (difference >> 8 & 0xff00));
	return (difference & 0xffff) == 0;
}
