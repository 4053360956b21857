/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds packets to a batch. */
#ifndef ADV_NIC_ENGINE_OUTGOING_H
#define ADV_NIC_ENGINE_OUTGOING_H

#include "nic/queue/qp_state.h"

/* tx.c. Gives a QP its turn, which may be of any kind. */
void adv_outgoing_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
/* tx.c. Adds what the engine sends beside the turns of QPs. `batch` is the first since
 * the last batch was sent. */
void adv_outgoing_send_notes(struct adv_engine *e, struct adv_tx_batch *batch);

/* True if the batch has room for one more packet of any shape. */
static inline bool adv_outgoing_has_room(const struct adv_tx_batch *batch)
{
	return batch->count < batch->limit && batch->iov_used + ADV_MAX_SGE <= ADV_TX_BATCH_IOV;
}

/* Adds a packet with these headers to the batch, which has room. The caller adds the payload. */
struct adv_tx_packet *adv_outgoing_add(struct adv_engine *e, struct adv_path *path,
				       struct adv_tx_batch *batch, const struct adv_headers *h);
/* Returns the bytes of the packet's Ethernet frame, for rates. */
uint32_t adv_outgoing_frame_bytes(const struct adv_tx_packet *pkt);
/* Returns the bytes of the Ethernet frame of a WRITE or SEND in the middle of a message. */
uint32_t adv_outgoing_full_frame(const struct adv_qp *qp);

#endif
