/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A worker of the target: a thread with a completion queue, a shared receive queue, buffers and an
 * engine, which serves its connections. All workers share one struct adv_nvme_target, whose lock
 * is held during calls to it and never while data moves.
 */
#ifndef ADV_STORAGE_NVME_SERVER_WORKER_H
#define ADV_STORAGE_NVME_SERVER_WORKER_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "storage/nvme_target/target.h"

struct adv_nvme_worker;
struct adv_nvme_connection;

/* What the workers share. */
struct adv_nvme_shared {
	pthread_mutex_t lock; /* guards target and everything in it, and the workers' connections */
	struct adv_nvme_target *target;
	struct adv_nvme_worker **workers;
	unsigned worker_count;
	int reports;		 /* eventfd of the thread that logs reports; 0: none */
	bool told;		 /* it is signalled */
	struct ibv_pd *pd;	 /* of the device; made before the first worker */
	size_t buffer_bytes;	 /* of each worker */
	struct adv_list holders; /* struct adv_nvme_holder, of the addresses with connections */
	unsigned address_share;	 /* percent of all receives that an address may hold */
	uint64_t quiet_end;	 /* of messages about that */
};

/* Starts a worker on a device. `index` is for messages. NULL: prints the reason. */
struct adv_nvme_worker *adv_nvme_worker_create(struct adv_nvme_shared *shared,
					       struct ibv_context *verbs, unsigned index);
/* Stops the thread. The worker has no connections. */
void adv_nvme_worker_destroy(struct adv_nvme_worker *w);
/* Has the worker look for actions. Any thread. */
void adv_nvme_worker_wake(struct adv_nvme_worker *w);
/* Returns the number of receives that its connections hold. */
unsigned adv_nvme_worker_load(struct adv_nvme_worker *w);

/* Handles a connection request: accepts or rejects it. `param` is that of the event, which has been
 * acknowledged; param->private_data is a copy. Afterwards the id belongs to the worker or is
 * destroyed. */
void adv_nvme_worker_connect(struct adv_nvme_worker *w, struct rdma_cm_id *id,
			     const struct rdma_conn_param *param);
/* Handles the loss of a connection; id->context is the connection. */
void adv_nvme_worker_disconnected(struct adv_nvme_connection *c);

#endif
