/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states RESET and ERR of a queue pair, which all protocols have. */
#ifndef ADV_NIC_QUEUE_QP_H
#define ADV_NIC_QUEUE_QP_H

#include "nic/queue/qp_state.h"

/* Moves the QP to RESET: empties its queues, removes its completions from the CQs, and drops its
 * state of packets in flight. */
void adv_qp_clear(struct adv_qp *qp);
/* As adv_qp_clear(), and forgets all attributes: ibv_modify_qp() to RESET. */
void adv_qp_reset(struct adv_qp *qp);
/*
 * Performs an ibv_modify_qp() call that moves the QP to RESET or ERR, or that lacks IBV_QP_STATE
 * and finds the QP there, which changes nothing. Returns false for any other call. next: the state
 * after the call.
 */
bool adv_qp_modify_ended(struct adv_qp *qp, uint64_t now, enum ibv_qp_state next, int mask);

#endif
