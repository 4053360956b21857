/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The carrier: a pair of Unix sockets. The estate is in flight in the queue of one of them, above
 * all the group's sockets in their order (SCM_RIGHTS, unix(7)). Each client of a user's own daemon
 * holds a descriptor of that end. While one of them exists, the group stays whole even if all
 * processes of the daemon are killed at once, and the client can start another daemon from it.
 * There is one queue, however many descriptors of the end exist.
 *
 * A reader peeks at the queue's contents and leaves them there. To change them, the daemon adds a
 * new set of messages and then removes the old one, so that at any instant a whole set is in the
 * queue. The sets are numbered; the last whole one counts.
 *
 * Descriptors in flight count against RLIMIT_NOFILE of any program of this user that sends
 * descriptors. That is why a large group has no carrier.
 */
#ifndef ADV_DAEMON_CARRIER_H
#define ADV_DAEMON_CARRIER_H

#include "daemon/estate.h"

/* Fewer descriptors in flight than this do no harm: a program may usually have 1024. */
#define ADV_CARRIER_LEAST 512u

/* The contents of one set. The descriptors are the caller's. */
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

/* Makes d->carrier and its first set, if d may have one. A daemon that serves many users has none,
 * as no user may have another's sockets. Returns 0, or errno: then d has none. */
int adv_carrier_create(struct adv_daemon *d);

/* Writes a new set after the group has grown. Returns 0 or errno. After an error nothing is carried
 * any more, and adv_carrier_queue() returns -1. */
int adv_carrier_renew(struct adv_daemon *d);

/* Returns a descriptor of the end with the queue, which stays d's; -1: the queue is empty. */
int adv_carrier_queue(const struct adv_daemon *d);

/* Removes all messages: the carrier no longer keeps the port open. */
void adv_carrier_empty(struct adv_daemon *d);

/*
 * Reads the last whole set in `queue`, which may be any descriptor, as it comes from outside.
 * Returns 0; EPROTO: there is no set that this program can use; EMFILE: not enough descriptors.
 */
int adv_carrier_peek(int queue, struct adv_carried *c);

/* Closes the descriptors from adv_carrier_peek(). */
void adv_carried_close(struct adv_carried *c);

#endif
