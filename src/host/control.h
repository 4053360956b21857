/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process's side of the control protocol with adverbd. host/control_protocol.h has the messages;
 * adverbd includes it too.
 *
 * A connection has a lock of its own, which is held for microseconds and never while a thread waits
 * for adverbd. It may be taken with a device's lock held. Functions that block do so without it;
 * call them without a device's lock.
 *
 * One thread at a time may call functions that block. After adv_control_attend(), any number of
 * threads may: a thread of the connection's owner then reads the answers.
 *
 * All I/O is raw system calls. Descriptors are close-on-exec. No signal's disposition is changed,
 * and no SIGPIPE or SIGCHLD is raised. A child of fork() must not use the connection: it calls
 * adv_control_abandon() at most.
 */
#ifndef ADV_HOST_CONTROL_H
#define ADV_HOST_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/control_protocol.h"
#include "host/control_request.h"
#include "host/gid_table.h"

struct adv_control; /* one connection */
struct adv_shm_pair;

/*
 * Connects to the adverbd of this network namespace: the system's, else the user's own. If neither
 * runs and `start` is set, starts the latter first. Blocks, for half a minute at most. NULL with
 * errno, and one line in why[] on which a person can act.
 */
struct adv_control *adv_control_connect(bool start, char *why, size_t why_len);

/* Ends the connection and frees c; adverbd frees its slots. Posted requests, which exist
 * until then, get no answer. NULL is fine. No thread may be in another function of c. */
void adv_control_close(struct adv_control *c);

/*
 * In a child of fork(): closes the child's copies of the descriptors and unmaps the shared memory.
 * Async-signal-safe. The parent's connection continues; c itself is not freed. If a child kept the
 * copies, adverbd would notice the parent's end late on old kernels.
 */
void adv_control_abandon(struct adv_control *c);

/*
 * From now on a thread of the caller's reads the connection: whenever adv_control_fd() is readable,
 * it calls adv_control_read() until that returns ADV_NOTICE_NONE, and then
 * adv_control_restart_daemon(). That thread must not call functions that block.
 */
void adv_control_attend(struct adv_control *c);

/* Returns the descriptor to poll for readability. It stays the same when the connection is made
 * again. The caller neither reads nor closes it. */
int adv_control_fd(const struct adv_control *c);

enum adv_control_notice {
	ADV_NOTICE_NONE,	  /* nothing more to read */
	ADV_NOTICE_ANSWERED,	  /* fetch a posted request with adv_control_take_answered() */
	ADV_NOTICE_GIDS_CHANGED,  /* the table has new contents */
	ADV_NOTICE_PORT_CHANGED,  /* port_active has changed */
	ADV_NOTICE_PAIRS_CHANGED, /* post adv_control_post_pairs() */
	ADV_NOTICE_FAULT,	  /* fetch a request about faults with adv_control_take_fault() */
	ADV_NOTICE_GONE, /* adverbd ended for good. Slots stay usable as long as their sockets do.
			  */
};

/*
 * Returns one notice. Does not block; call it until NONE, or GONE, which it repeats. If the worker
 * of adverbd was replaced, connects again and resumes the slots; that shows as changed GIDs and
 * pairs.
 */
enum adv_control_notice adv_control_read(struct adv_control *c);

/* If adv_control_read() has found that this process is to start another adverbd, starts it. Takes
 * some milliseconds then, and no lock meanwhile. */
void adv_control_restart_daemon(struct adv_control *c);

/*
 * Sends r->message without blocking: at once, or when the connection is there again. The answer is
 * announced by ADV_NOTICE_ANSWERED. If r fails with ECONNRESET, adverbd is gone for good. 0, or
 * ECONNRESET: r was not posted.
 */
int adv_control_post(struct adv_control *c, struct adv_control_request *r);

/* Removes and returns the oldest answered request; NULL: none. */
struct adv_control_request *adv_control_take_answered(struct adv_control *c);

