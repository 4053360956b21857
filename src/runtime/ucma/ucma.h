/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager's service for processes, "ucma" in Linux. It connects three parts: QP1,
 * the CM of src/nic/cm, and the protocol of runtime/control/ucma_protocol.h. Only the worker's
 * thread uses it. Each call does a bounded amount of work. Only adv_ucma_end() blocks.
 */
#ifndef ADV_RUNTIME_UCMA_UCMA_H
#define ADV_RUNTIME_UCMA_UCMA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "runtime/keeper/estate.h"
#include "runtime/session/users.h"

struct adv_ucma;

/* Creates the daemon's connection manager. Returns NULL and sets errno on failure. */
struct adv_ucma *adv_ucma_create(struct adv_daemon *d, struct adv_users *users);

/* Ends all connections, waits up to about one second for the peers' answers, and frees the
 * service. */
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
 * Makes a socket pair of the protocol for a process. Returns the process's end, which the caller
 * sends and closes. The service owns `pidfd` from now on (-1: not known). -1 and errno: EUSERS (too
 * many clients), EMFILE, ENOMEM.
 */
int adv_ucma_open(struct adv_ucma *u, const struct ucred *peer, int pidfd, const char *comm);

/* If a process with this process ID uses the service, sets *uid and returns true. */
bool adv_ucma_find_process(const struct adv_ucma *u, pid_t pid, uid_t *uid);

/* Answers the request about fault plans in the socket `fd` (runtime/ucma/cm_fault.h). The request
 * is for a process of the user; pid 0: for the whole daemon. */
void adv_ucma_fault(struct adv_ucma *u, pid_t pid, uid_t uid, int fd);

/* Answers the request of `adverb capture` in the socket `fd` (runtime/ucma/qp1.h). */
void adv_ucma_capture(struct adv_ucma *u, int fd);

/* Answers the request about objects in the socket `fd` (runtime/exchange/resource_exchange.h):
 * lists the ids of a user's programs; uid 0: the ids of all users. Returns 0. */
int adv_ucma_objects(struct adv_ucma *u, uid_t uid, int fd);

/* Call it when a connection of a process has ended. After the process's last connection it deletes
 * the process's fault plan. */
void adv_ucma_process_leaves(struct adv_ucma *u, pid_t pid);

/* True if a client uses the service, or a DREQ is not answered yet. */
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
