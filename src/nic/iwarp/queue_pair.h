/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs of iWARP: two members of struct adv_protocol (transport/protocol.h). The others need
 * the connection, so the owner of the sockets has them.
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

#endif
