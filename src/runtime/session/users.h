/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The users of the daemon, and the order in which the daemon serves them. A user with many requests
 * delays only itself. In each round the daemon serves every user with readable connections for
 * ADV_USER_NS, one connection after the other. The remaining connections come first in the next
 * round. Only the worker's thread uses this.
 */
#ifndef ADV_RUNTIME_SESSION_USERS_H
#define ADV_RUNTIME_SESSION_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "runtime/steering/pairs.h"

#define ADV_USER_NS	 1000000 /* time for one user in a round */
#define ADV_USER_TURN_NS 250000	 /* time for one connection; a message in progress is completed */

struct adv_users {
	struct adv_list list;
	struct adv_list waiting; /* users with readable connections */
	struct adv_list connections;
	uint64_t (*clock_ns)(void); /* monotonic */
	unsigned share; /* descriptors that a user may have open in the daemon; 0: no limit */
};

struct adv_user {
	struct adv_list link;
	struct adv_list turn;	 /* of users->waiting */
	struct adv_list waiting; /* readable connections */
	uid_t uid;
	unsigned held;	     /* calls of adv_users_hold() minus calls of adv_users_release() */
	unsigned clients;    /* connections of the control protocol */
	unsigned cm_clients; /* connections to the connection manager, ending ones too */
	unsigned ids;	     /* ids of the CM, including those in TIMEWAIT or ending */
	unsigned channels;   /* event channels */
	unsigned joins;	     /* memberships in multicast groups */
	unsigned queries;    /* addresses being resolved */
	unsigned streams;    /* sockets of iWARP ids, ending ones too */
	unsigned descriptors;
	struct adv_pair_use pairs;
};

/* A member of each connection: links it into the list of all connections and into its user's list
 * of readable connections. */
struct adv_user_turn {
	struct adv_list connection;
	struct adv_list link;
	struct adv_user *user;
	pid_t pid;
	/* Serves requests until about the time `end`. True: more requests may be queued. */
	bool (*serve)(struct adv_user_turn *t, uint64_t end);
};

void adv_users_init(struct adv_users *u, uint64_t (*clock_ns)(void), unsigned share);
/* Frees all users. No caller may still hold a user. */
void adv_users_free(struct adv_users *u);

/* Returns the user `uid`. The caller calls adv_users_release() later. NULL: ENOMEM. */
struct adv_user *adv_users_hold(struct adv_users *u, uid_t uid);
void adv_users_release(struct adv_user *user);
/* True if the user may have `count` more descriptors open in the daemon. */
bool adv_users_may_open(const struct adv_users *u, const struct adv_user *user, unsigned count);

void adv_user_turn_init(struct adv_users *u, struct adv_user_turn *t, struct adv_user *user,
			pid_t pid, bool (*serve)(struct adv_user_turn *t, uint64_t end));
/* Queues a readable connection for its turn. */
void adv_user_turn_queue(struct adv_users *u, struct adv_user_turn *t);
/* A loop for serve(): calls read_one(connection), which serves one message, at most `most` times.
 * Ends when read_one() returns false or the time is `end`. Returns true if more messages may be
 * queued. */
bool adv_user_turn_read(const struct adv_users *u, bool (*read_one)(void *connection),
			void *connection, unsigned most, uint64_t end);
/* Removes a connection from its lists before the connection ends. */
void adv_user_turn_end(struct adv_user_turn *t);
/* True if the process with this process ID has a connection. */
bool adv_users_have_process(const struct adv_users *u, pid_t pid);

/* Does one round: serves each user with readable connections for ADV_USER_NS. */
void adv_users_serve(struct adv_users *u);
/* True if a round has work to do. */
bool adv_users_pending(const struct adv_users *u);

#endif
