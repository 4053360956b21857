/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control protocol between adverbd and a process: messages of one fixed size over an
 * abstract SOCK_SEQPACKET socket. A client asks, the daemon answers each request once and in
 * order, with the request's type and serial; ADV_CONTROL_NOTICE comes unasked (serial 0).
 * A message of another length, magic or version ends the connection, on either side; only
 * ADV_CONTROL_REFUSED keeps its place and meaning in every version.
 */
#ifndef ADV_HOST_CONTROL_PROTOCOL_H
#define ADV_HOST_CONTROL_PROTOCOL_H

#include <stdint.h>

#include "wire/slot.h"

#define ADV_CONTROL_MAGIC   0x41445643u /* "ADVC" */
#define ADV_CONTROL_VERSION 4
#define ADV_CONTROL_NAME    "adverbd" /* abstract; a user's own: "adverbd-<uid>" */
/* Further names, behind a user's own: that of the sockets of port 4791, as long as anybody holds
 * them for a daemon, and that of the client which is starting another one for them. */
#define ADV_CONTROL_NAME_ESTATE	  "-estate"
#define ADV_CONTROL_NAME_STARTING "-starting"
#define ADV_CONTROL_MESSAGE_LEN	  256
#define ADV_CONTROL_TEXT_LEN	  232
#define ADV_CONTROL_TOKEN_LEN	  16

/* What a slot counts: 64-bit numbers, which the daemon adds up by their places. */
#define ADV_COUNTERS	       64
#define ADV_COUNTERS_A_MESSAGE 28

/* Slots and blocks are those of wire/slot.h. */
#define ADV_SLOT_GROUPS	       64 /* multicast memberships a slot; the kernel may allow fewer */
#define ADV_PAIRS_A_MESSAGE    112
#define ADV_CONTROL_PAIR_READY 0x8000u /* in pairs.peer */

/* How adverbd tells its starter, on the descriptor of --ready-fd, what became of it: one of these
 * letters, and for FAILED and WAIT a line of text. Nothing at all: it died. */
#define ADV_START_READY	 'R' /* it listens */
#define ADV_START_LOST	 'L' /* another daemon holds the name: connect to that */
#define ADV_START_WAIT	 'W' /* and a line: clients of one that has died will start another */
#define ADV_START_FAILED 'F'

enum adv_control_type {
	ADV_CONTROL_HELLO = 1, /* first; answer: welcome, with the GID table's descriptor */
	ADV_CONTROL_OPEN_SLOT, /* answer: slot, with the socket's descriptor */
	ADV_CONTROL_RESUME,    /* slot: number and token; after the daemon's worker was replaced */
	ADV_CONTROL_JOIN,      /* group */
	ADV_CONTROL_LEAVE,     /* group */
	ADV_CONTROL_STATUS,    /* answer: status */
	ADV_CONTROL_LIST, /* entry.slot: the first to look at; answer: the next in use, or ENOENT */
	ADV_CONTROL_OPEN_CM,  /* answer: a socket for host/ucma_protocol.h */
	ADV_CONTROL_COUNT,    /* slot; answer: with a memfd of ADV_COUNTERS numbers to count in */
	ADV_CONTROL_COUNTERS, /* counters.first; answer: all slots' added up, of all times */
	ADV_CONTROL_SENDER,   /* sender: from which UDP port the slot sends within the machine */
	ADV_CONTROL_PAIR, /* pair: memory with another slot (link/shm.h); answer: its descriptor, or
			   * EAGAIN: the other has yet to ask, and a notice will tell */
	ADV_CONTROL_PAIRS, /* pairs; answer: pairs */
	ADV_CONTROL_FAULT, /* fault: see host/fault_exchange.h and resource_exchange.h */
	ADV_CONTROL_BLOCK, /* slot.slot: more QP numbers for it; answer: block */
	/* answer: a socket to be kept, as long as a slot is had: daemon/carrier.h; ENOTSUP: none */
	ADV_CONTROL_ESTATE,
	ADV_CONTROL_NOTICE = 128, /* daemon to client */
	ADV_CONTROL_REFUSED,	  /* daemon to client: text; the connection ends */
};

/* Bits of notice.what */
#define ADV_CONTROL_NOTICE_GIDS	   1u
#define ADV_CONTROL_NOTICE_PORT	   2u
#define ADV_CONTROL_NOTICE_PAIRS   4u  /* ask with ADV_CONTROL_PAIRS what there is */
#define ADV_CONTROL_NOTICE_LEAVING 16u /* it is told to end: not to be started anew */
/* Alone, with a socket: a request of `adverb fault`, or one for what there is, waits there for the
 * process's device. */
#define ADV_CONTROL_NOTICE_FAULT 8u

/* Whose plan is meant. */
enum adv_control_fault_kind {
	ADV_CONTROL_FAULT_OPEN,	   /* nobody's yet; answer: a socket, for the request */
	ADV_CONTROL_FAULT_SLOT,	   /* that of the process with this slot, of its device */
	ADV_CONTROL_FAULT_PROCESS, /* what adverbd does with its connection manager's packets; 0:
				      one's own */
	ADV_CONTROL_FAULT_DAEMON,  /* what adverbd does with all packets of QP 1 */
	/* Not a plan: the connection manager's objects that the asker may see, see
	 * host/resource_exchange.h. Its requests go to slots as those about plans do. */
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
			uint64_t qp1_dropped; /* packets to slot 0 that were none for QP1 */
			/* Of the connection manager; 0 in a daemon that has none. */
			uint32_t cm_clients;
			uint32_t cm_ids;
			uint32_t cm_connections; /* ids that have a peer */
			uint32_t cm_ending;	 /* connections whose ids are gone */
			uint64_t cm_rx;		 /* management datagrams */
			uint64_t cm_tx;
			uint64_t cm_retries;
			uint64_t cm_dropped; /* malformed, for nobody, or over a backlog */
			uint32_t sockets;    /* of port 4791, made so far */
			uint32_t blocks_used;
			uint32_t blocks_total;
			uint32_t zero;
		} status;
		struct {
			uint32_t slot;
			uint32_t pid;
			uint32_t uid;
			uint32_t connected; /* 0: its client is yet to resume */
			uint64_t age_ms;
			char comm[16];
			uint32_t blocks; /* that it has */
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
			uint32_t peer; /* another slot, or for BELL the same */
			uint32_t size; /* in answers: bytes of each ring */
			uint32_t side; /* in answers: 0 or 1 */
		} pair;
		struct {
			uint16_t slot;
			uint16_t from;	/* in requests: the first peer to be told of */
			uint16_t count; /* in answers; less than there is room for: no more */
			uint16_t zero;
			/* Rising slot numbers; with ADV_CONTROL_PAIR_READY: yet to be fetched with
			 * PAIR. */
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