/* Returns the shared GID table, mapped read-only. It exists as long as the connection. */
const struct adv_gid_table *adv_control_gids(const struct adv_control *c);

/* Likewise: the UDP port from which each process sends within this machine. */
const struct adv_senders *adv_control_senders(const struct adv_control *c);

/* ---- slots (control_slot.c) ---- */

struct adv_slot {
	int receive_fd; /* the caller's */
	uint32_t number;
	uint32_t qpn_first; /* 24 bits; a slot's numbers are contiguous */
	uint32_t qpn_count;
	uint32_t receive_buffer; /* bytes granted, in the kernel's count (twice SO_RCVBUF) */
};

/* Requests a slot: empty, and this process's until the connection ends. Blocks. May be called
 * again for more. 0, or errno with a line in why[]: EAGAIN all are in use, ECONNRESET adverbd went
 * away. */
int adv_control_open_slot(struct adv_control *c, struct adv_slot *slot, char *why, size_t why_len);

/*
 * Posts a request for ADV_BLOCK_QPNS more QP numbers, whose packets arrive at the slot's socket
 * until the slot is freed. The answer: 0 with the first number, or errno with a line in why[]:
 * EAGAIN all are in use, ECONNRESET adverbd went away.
 */
int adv_control_post_block(struct adv_control *c, struct adv_control_request *r,
			   const struct adv_slot *slot);
int adv_control_block_answer(struct adv_control_request *r, uint32_t *qpn_first, char *why,
			     size_t why_len);

/*
 * Joins or leaves a multicast group (IPv4-mapped or IPv6) for a slot's socket on the interface
 * with this index. adverbd does it, and undoes it when the process ends. Joins are not counted: two
 * are one. Blocks. 0, or errno: EINVAL not a group, ENOBUFS too many on this socket
 * (net.ipv4.igmp_max_memberships), ENODEV no such interface, EADDRNOTAVAIL the group to leave was
 * not joined, ECONNRESET adverbd went away.
 */
int adv_control_join(struct adv_control *c, const struct adv_slot *slot,
		     const struct adv_gid *group, uint32_t ifindex);
int adv_control_leave(struct adv_control *c, const struct adv_slot *slot,
		      const struct adv_gid *group, uint32_t ifindex);

/*
 * Requests a page of ADV_COUNTERS numbers, all 0, for the slot's counters. adverbd reads it when a
 * client queries the counters, and once more when the slot is freed. Blocks. *page lives as long as
 * the connection. 0, or errno: the slot's counters are in no sum.
 */
int adv_control_count(struct adv_control *c, const struct adv_slot *slot, uint64_t **page);

/* Publishes the UDP port from which the slot sends within this machine. Blocks. 0; EPERM the slot
 * is not this connection's, ECONNRESET adverbd went away. */
int adv_control_sender(struct adv_control *c, const struct adv_slot *slot, uint16_t port);

/* ---- memory shared with another slot, link/shm.h (control_pair.c) ---- */

/*
 * Posts a request for memory that is shared with the slot `peer`. The answer: 0 with a descriptor,
 * the caller's; EAGAIN: the peer has not requested it yet, ADV_NOTICE_PAIRS_CHANGED will tell when
 * it has; EALREADY: this process has fetched it; ENOENT: no such slot is in use; ENFILE: there are
 * too many; ECONNRESET.
 */
int adv_control_post_pair(struct adv_control *c, struct adv_control_request *r, unsigned slot,
			  unsigned peer);
int adv_control_pair_answer(struct adv_control_request *r, struct adv_shm_pair *pair);

/*
 * Posts a query of the slots from *from on with which `slot` shares memory. The answer sets bits of
 * slots (bit i % 8 of byte i / 8): those slots, and which of their memory can be requested with
 * adv_control_post_pair() now. It raises *from to the slot to continue with; ADV_SLOTS: that was
 * all. 0 or errno.
 */
