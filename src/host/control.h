/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's side of the control protocol with adverbd. The messages themselves are in
 * host/control_protocol.h, which the daemon includes too.
 *
 * A connection is used by one thread at a time (the caller's lock). All I/O is raw system
 * calls; descriptors are close-on-exec; no signal's disposition is changed and no SIGPIPE or
 * SIGCHLD is raised. A child of fork() must not use the connection: it calls
 * adv_control_abandon() at most.
 */
#ifndef ADV_HOST_CONTROL_H
#define ADV_HOST_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/control_protocol.h"
#include "host/gid_table.h"

struct adv_control; /* one connection */
struct adv_heir;
struct adv_shm_pair;

/*
 * Connects to the daemon of this network namespace: the system one, else the user's own, which
 * is started first where `start` says so and none runs. Bounded, half a minute at worst.
 * NULL: errno, and one line in why[] a person can act on.
 */
struct adv_control *adv_control_connect(bool start, char *why, size_t why_len);

/* Ends the connection and frees c: the daemon takes back its slots. NULL is fine. */
void adv_control_close(struct adv_control *c);

/* In a child of fork(): closes the child's copies of the descriptors and unmaps the table,
 * async-signal-safe; the parent's connection goes on. c itself is not freed. A child that keeps
 * the copies makes the daemon notice a parent's end late on old kernels. */
void adv_control_abandon(struct adv_control *c);

/* A descriptor to be polled for readability: adv_control_read() then. It stays the same over
 * reconnections; not to be read or closed by the caller. */
int adv_control_fd(const struct adv_control *c);

/* The shared GID table, mapped read-only; lives as long as the connection. */
const struct adv_gid_table *adv_control_gids(const struct adv_control *c);

/* Likewise: who sends from where on this machine. */
const struct adv_senders *adv_control_senders(const struct adv_control *c);

struct adv_slot {
	int receive_fd; /* the caller's from now on */
	uint32_t number;
	uint32_t qpn_first; /* 24-bit; a slot's are contiguous */
	uint32_t qpn_count;
	uint32_t receive_buffer; /* bytes granted, in the kernel's count (twice SO_RCVBUF) */
};

/* Asks for a slot, drained and ours alone until the connection ends. May be called again for
 * more. 0, or errno: EAGAIN all in use, ECONNRESET the daemon went away, with a line in why[]. */
int adv_control_open_slot(struct adv_control *c, struct adv_slot *slot, char *why, size_t why_len);

/*
 * Asks for ADV_BLOCK_QPNS more QP numbers, from *qpn_first on, whose packets come to the slot's
 * socket until it is given up. 0, or errno: EAGAIN all in use, ECONNRESET the daemon went away,
 * with a line in why[].
 */
int adv_control_open_block(struct adv_control *c, const struct adv_slot *slot, uint32_t *qpn_first,
			   char *why, size_t why_len);

/*
 * Joins or leaves a multicast group (IPv4-mapped or IPv6) for a slot's socket on the interface
 * with this index. The daemon does it, so that it can undo it when the process dies. Not counted:
 * joining twice is joining once. 0, or errno: EINVAL not a group, ENOBUFS too many on this
 * socket (net.ipv4.igmp_max_memberships), ENODEV no such interface, EADDRNOTAVAIL leaving
 * what was not joined, ECONNRESET the daemon went away.
 */
int adv_control_join(struct adv_control *c, const struct adv_slot *slot,
		     const struct adv_gid *group, uint32_t ifindex);
int adv_control_leave(struct adv_control *c, const struct adv_slot *slot,
		      const struct adv_gid *group, uint32_t ifindex);

/*
 * Asks for a socket of the connection manager (host/ucma_protocol.h): SOCK_SEQPACKET,
 * close-on-exec, blocking, *fd the caller's. It is one client of its own there, ends with the
 * process or when closed, and outlives c. 0, or errno with *fd -1 and a line in why[]: EUSERS too
 * many of them, EMFILE or ENOMEM in the daemon, ECONNRESET the daemon went away, EPROTO it is of a
 * version that has no connection manager.
 */
int adv_control_open_cm(struct adv_control *c, int *fd, char *why, size_t why_len);

/*
 * Asks for a page of ADV_COUNTERS numbers, all 0, for the slot to count in; the daemon reads it
 * when it is asked, and once more when the slot is given up. *page lives as long as the connection.
 * 0, or errno: the slot's counts will be in no sum.
 */
int adv_control_count(struct adv_control *c, const struct adv_slot *slot, uint64_t **page);

/*
 * Tells everybody on this machine that what the slot sends to it comes from this UDP port. 0; EPERM
 * the slot is not ours, ECONNRESET the daemon went away.
 */
int adv_control_sender(struct adv_control *c, const struct adv_slot *slot, uint16_t port);

struct adv_counters;

/* The counts of all slots since the daemon started, those of ended processes too. 0 or errno. */
int adv_control_counters(struct adv_control *c, struct adv_counters *sum);

/*
 * With kind ADV_CONTROL_FAULT_OPEN: *fd is a socket for a request, the caller's; else -1, and the
 * newest of these goes to who follows the plan that is meant. 0, or errno with a line in why[],
 * *fd -1: EPERM another user's; ENOENT there is none such; EAGAIN its process has yet to
 * come back after a replaced worker, or leaves what it is told unread; EPROTO the daemon is older
 * than this.
 */
int adv_control_fault(struct adv_control *c, const struct adv_control_fault *target, int *fd,
		      char *why, size_t why_len);

/* The fault plan of the environment, where there is one, becomes that of the connection manager's
 * packets of this process. What goes wrong is logged. Blocks for a moment. */
void adv_control_tell_faults(struct adv_control *c);

/* A socket that ADV_NOTICE_FAULT announced, the caller's now; -1: none (more). */
int adv_control_take_fault(struct adv_control *c);

enum adv_control_notice {
	ADV_NOTICE_NONE,	  /* nothing (more) to read */
	ADV_NOTICE_GIDS_CHANGED,  /* the table has new contents */
	ADV_NOTICE_PORT_CHANGED,  /* port_active differs */
	ADV_NOTICE_PAIRS_CHANGED, /* adv_control_pairs() says what there is */
	ADV_NOTICE_FAULT,	  /* somebody asks about faults: adv_control_take_fault() */
	ADV_NOTICE_GONE, /* the daemon went away for good; slots stay usable as long as sockets do
			  */
};

/* Reads one notice without blocking; call until NONE (or GONE, which repeats). A daemon whose
 * worker was replaced is reconnected to, and the slots resumed, without being noticed here. */
enum adv_control_notice adv_control_read(struct adv_control *c);

/*
 * Asks for memory to be shared with the slot `peer` (link/shm.h); the descriptor is the caller's.
 * 0; EAGAIN: the peer has not asked for it yet: ADV_NOTICE_PAIRS_CHANGED tells when it does, then
 * ask again; EALREADY: we have had it; ENOENT: no such slot is in use; ENFILE: there are too many;
 * ECONNRESET.
 */
int adv_control_pair(struct adv_control *c, unsigned slot, unsigned peer,
		     struct adv_shm_pair *pair);

/* Bits of slots (bit i % 8 of byte i / 8): those with which this one shares memory, and which of
 * these adv_control_pair() has yet to fetch. 0 or errno. */
int adv_control_pairs(struct adv_control *c, unsigned slot, uint8_t paired[ADV_SLOTS / 8],
		      uint8_t ready[ADV_SLOTS / 8]);

struct adv_control_status {
	uint32_t worker_pid; /* as the daemon sees itself */
	uint32_t keeper_pid;
	uint32_t uid;
	bool system;
	uint32_t clients; /* connections, this one too */
	uint32_t slots_used;
	uint32_t slots_total;
	uint32_t sockets; /* of UDP port 4791, made so far */
	uint32_t blocks_used;
	uint32_t blocks_total;
	uint32_t restarts; /* workers replaced so far */
	uint64_t uptime_ms;
	uint64_t qp1_dropped; /* packets to QP0 and QP1 that nobody serves */
	/* The connection manager. */
	uint32_t cm_clients;
	uint32_t cm_ids;
	uint32_t cm_connections; /* ids that have a peer */
	uint32_t cm_ending;	 /* connections whose ids are gone: DREQ sent, TIMEWAIT */
	uint64_t cm_rx;		 /* management datagrams */
	uint64_t cm_tx;
	uint64_t cm_retries;
	uint64_t cm_dropped; /* malformed, for nobody, or over a backlog */
};

/* What the daemon says of itself. 0 or errno (ECONNRESET). */
int adv_control_status(struct adv_control *c, struct adv_control_status *status);

struct adv_control_entry {
	uint32_t slot;
	uint32_t pid; /* 0: in a pid namespace that the daemon cannot see */
	uint32_t uid;
	uint32_t blocks; /* that it has besides its own QP numbers */
	bool connected;	 /* false: its process has yet to resume after a replaced worker */
	uint64_t age_ms;
	char comm[16];
};

/* The first slot in use whose number is at least `from`. 0; ENOENT: no more; ECONNRESET. */
int adv_control_list(struct adv_control *c, uint32_t from, struct adv_control_entry *entry);

/* The path of adverbd: ADVERB_DAEMON, else the one of the build tree or installation that this
 * code was loaded from. `path` has at least PATH_MAX bytes. 0, or errno ENOENT. */
int adv_control_daemon_path(char *path);

/*
 * Starts adverbd in the background and waits, bounded, for what it says. Returns
 * ADV_START_READY, ADV_START_LOST, or ADV_START_WAIT or ADV_START_FAILED with errno and a line in
 * why[].
 */
int adv_control_start_daemon(char *why, size_t why_len);

/*
 * What a daemon is started with that goes on from another one: path and environment, as they are
 * now. The start may come at any time, from a thread of ours, when the application may be at its
 * environment. NULL: there is no memory, or no adverbd.
 */
struct adv_heir *adv_control_heir_new(void);
void adv_control_heir_free(struct adv_heir *h); /* NULL is fine */

/*
 * Starts it, with the carrier `estate_fd`, which stays the caller's, and does not wait: *said, the
 * caller's, does not block, and reads as ADV_START_* says. 0, or errno, *said -1 and a line in
 * why[].
 */
int adv_control_heir_start(struct adv_heir *h, int estate_fd, int *said, char *why, size_t why_len);

#endif
