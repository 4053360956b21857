/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/iwarp/crc32c.h"

#ifdef ADV_HAVE_ISAL

#include <isa-l/crc.h>

#include "nic/wire/isal.h"

uint32_t adv_crc32c(uint32_t sum, const void *p, size_t len)
{
	/* ISA-L takes an int as length, and does not write to the buffer. */
	sum = crc32_iscsi((unsigned char *)p, (int)len, sum);
	adv_isal_end();
	return sum;
}

#else

/* Remainders of the 16 values of half a byte, reflected; polynomial 0x1edc6f41. */
static const uint32_t remainder_of[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t adv_crc32c(uint32_t sum, const void *p, size_t len)
{
	const uint8_t *b = p;

	while (len--) {
		sum ^= *b++;
		sum = remainder_of[sum & 0xf] ^ sum >> 4;
		sum = remainder_of[sum & 0xf] ^ sum >> 4;
	}
	return sum;
}

#endif

void adv_crc32c_put(uint32_t sum, uint8_t out[4])
{
	unsigned i;

	for (i = 0; i < 4; i++)
		out[i] = (uint8_t)(~sum >> 8 * i);
}
