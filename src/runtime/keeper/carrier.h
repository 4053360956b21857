/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The carrier: a pair of Unix sockets. The queue of one of them holds the estate, above all the
 * group's sockets in their order (SCM_RIGHTS, unix(7)). This socket is called the queue end. Each
 * client of a user's own daemon holds a descriptor of the queue end. While a client holds one, the
 * group stays whole even if all processes of the daemon are killed at once. The client can then
 * start another daemon with the queue's contents. All descriptors of the queue end refer to the
 * same queue.
 *
 * A reader peeks at the queue's contents and leaves them there. To change the contents, the daemon
 * adds a new set of messages and then removes the old set. So the queue contains a whole set at any
 * instant. The sets are numbered. Readers use the last whole set.
 *
 * The kernel counts descriptors in flight per user. Beyond RLIMIT_NOFILE, no program of the user
 * without privilege can send descriptors (ETOOMANYREFS, unix(7)). That is why a large group has no
 * carrier.
 */
#ifndef ADV_RUNTIME_KEEPER_CARRIER_H
#define ADV_RUNTIME_KEEPER_CARRIER_H

#include "runtime/keeper/estate.h"

/* Number of descriptors in flight that does no harm: RLIMIT_NOFILE is usually at least 1024. */
#define ADV_CARRIER_LEAST 512u

/* The contents of one set. The caller owns the descriptors. */
struct adv_carried {
	int ledger_fd;
	int table_fd;
	int marker;
	int feed; /* the other end of the pair */
	unsigned sockets;
	int socket[ADV_SLOTS];
	uint32_t set;	   /* the set's number */
	uint32_t messages; /* messages in the queue, of this set and others */
};

/* Makes d->carrier and its first set. A daemon that serves many users has no carrier, because no
 * user may hold the sockets of another user. Returns 0 or errno. After an error d has no
 * carrier. */
int adv_carrier_create(struct adv_daemon *d);

/* Writes a new set after the group has grown. Returns 0 or errno. After an error the queue is
 * empty, and adv_carrier_queue() returns -1. */
int adv_carrier_renew(struct adv_daemon *d);

/* Returns the descriptor of the queue end, which d still owns; -1: the queue is empty. */
int adv_carrier_queue(const struct adv_daemon *d);

/* Removes all messages: the carrier no longer keeps the port open. */
void adv_carrier_empty(struct adv_daemon *d);

/*
 * Reads the last whole set in `queue`. `queue` comes from another process and may be any
 * descriptor. Returns 0; EPROTO: there is no set that this program can use; EMFILE: not enough
 * descriptors.
 */
int adv_carrier_peek(int queue, struct adv_carried *c);

#endif
