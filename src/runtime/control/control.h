/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client side of the control protocol with adverbd. runtime/control/protocol.h defines the
 * messages; adverbd includes it too.
 *
 * A connection has its own lock. The lock is held for microseconds and never while a thread waits
 * for adverbd. A thread may acquire it while it holds a device's lock. Functions that block release
 * the connection's lock before they block. Call them without a device's lock.
 *
 * One thread at a time may call functions that block. After adv_control_attend() any number of
 * threads may call them, because a thread of the connection's owner then reads the answers.
 *
 * All I/O uses raw system calls. Descriptors are close-on-exec. No function changes the disposition
 * of a signal or raises SIGPIPE or SIGCHLD. A child of fork() must not use the connection; it may
 * call only adv_control_abandon().
 */
#ifndef ADV_RUNTIME_CONTROL_CONTROL_H
#define ADV_RUNTIME_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/control/protocol.h"
#include "runtime/control/request.h"
#include "runtime/control/gid_table.h"

struct adv_control; /* one connection */
struct adv_shm_pair;

/*
 * Connects to an adverbd of this network namespace: the system's, else the user's own. If neither
 * runs and `start` is set, first starts the user's own. Blocks for half a minute at most. NULL with
 * errno, and one line in why[] on which a person can act.
 */
struct adv_control *adv_control_connect(bool start, char *why, size_t why_len);

/* Ends the connection and frees c. adverbd frees the slots of the connection. Posted requests get
 * no answer; their memory must exist until this call. c may be NULL. No other thread may be in a
 * function of c. */
void adv_control_close(struct adv_control *c);

/*
 * In a child of fork(): closes the child's copies of the descriptors and unmaps the shared memory.
 * Async-signal-safe. The parent's connection continues; c itself is not freed. On old kernels,
 * adverbd would notice the parent's end late if the child kept the copies.
 */
void adv_control_abandon(struct adv_control *c);

/*
 * Announces that a thread of the caller reads the connection from now on. Whenever adv_control_fd()
 * is readable, that thread calls adv_control_read() until it returns ADV_NOTICE_NONE, and then
 * adv_control_restart_daemon(). It must not call functions that block.
 */
void adv_control_attend(struct adv_control *c);

/* Returns the descriptor to poll for readability. The descriptor stays the same after a
 * reconnection. The caller neither reads nor closes it. */
int adv_control_fd(const struct adv_control *c);

enum adv_control_notice {
	ADV_NOTICE_NONE,	  /* nothing more to read */
	ADV_NOTICE_ANSWERED,	  /* fetch a posted request with adv_control_take_answered() */
	ADV_NOTICE_GIDS_CHANGED,  /* the table has new contents */
	ADV_NOTICE_PORT_CHANGED,  /* port_active has changed */
	ADV_NOTICE_PAIRS_CHANGED, /* post adv_control_post_pairs() */
	ADV_NOTICE_FAULT,	  /* fetch a request about faults with adv_control_take_fault() */
	ADV_NOTICE_GONE, /* adverbd ended for good; a slot stays usable while its socket does */
};

/*
 * Returns one notice. Does not block. Call it until it returns NONE, or GONE, which it then returns
 * at each call. If the worker of adverbd was replaced, connects again and resumes the slots; it
 * reports that as changed GIDs and pairs.
 */
enum adv_control_notice adv_control_read(struct adv_control *c);

/* Starts another adverbd if adv_control_read() has decided that this process starts it. In that
 * case takes some milliseconds, without the lock. */
void adv_control_restart_daemon(struct adv_control *c);

/*
 * Posts r: sends r->message without blocking, at once or after a reconnection. ADV_NOTICE_ANSWERED
 * announces the answer. If r fails with ECONNRESET, adverbd ended for good. 0, or ECONNRESET: r was
 * not posted.
 */
int adv_control_post(struct adv_control *c, struct adv_control_request *r);

/* Removes and returns the oldest answered request; NULL: none. */
struct adv_control_request *adv_control_take_answered(struct adv_control *c);

/* Returns the shared GID table, mapped read-only. It exists as long as the connection. */
const struct adv_gid_table *adv_control_gids(const struct adv_control *c);

/* Returns the table of the UDP ports from which processes send within this machine. Like the GID
 * table, it is mapped read-only and exists as long as the connection. */
const struct adv_senders *adv_control_senders(const struct adv_control *c);

/* ---- slots (slot.c) ---- */

struct adv_slot {
	int receive_fd; /* owned by the caller */
	uint32_t number;
	uint32_t qpn_first; /* 24 bits; the QP numbers of a slot are contiguous */
	uint32_t qpn_count;
	uint32_t receive_buffer; /* bytes granted, in the kernel's count (twice SO_RCVBUF) */
};

