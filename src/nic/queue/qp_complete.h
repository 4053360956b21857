/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions and errors of a queue pair. */
#ifndef ADV_NIC_QUEUE_QP_COMPLETE_H
#define ADV_NIC_QUEUE_QP_COMPLETE_H

#include "nic/queue/qp_state.h"

/* Completes the oldest send request. */
void adv_qp_complete_send(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			  uint64_t now);
/* Fails the oldest send request, and moves the QP to ERR (RC) or SQE (UC, UD). */
void adv_qp_fail_send(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
		      uint64_t now);
/* Dequeues the next receive request of the SRQ or the receive queue; NULL: none. */
struct adv_recv_wqe *adv_qp_take_recv(struct adv_qp *qp);
/* Completes a receive request. The caller fills in wc, except wr_id and qp_num. */
void adv_qp_complete_recv(struct adv_qp *qp, struct adv_recv_wqe *wqe, struct ibv_wc *wc,
			  bool solicited, uint64_t now);
/* Completes all posted requests of the queue with WR_FLUSH_ERR, oldest first (IBTA 10.3.1.7). */
void adv_qp_flush_send(struct adv_qp *qp, uint64_t now);
void adv_qp_flush_recv(struct adv_qp *qp, uint64_t now);
/* Moves the QP to ERR and flushes all outstanding requests. */
void adv_qp_enter_error(struct adv_qp *qp, uint64_t now);
/* Moves the QP to ERR and raises the asynchronous event with its cause. If the QP is in ERR
 * already, does nothing. */
void adv_qp_fatal(struct adv_qp *qp, enum ibv_event_type type, enum adv_vendor_err why,
		  uint64_t now);
/* Adds to the newest error the memory to which access was refused: `length` bytes (0: not known) at
 * `va` under the key. */
void adv_qp_note_memory(struct adv_qp *qp, uint32_t rkey, uint64_t va, uint32_t length);

#endif
