/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting, the general path: fast.c calls it from the first request on that it leaves. */
#ifndef ADV_NIC_QUEUE_POST_H
#define ADV_NIC_QUEUE_POST_H

#include "nic/queue/qp_state.h"

/* Post the rest of a list, as adv_qp_post_send() and adv_qp_post_recv(), which call them. Return 0,
 * EINVAL or ENOMEM. */
int adv_post_sends(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr);
int adv_post_recvs(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr);

#endif
