/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This process's connection to adverbd for connection management. The protocol is in
 * runtime/control/ucma_protocol.h.
 *
 * One connection serves all event channels and ids that are made while the connection exists. When
 * the daemon exits, the connection and the objects made on it are dead. The next channel gets a new
 * connection. In a child of fork() the parent's connection is dead too.
 *
 * A connection has one lock. The lock covers the connection's requests, its channels and ids, and
 * the counting of events. A thread that holds the lock does not call libibverbs. It waits only for
 * the daemon's answer, which the daemon sends at once.
 */
#ifndef ADV_ABI_RDMACM_CONNECTION_H
#define ADV_ABI_RDMACM_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "runtime/control/ucma_protocol.h"

#define ADV_RDMA_BUCKETS 1024

/* A socket on which threads wait for events. It is shut down when the connection ends. */
struct adv_rdma_waiter {
	struct adv_list link;
	int fd;
};

struct adv_rdma_connection {
	pthread_mutex_t lock;
	unsigned refs; /* references: one of each channel, and one while this is the current
			  connection; protected by the lock of connection.c */
	int sock;
	uint32_t serial;
	bool dead;
	bool foreign; /* true in a child of fork(): the connection belongs to the parent */
	struct adv_list waiters;	       /* struct adv_rdma_waiter of its channels */
	struct adv_list ids[ADV_RDMA_BUCKETS]; /* struct adv_rdma_id, by handle */
};

/* Returns a reference to the connection for new channels. If there is no connection, or the last
 * one is dead, makes a connection. If no daemon runs, starts it. NULL and errno (ENODEV: no
 * daemon). */
struct adv_rdma_connection *adv_rdma_connection_get(void);
void adv_rdma_connection_put(struct adv_rdma_connection *c);

void adv_rdma_lock(struct adv_rdma_connection *c);
void adv_rdma_unlock(struct adv_rdma_connection *c);

/* Prepares a request. */
void adv_rdma_request(struct adv_ucma_message *m, enum adv_ucma_command type, uint32_t id);

/*
 * Sends a request and waits for the answer, which replaces the request in *m. If fd is not NULL,
 * *fd is the descriptor that came with the answer, or -1; it belongs to the caller. Call it with
 * the lock held. Returns 0 or errno: the daemon's, or ENODEV if the connection is dead or dies
 * during the call.
 */
int adv_rdma_ask(struct adv_rdma_connection *c, struct adv_ucma_message *m, int *fd);

#endif
