/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/ack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/export.h"
#include "abi/rdmacm/watch.h"

ADV_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct adv_rdma_event *e = (struct adv_rdma_event *)event;
	struct adv_rdma_connection *c;

	if (!event)
		return adv_rdma_result(EINVAL, __func__, event);
	if (adv_rdma_observer)
		adv_rdma_observer->cm_acked(event);
	c = e->counted->connection;
	adv_rdma_lock(c);
	e->counted->completed++;
	if (e->membership)
		e->membership->completed++;
	pthread_cond_broadcast(&e->counted->acked);
	adv_rdma_unlock(c);
	free(e);
	return 0;
}

void adv_rdma_drop_event(struct adv_rdma_id *id)
{
	struct rdma_cm_event *event;

	adv_rdma_lock(id->connection);
	event = id->id.event;
	id->id.event = NULL;
	adv_rdma_unlock(id->connection);
	if (event)
		rdma_ack_cm_event(event);
}
