/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/icrc.h"
#include "wire/bytes.h"
#include "wire/headers.h"

#ifdef ADV_HAVE_ISAL
#include <isa-l/crc.h>
#define crc32 crc32_gzip_refl
#else
#include "wire/crc32.h"
#define crc32 adv_crc32
#endif

#define LRH_CRC	     0x2144df1cu /* CRC-32 of eight bytes 0xff */
#define POLYNOMIAL   0xedb88320u /* reflected: bit 31 is the coefficient of x^0 */
#define PROTO_UDP    17
#define IPV4_LEN     20
#define IPV4_DF	     0x4000
#define IPV6_LEN     40
#define UDP_LEN	     8
#define BTH_RESERVED UINT64_C(0xff000000) /* FECN, BECN and reserved bits: byte 4 of 8 */

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

/* The change that each bit of the Identification causes in the state after the UDP header. A CRC is
 * affine, so the changes add up by XOR. */
static const uint32_t effect_of_id_bit[16] = {
	0x9b73ead4, 0xed96d3e9, 0x005ca193, 0x00b94326, 0x0172864c, 0x02e50c98,
	0x05ca1930, 0x0b943260, 0x81256527, 0xd93bcc0f, 0x69069e5f, 0xd20d3cbe,
	0x7f6b7f3d, 0xfed6fe7a, 0x26dcfab5, 0x4db9f56a,
};

adv_icrc_state adv_icrc_run_begin(struct adv_icrc_run *run, uint16_t ip_id, size_t udp_payload)
{
	adv_icrc_state s;

	if (run->udp_payload != udp_payload) {
		run->begun = adv_icrc_begin(&run->flow, 0, udp_payload);
		run->udp_payload = udp_payload;
	}
	s = run->begun;
	for (unsigned left = run->flow.ipv4 ? ip_id : 0; left; left &= left - 1)
		s ^= effect_of_id_bit[__builtin_ctz(left)];
	return s;
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

adv_icrc_state adv_icrc_bth(adv_icrc_state s, const uint8_t bth[12])
{
	/* The mask is applied to a whole word. The CRC reads words, and the processor forwards a
	 * store to a load only if both have the same size. */
	uint64_t head;
	uint8_t masked[ADV_BTH_LEN];

	memcpy(&head, bth, sizeof(head));
	head |= htobe64(BTH_RESERVED);
	memcpy(masked, &head, sizeof(head));
	memcpy(masked + 8, bth + 8, 4);
	return crc32(s, masked, ADV_BTH_LEN);
}

/*
 * Clears the upper halves of the vector registers, in which ISA-L leaves values. Otherwise code
 * compiled without AVX, like this code, waits for the instructions that computed these values: more
 * than 100 ns for each packet of 4 KiB on AMD's Zen 4.
 */
static inline void clear_upper_halves(void)
{
#if defined(ADV_HAVE_ISAL) && defined(__x86_64__) && !defined(__AVX__)
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper");
#endif
}

adv_icrc_state adv_icrc_update(adv_icrc_state s, const void *p, size_t len)
{
	s = crc32(s, p, len);
	clear_upper_halves();
	return s;
}

uint32_t adv_icrc_end(adv_icrc_state s)
{
	return s;
}

uint32_t adv_icrc_finish(adv_icrc_state s, const uint8_t *transport, size_t len)
{
	s = adv_icrc_bth(s, transport);
	return adv_icrc_end(adv_icrc_update(s, transport + ADV_BTH_LEN, len - ADV_BTH_LEN));
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
