/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_STORAGE_KIT_ENDPOINT_INTERNAL_H
#define ADV_STORAGE_KIT_ENDPOINT_INTERNAL_H

#include "storage/kit/endpoint.h"

/* Handles an event of an endpoint's completion queue, which was fetched. */
void adv_endpoint_cq_event(struct ibv_cq *cq);
/* Fetches and handles an event of a device's completion queues. False: there is none. */
bool adv_kit_device_event(struct adv_kit_device *d);
enum { ADV_ENDPOINT_RESOLVE_MS = 2000 }; /* for an address, and for a route */

/* Makes an endpoint that will connect by an id. The id belongs to it. NULL and errno. */
struct adv_endpoint *adv_endpoint_create(struct adv_loop *l, struct rdma_cm_id *id,
					 const struct adv_endpoint_config *config);
/* The address of such an endpoint is resolved: its device is known. NULL: there is none. */
void adv_endpoint_resolved(struct adv_endpoint *e, struct adv_kit_device *d);
/* Handles another event of an endpoint's connection. */
void adv_endpoint_event(struct adv_endpoint *e, enum rdma_cm_event_type type,
			const struct rdma_conn_param *param);

#endif
