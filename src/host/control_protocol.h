/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control protocol between adverbd and a process: messages of one fixed size over an
 * abstract SOCK_SEQPACKET socket. A client sends requests. adverbd answers each request once and in
 * order, with the request's type and serial. It sends ADV_CONTROL_NOTICE without a request (serial
 * 0). A message of another length, magic or version ends the connection, on either side. Only
 * ADV_CONTROL_REFUSED has the same place and meaning in every version.
 */
#ifndef ADV_HOST_CONTROL_PROTOCOL_H
#define ADV_HOST_CONTROL_PROTOCOL_H

#include <stdint.h>

#include "wire/slot.h"

#define ADV_CONTROL_MAGIC   0x41445643u /* "ADVC" */
#define ADV_CONTROL_VERSION 4
#define ADV_CONTROL_NAME    "adverbd" /* abstract; a user's own: "adverbd-<uid>" */
/* Suffixes of a user's own name. ESTATE: a socket has this name as long as a process holds the
 * sockets of port 4791 for a later adverbd. STARTING: the client that starts one has it. */
#define ADV_CONTROL_NAME_ESTATE	  "-estate"
#define ADV_CONTROL_NAME_STARTING "-starting"
#define ADV_CONTROL_MESSAGE_LEN	  256
#define ADV_CONTROL_TEXT_LEN	  232
#define ADV_CONTROL_TOKEN_LEN	  16

/* The counters of a slot: 64-bit numbers. adverbd adds those with the same index. */
#define ADV_COUNTERS	       64
#define ADV_COUNTERS_A_MESSAGE 28

/* Slots and blocks are those of wire/slot.h. */
#define ADV_SLOT_GROUPS	       64 /* multicast memberships a slot; the kernel may allow fewer */
#define ADV_PAIRS_A_MESSAGE    112
#define ADV_CONTROL_PAIR_READY 0x8000u /* in pairs.peer */

/* What adverbd writes to the descriptor of --ready-fd when it has started: one of these letters,
 * and for FAILED and WAIT a line of text. If it writes nothing, it has died. */
#define ADV_START_READY	 'R' /* it listens */
#define ADV_START_LOST	 'L' /* another daemon holds the name: connect to that */
#define ADV_START_WAIT	 'W' /* clients of an adverbd that has died will start another one */
#define ADV_START_FAILED 'F'

enum adv_control_type {
	ADV_CONTROL_HELLO = 1, /* first; answer: welcome, with the GID table's descriptor */
	ADV_CONTROL_OPEN_SLOT, /* answer: slot, with the socket's descriptor */
	ADV_CONTROL_RESUME,    /* slot: number and token; after the daemon's worker was replaced */
	ADV_CONTROL_JOIN,      /* group */
	ADV_CONTROL_LEAVE,     /* group */
	ADV_CONTROL_STATUS,    /* answer: status */
	ADV_CONTROL_LIST, /* entry.slot: where to begin; answer: the next one in use, or ENOENT */
	ADV_CONTROL_OPEN_CM,  /* answer: a socket for host/ucma_protocol.h */
	ADV_CONTROL_COUNT,    /* slot; answer: with a memfd of ADV_COUNTERS counters */
	ADV_CONTROL_COUNTERS, /* counters.first; answer: the sums of all slots, ended ones too */
	ADV_CONTROL_SENDER,   /* sender: the UDP port from which the slot sends in this machine */
	ADV_CONTROL_PAIR, /* pair: memory with another slot (link/shm.h); answer: its descriptor, or
			   * EAGAIN: a notice follows when the other slot has requested it */
	ADV_CONTROL_PAIRS, /* pairs; answer: pairs */
	ADV_CONTROL_FAULT, /* fault: see host/fault_exchange.h and resource_exchange.h */
	ADV_CONTROL_BLOCK, /* slot.slot: more QP numbers for it; answer: block */
	/* answer: the carrier, to hold as long as the slot: daemon/carrier.h; ENOTSUP: none */
	ADV_CONTROL_ESTATE,
	ADV_CONTROL_NOTICE = 128, /* daemon to client */
	ADV_CONTROL_REFUSED,	  /* daemon to client: text; the connection ends */
};

