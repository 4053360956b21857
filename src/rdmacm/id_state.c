/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdmacm/id_state.h"

#include <errno.h>

struct adv_rdma_id *adv_rdma_id_of(struct rdma_cm_id *id)
{
	return (struct adv_rdma_id *)id;
}

int adv_rdma_result(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

bool adv_rdma_is_ud(const struct rdma_cm_id *id)
{
	return id->qp_type == IBV_QPT_UD;
}

static struct adv_list *handle_bucket(struct adv_rdma_connection *c, uint32_t handle)
{
	return &c->ids[handle % ADV_RDMA_BUCKETS];
}

struct adv_rdma_id *adv_rdma_id_find(struct adv_rdma_connection *c, uint32_t handle)
{
	struct adv_list *head = handle_bucket(c, handle);

	adv_list_for_each(struct adv_rdma_id, id, head, by_handle) {
		if (id->handle == handle)
			return id;
	}
	return NULL;
}

void adv_rdma_id_enter(struct adv_rdma_id *id, uint32_t handle)
{
	id->handle = handle;
	adv_list_add(handle_bucket(id->connection, handle), &id->by_handle);
}

int adv_rdma_id_ask(struct adv_rdma_id *id, struct adv_ucma_message *m)
{
	int err;

	adv_rdma_lock(id->connection);
	err = id->ended ? ENODEV : adv_rdma_ask(id->connection, m, NULL);
	adv_rdma_unlock(id->connection);
	return err;
}

void adv_rdma_id_end(struct adv_rdma_id *id)
{
	struct adv_ucma_message m;

	if (id->ended)
		return;
	id->ended = true;
	adv_list_del(&id->by_handle);
	adv_rdma_request(&m, ADV_UCMA_CMD_DESTROY_ID, id->handle);
	adv_rdma_ask(id->connection, &m, NULL);
}