int adv_control_post_pairs(struct adv_control *c, struct adv_control_request *r, unsigned slot,
			   unsigned from);
int adv_control_pairs_answer(struct adv_control_request *r, unsigned *from,
			     uint8_t paired[ADV_SLOTS / 8], uint8_t ready[ADV_SLOTS / 8]);

/* ---- faults on purpose (control_fault.c) ---- */

/*
 * With kind ADV_CONTROL_FAULT_OPEN: *fd is a socket for a request, the caller's. Else *fd is -1,
 * and adverbd passes the newest of these sockets to the target. Blocks. 0, or errno with a line in
 * why[] and *fd -1: EPERM it is another user's; ENOENT there is no such target; EAGAIN its process
 * has not resumed yet after the worker was replaced, or does not read its requests; EPROTO adverbd
 * is older than this request.
 */
int adv_control_fault(struct adv_control *c, const struct adv_control_fault *target, int *fd,
		      char *why, size_t why_len);

/* If the environment has a fault plan, applies it to the connection manager's packets of this
 * process. A failure is logged. Blocks for a moment. */
void adv_control_tell_faults(struct adv_control *c);

/* Returns a socket that ADV_NOTICE_FAULT announced; the caller closes it. -1: none. */
int adv_control_take_fault(struct adv_control *c);

/* ---- queries (control_query.c) ---- */

struct adv_control_status {
	uint32_t worker_pid; /* in adverbd's pid namespace */
	uint32_t keeper_pid;
	uint32_t uid;
	bool system;
	uint32_t clients; /* connections, including this one */
	uint32_t slots_used;
	uint32_t slots_total;
	uint32_t sockets; /* of UDP port 4791, made so far */
	uint32_t blocks_used;
	uint32_t blocks_total;
	uint32_t restarts; /* workers replaced so far */
	uint64_t uptime_ms;
	uint64_t qp1_dropped; /* packets to QP0 and QP1 that have no receiver */
	/* The connection manager. */
	uint32_t cm_clients;
	uint32_t cm_ids;
	uint32_t cm_connections; /* ids that have a peer */
	uint32_t cm_ending;	 /* connections whose ids were destroyed: DREQ sent, TIMEWAIT */
	uint64_t cm_rx;		 /* management datagrams */
	uint64_t cm_tx;
	uint64_t cm_retries;
	uint64_t cm_dropped; /* malformed, without a receiver, or over a backlog */
};

/* Blocks. 0 or errno (ECONNRESET). */
int adv_control_status(struct adv_control *c, struct adv_control_status *status);

struct adv_control_entry {
	uint32_t slot;
	uint32_t pid; /* 0: in a pid namespace that adverbd cannot see */
	uint32_t uid;
	uint32_t blocks; /* besides the slot's own QP numbers */
	bool connected;	 /* false: its process has not resumed yet after the worker was replaced */
	uint64_t age_ms;
	char comm[16];
};

/* Reads the first slot in use whose number is at least `from` into *entry. Blocks. 0; ENOENT if
 * there is no such slot; ECONNRESET. */
int adv_control_list(struct adv_control *c, uint32_t from, struct adv_control_entry *entry);

struct adv_counters;

/* Reads the sums of the counters of all slots since adverbd started, including those of ended
 * processes. Blocks. 0 or errno. */
int adv_control_counters(struct adv_control *c, struct adv_counters *sum);

/*
 * Requests a socket of the connection manager (host/ucma_protocol.h): SOCK_SEQPACKET,
 * close-on-exec, blocking. The caller owns *fd. adverbd treats the socket as a separate client,
 * which ends when the socket is closed, not when c is closed. Blocks. 0, or errno with *fd -1 and a
 * line in why[]: EUSERS there are too many, EMFILE or ENOMEM in adverbd, ECONNRESET adverbd went
 * away, EPROTO it has no connection manager.
 */
int adv_control_open_cm(struct adv_control *c, int *fd, char *why, size_t why_len);

#endif
