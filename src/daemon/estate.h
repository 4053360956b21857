/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * adverbd's estate: the state that outlives each of its processes. The keeper and the worker both
 * hold all of it, so that a fork of either can replace the other.
 */
#ifndef ADV_DAEMON_ESTATE_H
#define ADV_DAEMON_ESTATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/control_protocol.h"
#include "host/gid_table.h"

#define ADV_CLIENTS_MAX	 4608 /* connections */
#define ADV_USER_CLIENTS 2304 /* connections of one user, where many are served */
#define ADV_USER_SLOTS                                                                             \
	2047		   /* slots that one user can have had, where many are served; not root    \
			    */
#define ADV_USER_BLOCKS 63 /* and blocks */
/* A slot is not used again so soon, where a new one can be made: ... */
#define ADV_REST_MS    60000
#define ADV_REST_LEAST ADV_SENDER_MS /* ... where its user has so many free ones: */
#define ADV_REST_SLOTS 16
#define ADV_SENDER_MS  5000 /* packets of a process that has ended are read by then */
#define ADV_GRACE_MS   3000 /* a replaced worker waits so long for clients to resume */

struct adv_membership {
	struct adv_gid group;
	uint32_t ifindex;
	uint32_t joined;
};

/* A slot's entry is written in an order that lets a new worker take over at any instant. */
struct adv_slot_record {
	_Atomic uint32_t owned;
	uint32_t pid;
	uint32_t uid;
	bool used_before; /* uid is then that of the last owner */
	uint64_t freed;	  /* the ledger's count of releases at its own; 0: never used */
	uint64_t freed_ms;
	uint64_t opened_ms;
	uint8_t token[ADV_CONTROL_TOKEN_LEN];
	char comm[16];
	struct adv_membership membership[ADV_SLOT_GROUPS];
};

/* QP numbers besides a slot's own. */
struct adv_block_record {
	_Atomic uint32_t slot; /* that has it; 0: none */
	uint32_t uid;	       /* of the last owner, where used_before */
	bool used_before;
	uint64_t freed;
};

/* Shared between keeper and worker; the worker alone writes what is below the pids. */
struct adv_ledger {
	_Atomic uint32_t leaving; /* the end that follows is meant ... */
	_Atomic uint32_t handed;  /* ... by us; clients may start another that goes on */
	_Atomic uint32_t worker_pid;
	_Atomic uint32_t keeper_pid;
	_Atomic uint32_t restarts;
	_Atomic uint32_t served; /* a worker came so far as to serve */
	uint64_t started_ms;
	uint64_t linger_ms;
	uint32_t carried_set; /* the number of the carrier's newest one */
	uint32_t carried;     /* messages in its queue */
	uint64_t releases;
	uint64_t qp1_dropped;
	uint64_t counted[ADV_COUNTERS]; /* by slots that were given up since */
	uint8_t instance[ADV_CONTROL_TOKEN_LEN];
	struct adv_block_record block[ADV_BLOCKS];
	uint32_t sockets; /* of the group: of the slots below that */
	struct adv_slot_record slot[ADV_SLOTS];
};

/* See daemon/carrier.h. */
struct adv_carrier {
	int queue; /* -1: there is none */
	int feed;
	unsigned most; /* sockets, to be carried */
};

struct adv_daemon {
	/* Of port 4791, in the group's order, as many as this process knows of. */
	int socket[ADV_SLOTS];
	unsigned sockets;
	unsigned slots_most; /* so many there may be, those of daemon and nobody included */
	/* The worker's life, for a keeper that starts another: adv_worker_run(). */
	int (*run_worker)(struct adv_daemon *d, int keeper);
	int keeper; /* the worker's: its end of the pair; -1: no keeper at present */
	int listener;
	int table_fd;  /* sealed against writing: for clients */
	int ledger_fd; /* likewise: for a daemon after us; -1: there is none */
	int marker; /* bound to a name that says: there are sockets of this user's daemon; or -1 */
	struct adv_carrier carrier;
	struct adv_ledger *ledger;
	int counters[ADV_SLOTS]; /* the worker's: what a slot counts in; 0: nothing */
	struct adv_gid_table *gids;
	struct adv_senders *senders;
	bool system;
	bool foreground;
	uid_t uid;
	uint64_t linger_ms;
	int ready_fd; /* where the starter waits for ADV_START_*; -1: nobody does */
	/* The worker's: of slots, then blocks, given up: until when their sender still counts. */
	uint64_t sender_until[ADV_SLOTS + ADV_BLOCKS];
	uint64_t senders_at; /* the earliest of these; 0: none */
};

#endif
