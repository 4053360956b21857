/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager's service for processes, "ucma" in Linux: QP1, the protocol of
 * host/ucma_protocol.h, and the CM of src/cm between them. Only the worker's thread uses it.
 * Nothing blocks except adv_ucma_end(), and each call does a bounded amount of work.
 */
#ifndef ADV_DAEMON_UCMA_H
#define ADV_DAEMON_UCMA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "daemon/estate.h"
#include "daemon/users.h"

struct adv_ucma;

/* NULL and errno. */
struct adv_ucma *adv_ucma_create(struct adv_daemon *d, struct adv_users *users);

/* Ends all connections, waits about a second until the peers know, and frees the service. */
void adv_ucma_end(struct adv_ucma *u);

/* Returns a descriptor; when it is readable, call adv_ucma_poll(). */
int adv_ucma_fd(const struct adv_ucma *u);

/* Returns the latest time for the next adv_ucma_run(), in milliseconds of adv_clock_ms(); 0:
 * none. */
uint64_t adv_ucma_deadline(const struct adv_ucma *u);

/* Receives packets, and queues clients that are readable for their turn. */
void adv_ucma_poll(struct adv_ucma *u);

/* Does one round: expired timers, and the consequences of received packets and requests. */
void adv_ucma_run(struct adv_ucma *u);

/* Call it when the GID table has changed. */
void adv_ucma_gids_changed(struct adv_ucma *u);

/*
 * Makes a socket of the protocol for a process. Returns the process's end, which the caller sends
 * and closes. `pidfd` (-1: not known) is the service's from now on. -1 and errno: EUSERS (too
 * many), EMFILE, ENOMEM.
 */
int adv_ucma_open(struct adv_ucma *u, const struct ucred *peer, int pidfd, const char *comm);

/* True, and sets *uid, if a process with this id uses the service. */
bool adv_ucma_find_process(const struct adv_ucma *u, pid_t pid, uid_t *uid);

/* Answers the request about fault plans in the socket, see daemon/cm_fault.h: for a process of a
 * user, or with pid 0 for the whole daemon. */
void adv_ucma_fault(struct adv_ucma *u, pid_t pid, uid_t uid, int fd);

/* Answers the request about objects in the socket, see host/resource_exchange.h: lists the ids of a
 * user's programs, with uid 0 those of all. Returns 0. */
int adv_ucma_objects(struct adv_ucma *u, uid_t uid, int fd);

/* A connection of a process has ended. It may have been the last one. */
void adv_ucma_process_leaves(struct adv_ucma *u, pid_t pid);

/* True if a client uses the service, or a peer does not know yet that its connection has ended. */
bool adv_ucma_busy(const struct adv_ucma *u);

struct adv_ucma_status {
	uint32_t clients;
	uint32_t ids;
	uint32_t connections; /* ids that have a peer */
	uint32_t ending;      /* connections of destroyed ids: DREQ sent, TIMEWAIT */
	uint64_t rx_mads;
	uint64_t tx_mads;
	uint64_t tx_retries;
	uint64_t rx_dropped; /* malformed, for no id, or beyond a backlog */
};

void adv_ucma_status(const struct adv_ucma *u, struct adv_ucma_status *out);

#endif