/* Requests an unused slot for a device, of which adverbd notes the name. This process holds the
 * slot until the connection ends, and may request more slots. Blocks. 0, or errno with a line in
 * why[]: EAGAIN: all slots are in use; ECONNRESET: adverbd ended. */
int adv_control_open_slot(struct adv_control *c, const char *device, struct adv_slot *slot,
			  char *why, size_t why_len);

/*
 * Posts a request for ADV_BLOCK_QPNS more QP numbers. Packets for these numbers arrive at the
 * slot's socket until the slot is freed. 0 or errno, as adv_control_post().
 */
int adv_control_post_block(struct adv_control *c, struct adv_control_request *r,
			   const struct adv_slot *slot);
/* Reads the answer to adv_control_post_block(). 0 with the first QP number, or errno with a line in
 * why[]: EAGAIN: all blocks are in use; ECONNRESET: adverbd ended. */
int adv_control_block_answer(struct adv_control_request *r, uint32_t *qpn_first, char *why,
			     size_t why_len);

/* Finds the MAC address of dgid, on the link of the interface of sgid. Blocks until adverbd
 * answers, not until the address is known. 0; EAGAIN: ask again later; EHOSTUNREACH: a router is
 * between; an errno of the routing table; ECONNRESET: adverbd ended. */
int adv_control_neighbour(struct adv_control *c, const struct adv_gid *sgid,
			  const struct adv_gid *dgid, uint32_t ifindex, uint8_t mac[6]);
/*
 * Joins a multicast group (IPv4-mapped or IPv6) for a slot's socket, on the interface with this
 * index. adverbd does the join, and leaves the group when the process ends. Joins are not counted:
 * two joins of one group need one leave. Blocks. 0, or errno:
 * - EINVAL: the address is not a multicast group.
 * - ENOBUFS: the socket is in too many groups (net.ipv4.igmp_max_memberships).
 * - ENODEV: no interface has this index.
 * - ECONNRESET: adverbd ended.
 */
int adv_control_join(struct adv_control *c, const struct adv_slot *slot,
		     const struct adv_gid *group, uint32_t ifindex);
/* Leaves a multicast group; otherwise as adv_control_join(). EADDRNOTAVAIL: the group was not
 * joined. */
int adv_control_leave(struct adv_control *c, const struct adv_slot *slot,
		      const struct adv_gid *group, uint32_t ifindex);

/*
 * Requests a page of ADV_COUNTERS numbers, all 0, for the slot's counters. adverbd reads the page
 * when a client queries the counters, and when the slot is freed. Blocks. *page exists as long as
 * the connection. 0, or errno: adverbd's sums then do not include the slot.
 */
int adv_control_count(struct adv_control *c, const struct adv_slot *slot, uint64_t **page);

/* Publishes the UDP port from which the slot sends within this machine. Blocks. 0; EPERM: the slot
 * does not belong to this connection; ECONNRESET: adverbd ended. */
int adv_control_sender(struct adv_control *c, const struct adv_slot *slot, uint16_t port);

/* ---- memory shared with another slot, runtime/link/shm.h (pair.c) ---- */

/*
 * Posts a request for memory that is shared with the slot `peer`. 0 or errno, as
 * adv_control_post().
 */
int adv_control_post_pair(struct adv_control *c, struct adv_control_request *r, unsigned slot,
			  unsigned peer);
/*
 * Reads the answer to adv_control_post_pair(). 0 with a descriptor in *pair, which the caller owns.
 * Or errno:
 * - EAGAIN: the peer has not requested the memory yet. ADV_NOTICE_PAIRS_CHANGED follows when it
 *   has.
 * - EALREADY: this process has already fetched the memory.
 * - ENOENT: the slot `peer` is not in use.
 * - ENFILE: too many pairs exist.
 * - ECONNRESET: adverbd ended.
 */
int adv_control_pair_answer(struct adv_control_request *r, struct adv_shm_pair *pair);

/*
 * Posts a query of the slots that share memory with `slot`, from slot number `from` on. 0 or errno,
 * as adv_control_post().
 */
int adv_control_post_pairs(struct adv_control *c, struct adv_control_request *r, unsigned slot,
			   unsigned from);
/*
 * Reads the answer to adv_control_post_pairs(). Sets the bits of slots (bit i % 8 of byte i / 8):
 * in paired[], slots that share memory with `slot`; in ready[], slots whose memory can be requested
 * with adv_control_post_pair() now. Sets *from to the slot from which to continue; ADV_SLOTS: the
 * query is complete. 0 or errno.
 */
