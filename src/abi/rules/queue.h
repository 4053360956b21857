/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on queues of requests and completions: unsignaled-queue-full, cq-too-small,
 * receive-queue-empty, receive-too-small, never-polled, error-ignored. All calls need the lock
 * of report.h. */
#ifndef ADV_ABI_RULES_QUEUE_H
#define ADV_ABI_RULES_QUEUE_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* A post of send requests failed with ENOMEM. */
void adv_check_send_queue_full(struct adv_check_call *call, const struct adv_check_qp *qp);
/* A request is being posted that gives a completion in cq; cq may be NULL. */
void adv_check_cq_expects(struct adv_check_cq *cq, struct adv_check_work *w);
/* Requests were posted, and those that were refused are no longer expected. cq may be NULL. */
void adv_check_cq_fits(struct adv_check_call *call, struct adv_check_cq *cq);
/* The program posts to a queue pair, or polls a completion of it: has the device sent RNR NAKs? */
void adv_check_rnr(struct adv_check_call *call, struct adv_check_qp *qp);
/* A receive request was posted. What the device has sent since adv_check_rnr(), before the request
 * was there, belongs to the same finding. */
void adv_check_rnr_posted(struct adv_check_qp *qp);
/* The program has polled the CQ. got: there was a completion. */
void adv_check_polled_in_vain(struct adv_check_call *call, struct adv_check_cq *cq, bool got);
/* ibv_get_cq_event() is called for the channel with this descriptor, which has no event. */
void adv_check_waits_in_vain(struct adv_check_call *call, int fd);
/* A receive request has ended with this status. */
void adv_check_recv_status(struct adv_check_call *call, const struct adv_check_object *owner,
			   const struct adv_check_work *w, enum ibv_wc_status status);
/* The program has polled a failed completion of the queue pair from the CQ. */
void adv_check_error_polled(struct adv_check_qp *qp, struct adv_check_cq *cq);
/* The program calls ibv_post_send() or ibv_post_recv(). */
void adv_check_posts_in_error(struct adv_check_call *call, struct adv_check_qp *qp);
/* A queue pair that uses the CQ is being destroyed, and its completions with it. cq may be NULL. */
void adv_check_note_left(struct adv_check_cq *cq);
/* The CQ is destroyed (call) or the program exits (call is NULL). */
void adv_check_never_polled(struct adv_check_call *call, const struct adv_check_cq *cq);

#endif