/* Bits of notice.what */
#define ADV_CONTROL_NOTICE_GIDS	   1u
#define ADV_CONTROL_NOTICE_PORT	   2u
#define ADV_CONTROL_NOTICE_PAIRS   4u  /* query them with ADV_CONTROL_PAIRS */
#define ADV_CONTROL_NOTICE_LEAVING 16u /* adverbd ends on request: start no other one */
/* Comes alone, with a socket. A request for the process's device is queued there: about its fault
 * plan, or for a list of its objects. */
#define ADV_CONTROL_NOTICE_FAULT 8u

/* Whose fault plan the request is about. */
enum adv_control_fault_kind {
	ADV_CONTROL_FAULT_OPEN,	   /* no target yet; answer: a socket for the request */
	ADV_CONTROL_FAULT_SLOT,	   /* the device of the process with this slot */
	ADV_CONTROL_FAULT_PROCESS, /* the connection manager's packets of this process, in adverbd;
				    * 0: of the client's own */
	ADV_CONTROL_FAULT_DAEMON,  /* all packets of QP 1, in adverbd */
	/* Not a plan: a list of the connection manager's objects that the client may see, see
	 * host/resource_exchange.h. Such requests reach slots like those about plans. */
	ADV_CONTROL_FAULT_OBJECTS,
};

struct adv_control_fault {
	uint32_t kind;
	uint32_t number; /* slot, or process id */
};

struct adv_control_message {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	 /* enum adv_control_type */
	uint32_t serial; /* chosen by the client, repeated in the answer */
	int32_t result;	 /* in answers: 0, or errno, and then body.text says why */
	uint64_t reserved;
	union {
		struct {
			uint8_t instance[ADV_CONTROL_TOKEN_LEN]; /* same: same sockets and table */
		} welcome;
		struct {
			uint32_t slot;
			uint32_t receive_buffer; /* bytes, as the kernel counts */
			uint8_t token[ADV_CONTROL_TOKEN_LEN];
		} slot;
		struct {
			uint32_t block;
		} block;
		struct {
			uint32_t slot;
			uint32_t port;
		} sender;
		struct {
			uint32_t slot;
			uint32_t ifindex;
			uint8_t group[16]; /* a GID */
		} group;
		struct {
			uint32_t worker_pid;
			uint32_t keeper_pid;
			uint32_t uid;
			uint32_t system; /* 1: serves all users */
			uint32_t clients;
			uint32_t slots_used;
			uint32_t slots_total;
			uint32_t restarts; /* workers replaced so far */
			uint64_t uptime_ms;
			uint64_t qp1_dropped; /* packets to slot 0 but not to QP1 */
			/* Of the connection manager; 0 in a daemon that has none. */
			uint32_t cm_clients;
			uint32_t cm_ids;
			uint32_t cm_connections; /* ids that have a peer */
			uint32_t cm_ending;	 /* connections whose ids were destroyed */
			uint64_t cm_rx;		 /* management datagrams */
			uint64_t cm_tx;
			uint64_t cm_retries;
			uint64_t cm_dropped; /* malformed, without a receiver, or over a backlog */
			uint32_t sockets;    /* of port 4791, made so far */
			uint32_t blocks_used;
			uint32_t blocks_total;
			uint32_t zero;
		} status;
		struct {
			uint32_t slot;
			uint32_t pid;
			uint32_t uid;
			uint32_t connected; /* 0: its client has not resumed yet */
			uint64_t age_ms;
			char comm[16];
			uint32_t blocks; /* of QP numbers */
			uint32_t zero;
		} entry;
		struct {
			uint32_t first;
			uint32_t count;
			uint64_t value[ADV_COUNTERS_A_MESSAGE];
		} counters;
		struct adv_control_fault fault;
		struct {
			uint32_t slot;
			uint32_t peer; /* another slot */
			uint32_t size; /* in answers: bytes of each ring */
			uint32_t side; /* in answers: 0 or 1 */
		} pair;
		struct {
			uint16_t slot;
			uint16_t from;	/* in requests: the first peer to report */
			uint16_t count; /* in answers; fewer than fit: there are no more */
			uint16_t zero;
			/* Rising slot numbers; with ADV_CONTROL_PAIR_READY: request it with PAIR
			 * now. */
			uint16_t peer[ADV_PAIRS_A_MESSAGE];
		} pairs;
		struct {
			uint32_t what;
		} notice;
		char text[ADV_CONTROL_TEXT_LEN]; /* ends with a NUL */
	} body;
};

_Static_assert(sizeof(struct adv_control_message) == ADV_CONTROL_MESSAGE_LEN,
	       "fixed by the protocol");

#endif
