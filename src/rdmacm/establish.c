/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdmacm/establish.h"

#include "rdmacm/qp.h"

int adv_rdma_establish(struct adv_rdma_id *id)
{
	struct adv_ucma_message m;

	adv_rdma_request(&m, ADV_UCMA_CMD_ESTABLISH, id->handle);
	return adv_rdma_id_ask(id, &m);
}

int adv_rdma_finish_connect(struct adv_rdma_id *id)
{
	int err = adv_rdma_qp_to_rtr(id, RDMA_MAX_RESP_RES);

	if (!err)
		err = adv_rdma_qp_to_rts(id, RDMA_MAX_INIT_DEPTH);
	if (!err)
		err = adv_rdma_establish(id);
	if (err)
		adv_rdma_qp_to_error(id);
	return err;
}
