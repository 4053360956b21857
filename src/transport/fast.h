/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fast path: what nearly all messages are, from post to completion. A function that returns
 * false has changed nothing; the caller then takes the general path.
 */
#ifndef ADV_TRANSPORT_FAST_H
#define ADV_TRANSPORT_FAST_H

#include "transport/unusual.h"

/* Posts one send request, as adv_qp_post_send(). The caller schedules the QP. */
bool adv_fast_post_send(struct adv_qp *qp, const struct ibv_send_wr *wr);
/* Posts one receive request, as adv_qp_post_recv(). */
bool adv_fast_post_recv(struct adv_qp *qp, const struct ibv_recv_wr *wr);
/* Gives a QP without ADV_UNUSUAL_FOR_TURN its turn: adds its ACK and its requests to the batch,
 * which has room. Calls the general path for requests that are unusual themselves. */
void adv_fast_turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);
/* Handles a received packet, like adv_engine_rx(). */
bool adv_fast_rx(struct adv_engine *e, uint64_t now, const struct adv_rx_packet *pkt);

#endif
