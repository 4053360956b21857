/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The users that are served, and whose turn it is. Whoever asks for much waits for itself: in each
 * round every user whose connections have something to read is served for ADV_USER_NS, one
 * connection after another, and who had no turn goes first in the next. Used by the worker's one
 * thread.
 */
#ifndef ADV_DAEMON_USERS_H
#define ADV_DAEMON_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "daemon/pairs.h"

#define ADV_USER_NS 1000000 /* for a user in a round ... */
#define ADV_TURN_NS                                                                                \
	250000 /* ... and for one of its connections; the message that is begun then is            \
		* ended */

struct adv_users {
	struct adv_list list;
	struct adv_list waiting; /* users with a connection that waits */
	struct adv_list connections;
	uint64_t (*clock_ns)(void); /* does not go back */
	unsigned share;		    /* descriptors that a user may have open here; 0: any number */
};

struct adv_user {
	struct adv_list link;
	struct adv_list turn;	 /* of users->waiting */
	struct adv_list waiting; /* connections that have something to read */
	uid_t uid;
	unsigned held;	     /* how often adv_users_hold() has given it */
	unsigned clients;    /* connections of the control protocol */
	unsigned cm_clients; /* ... of the connection manager's, those that are ending too */
	unsigned ids;	     /* the engine's, until nothing is left of them */
	unsigned channels;   /* of events */
	unsigned joins;	     /* of multicast groups */
	unsigned queries;    /* addresses that are being resolved */
	unsigned descriptors;
	struct adv_pair_use pairs;
};

/* In a connection: its place among all, and among those that wait. */
struct adv_turn {
	struct adv_list connection;
	struct adv_list link;
	struct adv_user *user;
	pid_t pid;
	/* Reads and answers, not much longer than until `end`. True: there may be more. */
	bool (*serve)(struct adv_turn *t, uint64_t end);
};

void adv_users_init(struct adv_users *u, uint64_t (*clock_ns)(void), unsigned share);
/* Frees all; nobody is held any more. */
void adv_users_free(struct adv_users *u);

/* The one with this number, to be released; NULL: ENOMEM. */
struct adv_user *adv_users_hold(struct adv_users *u, uid_t uid);
void adv_users_release(struct adv_user *user);
/* True where the user may have `count` more descriptors open here. */
bool adv_users_may_open(const struct adv_users *u, const struct adv_user *user, unsigned count);

void adv_turn_init(struct adv_users *u, struct adv_turn *t, struct adv_user *user, pid_t pid,
		   bool (*serve)(struct adv_turn *t, uint64_t end));
/* There is something to read. */
void adv_turn_want(struct adv_users *u, struct adv_turn *t);
/* For serve(): reads and answers message by message, `most` at most, until read_one(), which is
 * given the connection, says that there is no more at present. True: there may be more. */
bool adv_turn_read(const struct adv_users *u, bool (*read_one)(void *connection), void *connection,
		   unsigned most, uint64_t end);
/* The connection ends. */
void adv_turn_end(struct adv_turn *t);
/* True while a process with this number has a connection. */
bool adv_users_have_process(const struct adv_users *u, pid_t pid);

/* One round. */
void adv_users_serve(struct adv_users *u);
/* True where a round has something to do. */
bool adv_users_wait(const struct adv_users *u);

#endif
