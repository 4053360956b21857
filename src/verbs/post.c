/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts work requests to a queue pair: the context's operations. qp_ex.c also posts through these
 * functions. */
#include "verbs/objects.h"

#define MAX_HELD_LENGTH 1024 /* bytes; a larger send request is not held */

/* True if the list is one small request. NULL is an empty list. */
static bool is_small(const struct ibv_send_wr *wr)
{
	return wr && !wr->next && wr->num_sge == 1 && wr->sg_list->length <= MAX_HELD_LENGTH;
}

/* Posts send requests. Sets *bad_wr on every error, also in a child of fork(). */
int adv_ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct adv_device *device = adv_ibv_context_of(qp->context)->device;
	int err;

	if (!adv_ibv_enter(qp->context)) {
		*bad_wr = wr;
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_post_send(qp 0x%06x)", qp->qp_num);
	}
	err = adv_qp_post_send(adv_ibv_qp_of(qp)->qp, adv_device_now(device), wr, bad_wr);
	if (err) {
		adv_ibv_leave(qp->context);
		return adv_ibv_refuse(err, "ibv_post_send(qp 0x%06x)", qp->qp_num);
	}
	if (is_small(wr))
		adv_device_unlock_posted(device, adv_ibv_qp_of(qp)->qp, adv_device_now(device));
	else
		adv_ibv_leave(qp->context);
	return 0;
}

int adv_ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct adv_qp *engine_qp = adv_ibv_qp_of(qp)->qp;
	struct adv_device *device = adv_ibv_context_of(qp->context)->device;
	int err;

	if (!adv_ibv_enter(qp->context)) {
		*bad_wr = wr;
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_post_recv(qp 0x%06x)", qp->qp_num);
	}
	/* In the error state the request is flushed at once, and its completion needs the time. In
	 * other states the time is not used, and the device has no packet to send. */
	if (adv_qp_state(engine_qp) == IBV_QPS_ERR) {
		err = adv_qp_post_recv(engine_qp, adv_device_now(device), wr, bad_wr);
		adv_ibv_leave(qp->context);
	} else {
		err = adv_qp_post_recv(engine_qp, 0, wr, bad_wr);
		adv_device_unlock_unchanged(device);
	}
	return err ? adv_ibv_refuse(err, "ibv_post_recv(qp 0x%06x)", qp->qp_num) : 0;
}
