/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control protocol between adverbd and a process: messages of one fixed size over an
 * abstract SOCK_SEQPACKET socket. A client sends requests. adverbd answers each request once and in
 * order, with the request's type and serial. It sends ADV_CONTROL_NOTICE without a request (serial
 * 0). A message of another length, magic or version ends the connection, on either side. Only
 * ADV_CONTROL_REFUSED has the same place and meaning in every version.
 */
#ifndef ADV_RUNTIME_CONTROL_PROTOCOL_H
#define ADV_RUNTIME_CONTROL_PROTOCOL_H

#include <stdint.h>

#include "nic/wire/slot.h"

#define ADV_CONTROL_MAGIC   0x41445643u /* "ADVC" */
#define ADV_CONTROL_VERSION 12
#define ADV_CONTROL_NAME    "adverbd" /* abstract; a user's own: "adverbd-<uid>" */
/* Suffixes of the name of a user's own adverbd. ESTATE: a socket has this name as long as a process
 * holds the sockets of port 4791 for a later adverbd. STARTING: the client that starts such an
 * adverbd holds this name. */
#define ADV_CONTROL_NAME_ESTATE	  "-estate"
#define ADV_CONTROL_NAME_STARTING "-starting"
#define ADV_CONTROL_MESSAGE_LEN	  256
#define ADV_CONTROL_TEXT_LEN	  232
#define ADV_CONTROL_TOKEN_LEN	  16
#define ADV_CONTROL_DEVICE_LEN	  64 /* of the name of a device, with its NUL */

/* Number of counters of a slot, 64 bits each. adverbd adds the counters of the same index. */
#define ADV_COUNTERS	       192
#define ADV_COUNTERS_A_MESSAGE 19

/* Slots and blocks are those of nic/wire/slot.h. */
#define ADV_SLOT_GROUPS	       64 /* multicast memberships of a slot; the kernel may allow fewer */
#define ADV_PAIRS_A_MESSAGE    112
#define ADV_CONTROL_PAIR_READY 0x8000u /* in pairs.peer */

/* adverbd writes one of these letters to the descriptor of --ready-fd at the end of its start. A
 * line of text follows FAILED and WAIT. If it writes nothing, it has died. */
#define ADV_START_READY	 'R' /* adverbd listens */
#define ADV_START_LOST	 'L' /* another adverbd holds the name: connect to that one */
#define ADV_START_WAIT	 'W' /* clients of a dead adverbd will start another one */
#define ADV_START_FAILED 'F'

enum adv_control_type {
	ADV_CONTROL_HELLO = 1, /* first request; answer: welcome, with the GID table's descriptor */
	ADV_CONTROL_OPEN_SLOT, /* slot.device; answer: slot, with the socket's descriptor */
	ADV_CONTROL_RESUME,    /* slot: number and token; after the daemon's worker was replaced */
	ADV_CONTROL_JOIN,      /* group */
	ADV_CONTROL_LEAVE,     /* group */
	ADV_CONTROL_STATUS,    /* answer: status */
	ADV_CONTROL_LIST,      /* entry.slot: first slot; answer: next slot in use, or ENOENT */
	ADV_CONTROL_OPEN_CM,   /* answer: a socket for runtime/control/ucma_protocol.h */
	ADV_CONTROL_COUNT,     /* slot; the answer has a memfd of ADV_COUNTERS counters */
	ADV_CONTROL_COUNTERS,  /* counters.first, slot, device; answer: the counters of the slot,
				  or for slot 0 the sums of all slots, also of ended processes; if
				  a device is named, of its slots */
	ADV_CONTROL_SENDER, /* sender: the UDP port from which the slot sends within this machine */
	ADV_CONTROL_PAIR, /* pair: memory shared with another slot (runtime/link/shm.h); answer: its
			     descriptor, or EAGAIN: a notice follows when the other slot has
			     requested the memory */
	ADV_CONTROL_PAIRS, /* pairs; answer: pairs */
	ADV_CONTROL_FAULT, /* fault: see fault_exchange.h and resource_exchange.h */
	ADV_CONTROL_BLOCK, /* slot.slot: requests more QP numbers for the slot; answer: block */
	/* answer: the carrier (runtime/keeper/carrier.h), which the client holds as long as the
	 * slot; ENOTSUP: adverbd has none */
	ADV_CONTROL_ESTATE,
	ADV_CONTROL_NEIGHBOUR, /* neighbour: finds a MAC address for RoCE v1; EAGAIN: the kernel is
				  resolving it, ask again later */
	ADV_CONTROL_NOTICE = 128, /* daemon to client */
	ADV_CONTROL_REFUSED,	  /* daemon to client: text; the connection ends */
};

