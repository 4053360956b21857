/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds packets to a batch. */
#ifndef ADV_TRANSPORT_OUTGOING_H
#define ADV_TRANSPORT_OUTGOING_H

#include "transport/engine_state.h"

/* True if the batch has room for one more packet of any shape. */
static inline bool adv_outgoing_has_room(const struct adv_tx_batch *batch)
{
	return batch->count < batch->limit && batch->iov_used + ADV_MAX_SGE <= ADV_TX_BATCH_IOV;
}

/* Returns the ECN field of packets. RFC 3168, 5: a sender that does not react to marks must not be
 * ECN-capable. */
static inline enum adv_ecn adv_outgoing_ecn(const struct adv_engine *e)
{
	return e->cc.algorithm == ADV_CC_NONE ? ADV_ECN_NOT_ECT : ADV_ECN_ECT0;
}

/* Adds a packet with these headers to the batch, which has room. The caller adds the payload. */
struct adv_tx_packet *adv_outgoing_add(struct adv_engine *e, struct adv_path *path,
				       struct adv_tx_batch *batch, const struct adv_headers *h);
/* Returns the bytes of the packet's Ethernet frame, for rates. */
uint32_t adv_outgoing_frame_bytes(const struct adv_tx_packet *pkt);

#endif
