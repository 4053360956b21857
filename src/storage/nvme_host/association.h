/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host's side of a controller: an admin queue and I/O queues over RDMA, and the memory for
 * data. One thread uses an association. Calls block at most as long as they say; keep alive
 * commands are sent while the caller is in adv_nvme_association_next().
 */
#ifndef ADV_STORAGE_NVME_HOST_ASSOCIATION_H
#define ADV_STORAGE_NVME_HOST_ASSOCIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/host.h"
#include "storage/nvme/status.h"
#include "storage/kit/address.h"

struct adv_nvme_association;

/* A command of the caller. It belongs to the association from start to end. */
struct adv_nvme_transfer {
	struct adv_nvme_command command; /* without SGL and identifier */
	uint8_t *data;			 /* in the association's memory; NULL: none */
	uint32_t length;
	void *user;
	struct adv_nvme_completion completion; /* when it has ended */
	bool lost; /* the connection ended first: whether the command was executed is not known */

	/* The association's. */
	uint16_t qid;
	int window; /* -1: none */
	struct adv_nvme_transfer *next;
};

/* Connects to a controller and makes it ready, with `memory` bytes for data. `invalidate`: the
 * controller gets a key for the data of each command, which its response invalidates; otherwise one
 * for all memory. NULL: *why says the reason. Takes at most some seconds. */
struct adv_nvme_association *adv_nvme_association_open(const struct adv_kit_address *address,
						       const struct adv_nvme_host_config *config,
						       size_t memory, bool invalidate,
						       char why[256]);
/* Shuts the controller down, if the connection is there, and disconnects. */
void adv_nvme_association_close(struct adv_nvme_association *a);

/* Returns what is known of the controller. */
const struct adv_nvme_host *adv_nvme_association_host(const struct adv_nvme_association *a);
/* The memory for data. */
uint8_t *adv_nvme_association_memory(struct adv_nvme_association *a);

/* Starts a command on a queue (0: the admin queue). It is sent at the next wait or flush at the
 * latest, and together with others. If it cannot be sent, the connection is lost. EAGAIN: the queue
 * is full. ENOTCONN: the connection is lost already. */
int adv_nvme_association_start(struct adv_nvme_association *a, uint16_t qid,
			       struct adv_nvme_transfer *t);
/* Sends the commands that were started. */
void adv_nvme_association_flush(struct adv_nvme_association *a);
/* Returns the time of the last look for ended commands, adv_clock_ns(). */
uint64_t adv_nvme_association_now(const struct adv_nvme_association *a);
/* Returns a command that has ended; NULL: none ended within the time, or none is outstanding and
 * the connection is lost. After a loss, all outstanding commands return as lost. */
struct adv_nvme_transfer *adv_nvme_association_next(struct adv_nvme_association *a, int timeout_ms);

/* Runs one command to its end, with no other one under way. Returns its status; 0xffff: the
 * connection is lost or the controller did not answer within 10 s. */
uint16_t adv_nvme_association_run(struct adv_nvme_association *a, uint16_t qid,
				  struct adv_nvme_transfer *t);

#endif
