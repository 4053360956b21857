/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connection manager as processes have it, what "ucma" is in Linux: QP1, the protocol of
 * host/ucma_protocol.h, and between them the engine of src/cm. Used by the worker's one thread;
 * nothing blocks (but adv_ucma_end()), and each call does a bounded amount of work.
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

/* Ends all connections, waits a second or so for the peers to have been told, and frees. */
void adv_ucma_end(struct adv_ucma *u);

/* To be polled for readability: then adv_ucma_poll(). */
int adv_ucma_fd(const struct adv_ucma *u);

/* When adv_ucma_run() wants to be called at the latest, in milliseconds of adv_clock_ms();
 * 0: no time is set. */
uint64_t adv_ucma_deadline(const struct adv_ucma *u);

/* Takes what has come by the network, and notes which clients have something to read. */
void adv_ucma_poll(struct adv_ucma *u);

/* One round: what is due, and what follows from what was taken and read. */
void adv_ucma_run(struct adv_ucma *u);

/* The GID table has changed. */
void adv_ucma_gids_changed(struct adv_ucma *u);

/*
 * A socket of the protocol for a process: its end, the caller's to hand over and close. `pidfd`
 * (-1: not known) is ours from now on. -1 and errno: EUSERS as many as there may be, EMFILE,
 * ENOMEM.
 */
int adv_ucma_open(struct adv_ucma *u, const struct ucred *peer, int pidfd, const char *comm);

/* A program that uses it with this process id: true and *uid. */
bool adv_ucma_find_process(const struct adv_ucma *u, pid_t pid, uid_t *uid);

/* Faults on purpose: answers the request in the socket, see daemon/cm_fault.h; of a user's process,
 * or, pid 0, of the daemon as a whole. */
void adv_ucma_fault(struct adv_ucma *u, pid_t pid, uid_t uid, int fd);

/* What ids there are, of a user's programs, with uid 0 of all: answers the request in the socket,
 * see host/resource_exchange.h. 0. */
int adv_ucma_objects(struct adv_ucma *u, uid_t uid, int fd);

/* A connection of a process has ended, which may have been its last. */
void adv_ucma_process_leaves(struct adv_ucma *u, pid_t pid);

/* True while somebody uses it, or a peer has yet to be told of a connection's end. */
bool adv_ucma_busy(const struct adv_ucma *u);

struct adv_ucma_status {
	uint32_t clients;
	uint32_t ids;
	uint32_t connections; /* ids that have a peer */
	uint32_t ending;      /* connections of ids that are gone: DREQ sent, TIMEWAIT */
	uint64_t rx_mads;
	uint64_t tx_mads;
	uint64_t tx_retries;
	uint64_t rx_dropped; /* malformed, for nobody, or over a backlog */
};

void adv_ucma_status(const struct adv_ucma *u, struct adv_ucma_status *out);

#endif
