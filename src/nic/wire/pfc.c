/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of priority-based flow control. */
#include <string.h>

#include "base/bytes.h"
#include "nic/wire/frame.h"

#define ETHERTYPE 0x8808 /* MAC control */
#define OPCODE	  0x0101

void adv_frame_pfc(uint8_t out[ADV_FRAME_PFC_LEN], uint8_t mask, const uint16_t quanta[8])
{
	static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0, 0, 1};

	memset(out, 0, ADV_FRAME_PFC_LEN);
	memcpy(out, group, sizeof(group));
	adv_put_be16(out + 12, ETHERTYPE);
	adv_put_be16(out + 14, OPCODE);
	out[17] = mask;
	for (unsigned i = 0; i < 8; i++)
		adv_put_be16(out + 18 + 2 * i, mask & (1u << i) ? quanta[i] : 0);
}
