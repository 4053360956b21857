/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/cqs.h"

#include <errno.h>

static int create_cq(struct rdma_cm_id *id, uint32_t size, struct ibv_comp_channel **channel,
		     struct ibv_cq **cq)
{
	int err;

	if (size == 0)
		return 0;
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return errno;
	*cq = ibv_create_cq(id->verbs, (int)size, id, *channel, 0);
	if (*cq)
		return 0;
	err = errno;
	ibv_destroy_comp_channel(*channel);
	*channel = NULL;
	return err;
}

static void destroy_cq(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	if (cq)
		ibv_destroy_cq(cq);
	if (channel)
		ibv_destroy_comp_channel(channel);
}

int adv_rdma_create_cqs(struct rdma_cm_id *id, uint32_t send_size, uint32_t recv_size)
{
	int err = create_cq(id, recv_size, &id->recv_cq_channel, &id->recv_cq);

	if (err)
		return err;
	err = create_cq(id, send_size, &id->send_cq_channel, &id->send_cq);
	if (err && recv_size) {
		destroy_cq(id->recv_cq_channel, id->recv_cq);
		id->recv_cq_channel = NULL;
		id->recv_cq = NULL;
	}
	return err;
}

struct adv_rdma_cqs adv_rdma_take_cqs(struct rdma_cm_id *id)
{
	struct adv_rdma_cqs cqs = {
		.send_cq = id->send_cq,
		.recv_cq = id->recv_cq,
		.send_channel = id->send_cq_channel,
		.recv_channel = id->recv_cq_channel,
	};

	if (id->qp_type == IBV_QPT_XRC_RECV && id->srq)
		return (struct adv_rdma_cqs){0};
	id->send_cq = id->recv_cq = NULL;
	id->send_cq_channel = id->recv_cq_channel = NULL;
	return cqs;
}

void adv_rdma_destroy_cqs(const struct adv_rdma_cqs *cqs)
{
	destroy_cq(cqs->recv_channel, cqs->recv_cq);
	destroy_cq(cqs->send_channel, cqs->send_cq);
}
