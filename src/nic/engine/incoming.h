/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A decoded, well-formed packet for a queue pair. */
#ifndef ADV_NIC_ENGINE_INCOMING_H
#define ADV_NIC_ENGINE_INCOMING_H

#include "nic/engine/engine.h"
#include "nic/wire/headers.h"

struct adv_incoming {
	const struct adv_headers *h;
	const struct adv_opcode_info *info;
	const uint8_t *payload;
	uint32_t payload_len;
	uint32_t more;		      /* see struct adv_rx_packet */
	struct adv_rx_source *source; /* NULL: the payload is at `payload` */
	const struct adv_rx_meta *meta;
};

/* Handles a received packet, the general path: adv_engine_rx() calls it unless fast.c has handled
 * the packet. */
void adv_incoming_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt);

#endif