/* Bits of notice.what */
#define ADV_CONTROL_NOTICE_GIDS	   1u
#define ADV_CONTROL_NOTICE_PORT	   2u
#define ADV_CONTROL_NOTICE_PAIRS   4u  /* query them with ADV_CONTROL_PAIRS */
#define ADV_CONTROL_NOTICE_LEAVING 16u /* adverbd ends on request: do not start another one */
/* No other bit is set with this one. The notice has a socket in which a request for the process's
 * device is queued: about its fault plan, or for a list of its objects. */
#define ADV_CONTROL_NOTICE_FAULT 8u

/* The target of a request about a fault plan. */
enum adv_control_fault_kind {
	ADV_CONTROL_FAULT_OPEN,	   /* no target yet; answer: a socket for the request */
	ADV_CONTROL_FAULT_SLOT,	   /* the device of the process with this slot */
	ADV_CONTROL_FAULT_PROCESS, /* the connection manager's packets of this process, in adverbd;
				      0: of the client's own process */
	ADV_CONTROL_FAULT_DAEMON,  /* all packets of QP 1, in adverbd */
	/* Not a request about a plan: lists the connection manager's objects that the client may
	 * see, see runtime/exchange/resource_exchange.h. With ADV_CONTROL_FAULT_SLOT, such requests
	 * reach a slot's device. */
	ADV_CONTROL_FAULT_OBJECTS,
	/* Not a request about a plan: captures each slot that is opened later, as long as the
	 * client is connected, see runtime/exchange/capture_exchange.h. */
	ADV_CONTROL_FAULT_CAPTURES,
};

struct adv_control_fault {
	uint32_t kind;
	uint32_t number; /* slot number or process id, by kind */
};

struct adv_control_message {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	 /* enum adv_control_type */
	uint32_t serial; /* chosen by the client, repeated in the answer */
	int32_t result;	 /* in answers: 0, or errno with the reason in body.text */
	uint64_t reserved;
	union {
		struct {
			uint8_t instance[ADV_CONTROL_TOKEN_LEN]; /* the same value means the same
								    sockets and the same table */
		} welcome;
		struct {
			uint32_t slot;
			uint32_t receive_buffer; /* bytes, in the kernel's count */
			uint8_t token[ADV_CONTROL_TOKEN_LEN];
			char device[ADV_CONTROL_DEVICE_LEN];
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
			uint8_t sgid[16]; /* own address */
			uint8_t dgid[16];
			uint32_t ifindex; /* of sgid */
			uint8_t mac[6];	  /* in answers */
			uint8_t zero[2];
		} neighbour;
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
			uint64_t qp1_dropped; /* packets to slot 0, except those to QP1 */
			/* Of the connection manager; 0 in a daemon that has none. */
			uint32_t cm_clients;
			uint32_t cm_ids;
			uint32_t cm_connections; /* ids that have a peer */
			uint32_t cm_ending;	 /* connections whose ids were destroyed */
			uint64_t cm_rx;		 /* management datagrams */
			uint64_t cm_tx;
			uint64_t cm_retries;
			uint64_t cm_dropped; /* malformed, without a receiver, or over a backlog */
			uint32_t sockets;    /* sockets of port 4791 made so far */
			uint32_t blocks_used;
			uint32_t blocks_total;
			uint32_t zero;
		} status;
		struct {
			uint32_t slot;
			uint32_t pid;
			uint32_t uid;
			uint32_t connected; /* 0: the client has not resumed the slot yet */
			uint64_t age_ms;
			char comm[16];
			uint32_t blocks; /* number of blocks of QP numbers */
			uint32_t zero;
			char device[ADV_CONTROL_DEVICE_LEN];
		} entry;
		struct {
			uint32_t first;
			uint32_t count;
			uint32_t slot; /* 0: all */
			uint32_t zero;
			char device[ADV_CONTROL_DEVICE_LEN]; /* "": all */
			uint64_t value[ADV_COUNTERS_A_MESSAGE];
		} counters;
		struct adv_control_fault fault;
		struct {
			uint32_t slot;
			uint32_t peer;	  /* another slot */
			uint32_t size;	  /* in answers: bytes of each ring */
			uint32_t side;	  /* in answers: 0 or 1 */
			uint32_t process; /* in answers: id of the peer's process, if it has the
					   * same user; else 0 */
		} pair;
		struct {
			uint16_t slot;
			uint16_t from;	/* in requests: the first peer to report */
			uint16_t count; /* in answers; if less than ADV_PAIRS_A_MESSAGE, the query
					   is complete */
			uint16_t zero;
			/* Slot numbers in rising order. If ADV_CONTROL_PAIR_READY is set, the pair
			 * can be requested with PAIR now. */
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
