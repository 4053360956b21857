/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the records of outstanding work requests, and calls the rules that concern posting and
 * completion. All calls need the lock of report.h. Records may be NULL: an object that was created
 * without memory for its record is not observed. */
#ifndef ADV_ABI_RULES_POSTING_H
#define ADV_ABI_RULES_POSTING_H

#include "abi/check/call.h"
#include "abi/check/object.h"

void adv_check_send_begins(struct adv_check_call *call, struct adv_check_qp *qp,
			   const struct ibv_send_wr *wr);
void adv_check_send_ends(struct adv_check_call *call, struct adv_check_qp *qp,
			 const struct ibv_send_wr *bad, int err);
/* qp or srq is NULL: the other one has the receive queue. */
void adv_check_recv_begins(struct adv_check_call *call, struct adv_check_qp *qp,
			   struct adv_check_srq *srq, const struct ibv_recv_wr *wr);
void adv_check_recv_ends(struct adv_check_call *call, struct adv_check_qp *qp,
			 struct adv_check_srq *srq, const struct ibv_recv_wr *bad, int err);
void adv_check_bind_posted(struct adv_check_call *call, struct adv_check_qp *qp,
			   const struct ibv_mw_bind *bind);
/* The program has polled a completion from the CQ. cq may be NULL. */
void adv_check_completed(struct adv_check_call *call, struct adv_check_cq *cq,
			 const struct ibv_wc *wc);

#endif
