/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_STORAGE_NVME_SERVER_WORKER_INTERNAL_H
#define ADV_STORAGE_NVME_SERVER_WORKER_INTERNAL_H

#include <stdatomic.h>

#include "storage/nvme_target/report.h"
#include "storage/nvme_server/backend.h"
#include "storage/kit/buffers.h"
#include "storage/nvme_server/worker.h"

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

enum { ADV_NVME_RECENT = 256 };

struct adv_nvme_connection {
	struct adv_list link; /* worker->connections */
	struct adv_nvme_worker *worker;
	struct rdma_cm_id *id;
	struct adv_nvme_queue *queue; /* NULL: it is destroyed */
	uint32_t qp_num;
	unsigned credits;		/* receives that belong to it */
	struct adv_nvme_holder *holder; /* NULL: it is not entered (admission.h) */
	bool leaving;			/* it had to give way to another one */
	/* Bytes of data that arrive whole: those of a packet. 0: unknown. Under the shared lock. */
	uint32_t mtu;
	char peer[ADV_NVME_PEER_LEN]; /* for messages, as the next one */
	char port[ADV_NVME_PORT_LEN]; /* of the target */
	/* Held while the connection is made, and while the queue pair is disconnected or destroyed:
	 * a host can send before rdma_accept() returns, so the worker may end the connection while
	 * the thread of events makes or disconnects it. Taken before the shared lock. */
	pthread_mutex_t ending;
};

struct adv_nvme_worker {
	struct adv_nvme_shared *shared;
	unsigned index;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct adv_kit_buffers *buffers;
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
	/* By the low bits of the QP number, those that were found last; NULL: none. */
	struct adv_nvme_connection *recent[ADV_NVME_RECENT];
	unsigned credits;  /* of all connections */
	unsigned receives; /* allocated */
	struct adv_list groups;
};

/* A work request ID is a pointer with its kind in the low bits. */
enum {
	ADV_NVME_WR_READ,
	ADV_NVME_WR_QUIET, /* completes only if it fails; then the next WR_SEND fails, too */
	ADV_NVME_WR_SEND,
	ADV_NVME_WR_RECV,
	ADV_NVME_WR_KIND = 3
};

/* Allocates receives until the worker has `count`, and posts the new ones. False: it cannot. The
 * caller holds the shared lock. */
bool adv_nvme_worker_reserve(struct adv_nvme_worker *w, unsigned count);
enum { ADV_NVME_RECEIVES_AT_ONCE = 64 };
/* Posts a receive (again). */
void adv_nvme_worker_post_receive(struct adv_nvme_worker *w, struct adv_nvme_receive *receive);
/* The same of 1 to ADV_NVME_RECEIVES_AT_ONCE receives. */
void adv_nvme_worker_post_receives(struct adv_nvme_worker *w, struct adv_nvme_receive **receives,
				   unsigned count);

/* Handles completions, a batch at most. Returns their number. If there are some, *now is the time.
 */
int adv_nvme_worker_completions(struct adv_nvme_worker *w, uint64_t *now);
/* Handles the completions that are in the queue now. */
void adv_nvme_worker_drain(struct adv_nvme_worker *w);

/* Carries out the actions of the worker's outbox until there are none. now: adv_clock_ns(). */
void adv_nvme_worker_act(struct adv_nvme_worker *w, uint64_t now);
/* Returns the key of request->data, which is in a buffer or in the namespace. */
uint32_t adv_nvme_worker_data_lkey(const struct adv_nvme_worker *w,
				   const struct adv_nvme_request *request);

/* Sets the members that a READ and a WRITE of the request's data have in common. The caller sets
 * wr_id, next, opcode and send_flags; neither has others. To clear the structure would take a
 * tenth of the target's time for a Read of 4 KiB. */
static inline void adv_nvme_worker_fill_transfer(const struct adv_nvme_worker *w,
						 const struct adv_nvme_request *request,
						 uint32_t length, struct ibv_sge *sge,
						 struct ibv_send_wr *wr)
{
	*sge = (struct ibv_sge){(uintptr_t)request->data, length,
				adv_nvme_worker_data_lkey(w, request)};
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->wr.rdma.remote_addr = request->remote.address;
	wr->wr.rdma.rkey = request->remote.key;
}
/* Posts the READs of requests. */
void adv_nvme_worker_fetch(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			   unsigned count);
/* Posts the responses of requests, in their order. */
void adv_nvme_worker_respond(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			     unsigned count);
/* The SEND of the last one of the responses that were posted together has completed, in whatever
 * way. Ends their requests. The caller holds the shared lock. */
void adv_nvme_worker_sent(struct adv_nvme_worker *w, struct adv_nvme_request *last, uint64_t now);
/* Has the connection closed: what waits in its queue pair completes. */
void adv_nvme_worker_disconnect(struct adv_nvme_worker *w, struct adv_nvme_queue *queue);
enum { ADV_NVME_POSTED_AT_ONCE = 16 };
typedef void adv_nvme_post_fn(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			      unsigned count);
/* Calls `post` for each run of requests of one queue, 1 to ADV_NVME_POSTED_AT_ONCE. */
void adv_nvme_worker_post_runs(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
			       unsigned count, adv_nvme_post_fn *post);
/* Closes the connection of requests of one queue that could not be posted, from the work request
 * `bad` on. Returns the index of its request. */
unsigned adv_nvme_worker_post_failed(struct adv_nvme_worker *w, struct adv_nvme_request **requests,
				     unsigned count, const struct ibv_send_wr *bad, int err);
/* Wakes the other workers that have actions, and the thread that logs reports. The caller holds the
 * shared lock. */
void adv_nvme_worker_wake_others(struct adv_nvme_worker *w);

/* Has the peer see the end, unless the queue pair is destroyed. Any thread. */
void adv_nvme_connection_disconnect(struct adv_nvme_connection *c);
/* Puts the queue pair into the error state, when the connection is made. False: it is there
 * already, or there is none. */
bool adv_nvme_connection_stop(struct adv_nvme_connection *c);
/* Frees a stopped connection whose queue is no longer in use. */
void adv_nvme_connection_free(struct adv_nvme_connection *c);
/* Returns the connection of a QP; NULL: it is destroyed. The caller holds the shared lock. */
struct adv_nvme_connection *adv_nvme_connection_find(struct adv_nvme_worker *w, uint32_t qp_num);

#endif