int adv_control_pairs_answer(struct adv_control_request *r, unsigned *from,
			     uint8_t paired[ADV_SLOTS / 8], uint8_t ready[ADV_SLOTS / 8]);

/* ---- faults on purpose (fault.c) ---- */

/*
 * Requests a socket for a request about faults, or passes it to a target. If target->kind is
 * ADV_CONTROL_FAULT_OPEN, sets *fd to a new socket, which the caller owns. Otherwise sets *fd to
 * -1, and adverbd passes the other end of the newest such socket to the target. Blocks. 0, or errno
 * with a line in why[] and *fd -1:
 * - EPERM: the target belongs to another user.
 * - ENOENT: the target does not exist.
 * - EAGAIN: the target's process has not resumed yet after the worker was replaced, or does not
 *   read its requests.
 * - EPROTO: adverbd is older than this request.
 */
int adv_control_fault(struct adv_control *c, const struct adv_control_fault *target, int *fd,
		      char *why, size_t why_len);

/* If the environment has a fault plan, makes adverbd apply it to the connection manager's packets
 * of this process. Logs a failure. Blocks for a moment. */
void adv_control_tell_faults(struct adv_control *c);

/* Returns a socket that ADV_NOTICE_FAULT announced; the caller closes it. -1: none. */
int adv_control_take_fault(struct adv_control *c);

/* ---- queries (query.c) ---- */

struct adv_control_status {
	uint32_t worker_pid; /* process ID of the worker in adverbd's PID namespace */
	uint32_t keeper_pid;
	uint32_t uid;
	bool system;
	uint32_t clients; /* connections, including this one */
	uint32_t slots_used;
	uint32_t slots_total;
	uint32_t sockets; /* sockets of UDP port 4791 created so far */
	uint32_t blocks_used;
	uint32_t blocks_total;
	uint32_t restarts; /* workers replaced so far */
	uint64_t uptime_ms;
	uint64_t qp1_dropped; /* packets to QP0 and QP1 that have no receiver */
	/* The connection manager. */
	uint32_t cm_clients;
	uint32_t cm_ids;
	uint32_t cm_connections; /* CM IDs that have a peer */
	uint32_t cm_ending;	 /* connections whose CM IDs were destroyed: DREQ sent, TIMEWAIT */
	uint64_t cm_rx;		 /* management datagrams */
	uint64_t cm_tx;
	uint64_t cm_retries;
	uint64_t cm_dropped; /* malformed, without a receiver, or over a backlog */
};

/* Reads the state of adverbd into *status. Blocks. 0 or errno (ECONNRESET). */
int adv_control_status(struct adv_control *c, struct adv_control_status *status);

struct adv_control_entry {
	uint32_t slot;
	uint32_t pid; /* 0: the process is in a pid namespace that adverbd cannot see */
	uint32_t uid;
	uint32_t blocks; /* further blocks of QP numbers that the slot has */
	bool connected;	 /* false: its process has not resumed yet after the worker was replaced */
	uint64_t age_ms;
	char comm[16];
	char device[ADV_CONTROL_DEVICE_LEN]; /* its name */
};

/* Reads the first slot in use whose number is at least `from` into *entry. Blocks. 0; ENOENT if
 * there is no such slot; ECONNRESET. */
int adv_control_list(struct adv_control *c, uint32_t from, struct adv_control_entry *entry);

struct adv_counters;

/*
 * Reads the sums of the counters of all slots of a device, including those of ended processes,
 * since adverbd started. device: its name; NULL: of all devices and, if their file was kept, of
 * earlier daemons of the network namespace. Blocks. 0 or errno.
 */
int adv_control_counters(struct adv_control *c, const char *device, struct adv_counters *sum);

/*
 * Reads the counters of the process that holds a slot. Blocks. 0, or errno:
 * - EPERM: the process belongs to another user, and the caller is not root.
 * - ENOENT: no process holds the slot.
 * - ECONNRESET: adverbd ended.
 */
int adv_control_slot_counters(struct adv_control *c, uint32_t slot, struct adv_counters *counters);

/*
 * Requests a socket of the connection manager (runtime/control/ucma_protocol.h): SOCK_SEQPACKET,
 * close-on-exec, blocking. The caller owns *fd. adverbd treats the socket as a separate client,
 * which ends when the socket is closed, not when c is closed. Blocks. 0, or errno with *fd -1 and a
 * line in why[]:
 * - EUSERS: too many clients exist.
 * - EMFILE or ENOMEM: adverbd has no descriptors or memory left.
 * - ECONNRESET: adverbd ended.
 * - EPROTO: adverbd has no connection manager.
 */
int adv_control_open_cm(struct adv_control *c, int *fd, char *why, size_t why_len);

#endif
