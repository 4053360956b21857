/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_NVME_RDMA_WORKER_INTERNAL_H
#define ADV_NVME_RDMA_WORKER_INTERNAL_H

#include <stdatomic.h>

#include "nvme_rdma/backend.h"
#include "nvme_rdma/buffers.h"
#include "nvme_rdma/worker.h"

/* A receive of the shared receive queue. */
struct adv_nvme_receive {
	uint8_t *capsule;
	uint32_t lkey;
};

/* Receives are allocated and registered in groups. */
struct adv_nvme_receive_group {
	struct adv_list link;
	uint8_t *memory;
	size_t size;
	struct ibv_mr *mr;
	struct adv_nvme_receive receives[];
};

struct adv_nvme_connection {
	struct adv_list link; /* worker->connections */
	struct adv_nvme_worker *worker;
	struct rdma_cm_id *id;
	struct adv_nvme_queue *queue; /* NULL: it is destroyed */
	uint32_t qp_num;
	unsigned credits; /* receives that belong to it */
	char peer[64];	  /* for messages */
};

struct adv_nvme_worker {
	struct adv_nvme_shared *shared;
	unsigned index;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct adv_nvme_buffers *buffers;
	struct adv_nvme_engine *engine;
	int wake; /* eventfd */
	pthread_t thread;
	bool started;
	atomic_bool stop;
	atomic_bool woken;	 /* other threads have put actions into the outbox */
	unsigned unacknowledged; /* completion events */
	unsigned srq_max;
	struct adv_list waiting; /* requests that wait for a buffer */

	/* Under the shared lock. */
	struct adv_nvme_outbox outbox;
	struct adv_list connections; /* struct adv_nvme_connection */
	unsigned connection_count;
	unsigned credits;  /* of all connections */
	unsigned receives; /* allocated */
	struct adv_list groups;
};

/* A work request ID is a pointer with its kind in the low bits. */
enum {
	ADV_NVME_WR_READ,
	ADV_NVME_WR_WRITE,
	ADV_NVME_WR_SEND,
	ADV_NVME_WR_RECV,
	ADV_NVME_WR_KIND = 3
};

/* Allocates receives until the worker has `count`, and posts the new ones. False: it cannot. The
 * caller holds the shared lock. */
bool adv_nvme_worker_reserve(struct adv_nvme_worker *w, unsigned count);
/* Posts a receive (again). */
void adv_nvme_worker_post_receive(struct adv_nvme_worker *w, struct adv_nvme_receive *receive);

/* Handles completions, a batch at most. Returns their number. */
int adv_nvme_worker_completions(struct adv_nvme_worker *w);
/* Handles the completions that are in the queue now. */
void adv_nvme_worker_drain(struct adv_nvme_worker *w);

/* Carries out the actions of the worker's outbox until there are none. */
void adv_nvme_worker_act(struct adv_nvme_worker *w);
/* Wakes the other workers that have actions. The caller holds the shared lock. */
void adv_nvme_worker_wake_others(struct adv_nvme_worker *w);

/* Frees a connection whose queue is no longer in use. */
void adv_nvme_connection_free(struct adv_nvme_connection *c);
/* Returns the connection of a QP; NULL: it is destroyed. The caller holds the shared lock. */
struct adv_nvme_connection *adv_nvme_connection_find(struct adv_nvme_worker *w, uint32_t qp_num);

#endif
