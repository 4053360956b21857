/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * adverbd's estate: the state that survives the exit of the keeper or the worker. Both processes
 * hold the whole estate. If one dies, a fork of the other replaces it.
 */
#ifndef ADV_RUNTIME_KEEPER_ESTATE_H
#define ADV_RUNTIME_KEEPER_ESTATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/control/protocol.h"
#include "runtime/control/gid_table.h"

#define ADV_CLIENTS_MAX 4608 /* connections */
/* Limits for one user, if the daemon serves many: connections; slots that the user has now or had
 * before (not for root); blocks. */
#define ADV_USER_CLIENTS 2304
#define ADV_USER_SLOTS	 2047
#define ADV_USER_BLOCKS	 63
#define ADV_SENDER_MS	 5000 /* the last packets of an exited process are read within this time */
/* A free slot is not used again for ADV_REST_MS if a new slot can be made. If its user has
 * ADV_REST_SLOTS free slots, this time is ADV_REST_LEAST. */
#define ADV_REST_MS    60000
#define ADV_REST_LEAST ADV_SENDER_MS
#define ADV_REST_SLOTS 16
#define ADV_GRACE_MS   3000 /* a new worker waits this long for clients to resume */

struct adv_membership {
	struct adv_gid group;
	uint32_t ifindex;
	uint32_t joined;
};

/* The order of the writes to a slot's record lets a new worker take over at any instant. */
struct adv_slot_record {
	_Atomic uint32_t owned;
	uint32_t pid;
	uint32_t uid;
	bool used_before; /* uid belongs to the last owner */
	uint64_t freed;	  /* the ledger's count of releases at this slot's release; 0: none */
	uint64_t freed_ms;
	uint64_t opened_ms;
	uint8_t token[ADV_CONTROL_TOKEN_LEN];
	char comm[16];
	char device[ADV_CONTROL_DEVICE_LEN];
	struct adv_membership membership[ADV_SLOT_GROUPS];
};

/* A block of QP numbers besides those of the slots. */
struct adv_block_record {
	_Atomic uint32_t slot; /* the slot that owns the block; 0: none */
	uint32_t uid;	       /* user of the last owner, if used_before */
	bool used_before;
	uint64_t freed;
};

#define ADV_LEDGER_DEVICES 128

/* The released slots of a user's devices of one name. */
struct adv_device_record {
	_Atomic uint32_t used;
	uint32_t uid;
	char name[ADV_CONTROL_DEVICE_LEN];
	uint64_t counted[ADV_COUNTERS];
};

/* Keeper and worker share the ledger. Only the worker writes the members after keeper_pid. */
struct adv_ledger {
	_Atomic uint32_t leaving; /* 1: the daemon ends on purpose */
	_Atomic uint32_t handed;  /* 1: the daemon leaves the estate to its clients, which may start
				     another daemon with it */
	_Atomic uint32_t worker_pid;
	_Atomic uint32_t keeper_pid;
	_Atomic uint32_t restarts;
	_Atomic uint32_t served; /* 1: a worker has begun to serve */
	uint64_t started_ms;
	uint64_t linger_ms;
	uint32_t carried_set; /* number of the newest set in the carrier */
	uint32_t carried;     /* messages in the carrier's queue */
	uint64_t releases;
	uint64_t qp1_dropped;
	uint64_t counted[ADV_COUNTERS]; /* counters of slots that were released */
	/* The same by device. If all records are used, further devices are in the sum only. */
	struct adv_device_record device[ADV_LEDGER_DEVICES];
	uint8_t instance[ADV_CONTROL_TOKEN_LEN];
	struct adv_block_record block[ADV_BLOCKS];
	uint32_t sockets; /* sockets of the group: slots below this have one */
	struct adv_slot_record slot[ADV_SLOTS];
};

/* See runtime/keeper/carrier.h. */
struct adv_carrier {
	int queue; /* -1: none */
	int feed;
	unsigned most; /* the largest number of sockets to carry */
};

struct adv_daemon {
	/* The group's sockets that this process knows, in the group's order. */
	int socket[ADV_SLOTS];
	unsigned sockets;
	unsigned slots_most; /* largest number of slots, including ADV_SLOT_DAEMON and
				ADV_SLOT_NOBODY */
	/* adv_worker_run(): the keeper calls it in a new worker. */
	int (*run_worker)(struct adv_daemon *d, int keeper);
	int keeper; /* the worker's end of its socket pair with the keeper; -1: no keeper at present
		     */
	int listener;
	bool listener_passed; /* by a service manager, and listening already */
	int table_fd;	      /* the tables for clients, sealed against writing */
	int ledger_fd;	      /* the ledger for a later daemon, sealed against writing; -1: none */
	int marker; /* socket whose name shows that sockets of this user's daemon exist; -1: none */
	struct adv_carrier carrier;
	struct adv_ledger *ledger;
	/* By slot: memfd with the slot's counters, only in the worker; 0: none. */
	int counters[ADV_SLOTS];
	struct adv_gid_table *gids;
	struct adv_senders *senders;
	struct adv_pkey_table pkeys; /* configured; empty: ADV_PKEY_DEFAULT only */
	bool system;
	bool foreground;
	uid_t uid;
	uint64_t linger_ms;
	int ready_fd; /* pipe to the starter, which waits for ADV_START_*; -1: none */
	/* Only in the worker: time until which the sender of a released slot or block is valid.
	 * Index: slots, then blocks. */
	uint64_t sender_until[ADV_SLOTS + ADV_BLOCKS];
	uint64_t senders_at; /* the earliest time in sender_until[]; 0: none */
};

/* Sends the keeper a copy of the socket that was added to the group. Returns 0, or errno if the
 * keeper cannot receive it. Without a keeper the function does nothing: the next keeper is a child
 * of the worker and inherits the socket. */
int adv_estate_send_socket(const struct adv_daemon *d, int fd);

#endif
