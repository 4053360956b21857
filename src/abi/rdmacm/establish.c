/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/establish.h"

#include <sys/socket.h>

#include "base/sys.h"
#include "abi/rdmacm/qp.h"
#include "abi/verbs/streams.h"

int adv_rdma_attach(struct adv_rdma_id *id, const struct adv_ucma_message *m, int fd)
{
	const struct adv_ucma_agreement *a = &m->body.agreement;
	const struct adv_rdmap_config config = {
		.first = (enum adv_rdmap_first)a->first,
		.crc = a->crc,
		.rx_markers = a->rx_markers,
		.tx_markers = a->tx_markers,
		.ird = a->ird,
		.ord = a->ord,
	};
	int err;

	if (fd < 0)
		return 0;
	err = adv_ibv_attach_stream(id->id.verbs, id->qp_num, fd, &config);
	if (!err)
		return 0;
	adv_sys_shutdown(fd, SHUT_RDWR); /* the daemon has a copy */
	adv_sys_close(fd);
	return err;
}

int adv_rdma_establish(struct adv_rdma_id *id)
{
	struct adv_ucma_message m;
	int fd = -1, err;

	adv_rdma_request(&m, ADV_UCMA_CMD_ESTABLISH, id->handle);
	err = adv_rdma_ended(adv_rdma_id_ask_with(id, &m, &fd));
	return err ? err : adv_rdma_attach(id, &m, fd);
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
