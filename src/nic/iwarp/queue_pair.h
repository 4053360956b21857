/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs of iWARP: members of struct adv_protocol (nic/engine/protocol.h). The last one,
 * `forget`, belongs to the owner of the connections.
 */
#ifndef ADV_NIC_IWARP_QUEUE_PAIR_H
#define ADV_NIC_IWARP_QUEUE_PAIR_H

#include "nic/engine/protocol.h"

/* RC only, without atomics and immediate data. */
bool adv_iwarp_supports(enum ibv_qp_type type, uint32_t *opcodes);

/*
 * Changes state and attributes as Linux's siw does. No transition needs an attribute. Attributes
 * that exist only for RoCE are ignored. A queue pair sends and receives from RTS on, when it has a
 * connection. SQD and SQE do not exist. After ERR the QP is scheduled, so that its connection ends.
 */
int adv_iwarp_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);

/*
 * Adds to the batch what the stream of a queue pair, qp->connection, has to send: a packet without
 * a header, whose iov[] are the next bytes of the connection and whose dest_qpn is this queue pair.
 * The link sends them and calls adv_rdmap_sent(). If all were sent, it schedules the queue pair
 * again. iov_count 0: the link looks for the acknowledgement of the start-up reply
 * (adv_rdmap_wants_look()), or the connection ends (adv_rdmap_phase()).
 */
void adv_iwarp_turn(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);

#endif
