/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One queue of the host: an RDMA connection with its capsules and receives. */
#ifndef ADV_STORAGE_NVME_HOST_CONNECTION_H
#define ADV_STORAGE_NVME_HOST_CONNECTION_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "storage/nvme/host_queue.h"
#include "storage/nvme/connect.h"
#include "storage/kit/address.h"
#include "storage/nvme_host/windows.h"

/* Work requests that are posted together. */
enum { ADV_NVME_HOST_TOGETHER = 8 };

/* A capsule that is not posted yet. */
struct adv_nvme_host_capsule {
	struct ibv_sge sge[2];
	struct ibv_send_wr bind, send;
	bool binds; /* `bind` comes first */
};

struct adv_nvme_host_connection {
	uint16_t qid, size;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct adv_nvme_host_queue *queue;
	uint8_t *memory; /* capsules, then receives */
	struct ibv_mr *mr;
	struct adv_nvme_windows *windows; /* NULL: commands have the key of all data */
	unsigned next_capsule;
	bool connected;
	unsigned room; /* work requests of capsules that the send queue takes now */
	/* What the next adv_nvme_host_connection_flush() posts. */
	unsigned capsules, receives;
	struct adv_nvme_host_capsule *capsule; /* a ring of `size` */
	unsigned first_capsule;
	unsigned receive[ADV_NVME_HOST_TOGETHER];
};

/* What the connections of an association share: made for the device of the first one. */
struct adv_nvme_host_device {
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	unsigned cqe;	 /* entries of the completion queue */
	bool invalidate; /* connections have windows */
};

/* The kind of a work request, in the low byte of its ID; the connection's qid is above, and then
 * the index of the receive or window, or the number of work requests that a SEND completes for. */
enum { ADV_NVME_HOST_SEND = 1, ADV_NVME_HOST_RECV = 2, ADV_NVME_HOST_INVALIDATE = 3 };
#define ADV_NVME_HOST_WR(kind, qid, index)                                                         \
	((uint64_t)(kind) | (uint64_t)(qid) << 8 | (uint64_t)(index) << 32)

/* Connects a queue. `device` is made for the first one. NULL: *why says the reason. */
struct adv_nvme_host_connection *
adv_nvme_host_connection_open(struct adv_nvme_host_device *device,
			      const struct adv_kit_address *address, uint16_t qid, uint16_t size,
			      uint16_t cntlid, char why[256]);
void adv_nvme_host_connection_close(struct adv_nvme_host_connection *c);
/* Prepares a capsule, with `data` in it if `data_length`. `bind`: a work request that comes before
 * it, or NULL. The next flush posts it; this call flushes when ADV_NVME_HOST_TOGETHER are prepared.
 * At most `size` may be without a response. 0 or errno of the flush. */
int adv_nvme_host_connection_send(struct adv_nvme_host_connection *c,
				  const struct adv_nvme_command *command, const uint8_t *data,
				  uint32_t data_length, uint32_t lkey, struct ibv_send_wr *bind);
/* Has a window invalidated; `user` as in adv_nvme_windows_invalidate(). 0 or errno. */
int adv_nvme_host_connection_invalidate(struct adv_nvme_host_connection *c, int window, void *user);
/* Returns the receive that completed, of 16 bytes. */
const uint8_t *adv_nvme_host_connection_received(const struct adv_nvme_host_connection *c,
						 unsigned index);
/* Prepares a receive again, as adv_nvme_host_connection_send() a capsule. */
int adv_nvme_host_connection_post(struct adv_nvme_host_connection *c, unsigned index);
/* Posts what is prepared: receives, then the capsules for which the send queue has room. 0 or
 * errno; then the connection is of no use. */
int adv_nvme_host_connection_flush(struct adv_nvme_host_connection *c);
/* A SEND has completed. count: the number in its wr_id. So many work requests, its own and those
 * before it that do not complete, have left the send queue: flush again. */
void adv_nvme_host_connection_sent(struct adv_nvme_host_connection *c, unsigned count);
/* Returns why the connection has ended; NULL: it has not. */
const char *adv_nvme_host_connection_ended(struct adv_nvme_host_connection *c);
void adv_nvme_host_device_free(struct adv_nvme_host_device *device);

#endif
