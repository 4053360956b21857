/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A decoded, well-formed packet for a queue pair. */
#ifndef ADV_TRANSPORT_INCOMING_H
#define ADV_TRANSPORT_INCOMING_H

#include "transport/engine.h"
#include "wire/headers.h"

struct adv_incoming {
	const struct adv_headers *h;
	const struct adv_opcode_info *info;
	const uint8_t *payload;
	uint32_t payload_len;
	const struct adv_rx_meta *meta;
};

#endif
