/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posts work requests to a queue pair: the context's operations. qp_ex.c also posts through these
 * functions. */
#include "abi/verbs/objects.h"

static __attribute__((noinline)) int refuse_post(const struct ibv_qp *qp, int err, const char *call)
{
	if (err == ADV_DEVICE_FOREIGN) {
		adv_ibv_refuse_foreign();
		err = ADV_EFOREIGN;
	}
	return adv_ibv_refuse(err, "%s(qp 0x%06x)", call, qp->qp_num);
}

int adv_ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int err =
		adv_device_post_send(adv_ibv_qp_of(qp)->device, adv_ibv_qp_of(qp)->qp, wr, bad_wr);

	return err ? refuse_post(qp, err, "ibv_post_send") : 0;
}

int adv_ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err =
		adv_device_post_recv(adv_ibv_qp_of(qp)->device, adv_ibv_qp_of(qp)->qp, wr, bad_wr);

	return err ? refuse_post(qp, err, "ibv_post_recv") : 0;
}
