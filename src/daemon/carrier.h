/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The carrier: a pair of Unix sockets with the estate in flight in the queue of one of them, the
 * group's sockets in their order above all (SCM_RIGHTS, unix(7)). Whoever has a descriptor of that
 * one end, each client of a user's own daemon, keeps the group whole by it, though all of the
 * daemon may be killed at once, and can start another daemon from it. One descriptor does for all:
 * there is one queue, however many hold it.
 *
 * What is in the queue is looked at, not taken out. It is written anew where it has changed, first
 * the new messages, then the old ones are taken away, so that at any instant a whole set is there.
 * The sets are numbered; the last whole one counts.
 *
 * Descriptors in flight count against RLIMIT_NOFILE of whoever of this user sends descriptors next,
 * in any program: that is why a large group has no carrier.
 */
#ifndef ADV_DAEMON_CARRIER_H
#define ADV_DAEMON_CARRIER_H

#include "daemon/estate.h"

/* Fewer than these in flight at a time do no harm; a program may usually have 1024 descriptors. */
#define ADV_CARRIER_LEAST 512u

/* What one set has; descriptors are the caller's. */
struct adv_carried {
	int ledger_fd;
	int table_fd;
	int marker;
	int feed; /* the other end of the pair */
	unsigned sockets;
	int socket[ADV_SLOTS];
	uint32_t set;	   /* its number */
	uint32_t messages; /* in the queue, of this set and others */
};

/* Makes d->carrier, and its first set, where there may be one: not for many users, of whom none may
 * have another's sockets. 0, or errno: d has none then. */
int adv_carrier_create(struct adv_daemon *d);

/* Writes a new set: the group has grown. 0, or errno, and then for good: nothing is carried any
 * more, and who asks for the carrier gets none. */
int adv_carrier_renew(struct adv_daemon *d);

/* A descriptor of the end with the queue, which stays d's, or -1: nothing is in it. */
int adv_carrier_queue(const struct adv_daemon *d);

/* Takes everything out: nobody keeps the port by it any more. */
void adv_carrier_empty(struct adv_daemon *d);

/*
 * Looks at the last whole set in `queue`, which may be anything: it came from outside. 0; EPROTO:
 * there is none that this program can use; EMFILE: not enough descriptors.
 */
int adv_carrier_look(int queue, struct adv_carried *c);

/* Closes what adv_carrier_look() gave. */
void adv_carried_close(struct adv_carried *c);

#endif
