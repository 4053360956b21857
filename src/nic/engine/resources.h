/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of an engine's objects, like the kernel's resource tracking. The functions change
 * nothing and need the engine's lock. */
#ifndef ADV_NIC_ENGINE_RESOURCES_H
#define ADV_NIC_ENGINE_RESOURCES_H

#include <stdint.h>

#include "nic/engine/engine.h"

struct adv_engine;

enum adv_resource_kind {
	ADV_RESOURCE_QP,
	ADV_RESOURCE_CQ,
	ADV_RESOURCE_MR, /* regions, not windows */
	ADV_RESOURCE_PD,
	ADV_RESOURCE_SRQ,
	ADV_RESOURCE_CTX,   /* contexts of the device; an engine has none */
	ADV_RESOURCE_CM_ID, /* CM IDs of adverbd */
	ADV_RESOURCE_KINDS,
	/* One entry for each kind: `type` is the kind, `users` the number of its objects. */
	ADV_RESOURCE_SUMMARY = ADV_RESOURCE_KINDS,
	/* Histograms of queue pairs in pieces: an entry for each piece with a count. */
	ADV_RESOURCE_LATENCY,
	ADV_RESOURCE_LAST = ADV_RESOURCE_LATENCY,
};

#define ADV_RESOURCE_PIECES   2						  /* of a histogram */
#define ADV_RESOURCE_BUCKETS  (ADV_LATENCY_BUCKETS / ADV_RESOURCE_PIECES) /* in a piece */
#define ADV_RESOURCE_SOCKADDR 28 /* bytes of struct sockaddr_in6 */

/* Kind of a queue pair's newest error. */
enum adv_qp_error_kind {
	ADV_QP_ERROR_NONE,
	ADV_QP_ERROR_SEND,  /* a send request failed; status: enum ibv_wc_status */
	ADV_QP_ERROR_RECV,  /* a receive request failed; status: enum ibv_wc_status */
	ADV_QP_ERROR_EVENT, /* an asynchronous error; status: enum ibv_event_type */
};

/* Bits of adv_object_qp.flags */
enum adv_qp_flag {
	ADV_QP_RNR_WAIT = 1,	   /* the requester waits for the RNR NAK timer */
	ADV_QP_UNANSWERED = 2,	   /* nothing was acknowledged since the last timeout */
	ADV_QP_LOCAL_PEER = 4,	   /* the peer has an address of this machine */
	ADV_QP_ERROR_MEMORY = 8,   /* the newest error has error_rkey, error_va and error_length */
	ADV_QP_IWARP = 16,	   /* a queue pair of iWARP: the members named stream_* are set */
	ADV_QP_STREAM = 32,	   /* iWARP: it has a connection, between sgid and dgid */
	ADV_QP_FIRST_AWAITED = 64, /* iWARP: it may send nothing before the peer has sent */
};

/* Numbers of requests and packets are free running, modulo the size of the member. */
struct adv_object_qp {
	uint32_t remote; /* QP number of the peer; RC, UC, XRC */
	uint32_t rq_psn; /* next expected PSN */
	uint32_t sq_psn; /* PSN of the next packet */
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t srq;
	uint32_t una_psn;	 /* oldest unacknowledged PSN */
	uint32_t mtu;		 /* path MTU, bytes */
	uint32_t window;	 /* most packets in flight; RC, XRC */
	uint32_t in_flight;	 /* packets that are not acknowledged; RC, XRC */
	uint32_t send_room;	 /* size of the send queue */
	uint32_t send_posted;	 /* send requests posted since the QP left RESET */
	uint32_t send_done;	 /* of these: completed */
	uint32_t recv_room;	 /* size of the receive queue */
	uint32_t recv_posted;	 /* receive requests posted since the QP left RESET */
	uint32_t recv_done;	 /* of these: used by a message */
	uint32_t msn;		 /* messages received, 24 bits; RC, XRC */
	uint32_t request_length; /* oldest outstanding request, bytes */
	uint8_t request;	 /* its enum ibv_wr_opcode, if send_posted != send_done */
	uint8_t flags;		 /* enum adv_qp_flag */
	uint8_t timeout;	 /* Local ACK Timeout, as in struct ibv_qp_attr */
	uint8_t retry_cnt;
	uint8_t retry_left;
	uint8_t rnr_retry; /* 7: no limit */
	uint8_t rnr_left;
	uint8_t sgid_index;
	uint8_t sgid[16];
	uint8_t dgid[16];     /* address of the peer */
	uint64_t error_at;    /* time of the newest error, ns of CLOCK_MONOTONIC on a device */
	uint64_t error_wr_id; /* wr_id of the failed request */
	uint8_t error_kind;   /* enum adv_qp_error_kind */
	uint8_t error_status; /* by kind */
	uint8_t error_cause;  /* enum adv_vendor_err */
	uint8_t error_opcode; /* send request: enum ibv_wr_opcode */
	/* Memory of the responder to which it refused access. */
	uint32_t error_rkey;
	uint32_t error_length; /* bytes; 0: not known */
	uint64_t error_va;
	uint32_t send_held; /* slots of the send queue that no request can be posted to: requests
			       that are outstanding, or whose slots no polled completion freed */
	/* The TCP connection of an iWARP queue pair. */
	uint16_t stream_local; /* ports */
	uint16_t stream_peer;
	uint32_t stream_queued; /* bytes that the peer's TCP has not acknowledged */
	uint32_t stream_acked;	/* bytes that it has acknowledged, modulo 2^32 */
	uint8_t stream_retries; /* how often the oldest segment was sent again */
	/* The QP's share of each counter of struct adv_engine_counters, in its order. Counters that
	 * the fast path increments have no share: tx_packets, rx_packets, rx_write_requests. */
	uint32_t share[ADV_ENGINE_COUNTERS];
};

/* Description of one object. All numbers are in host order. The number of a QP is its QP number.
 * The engine numbers other objects from 1; 0: none. */
struct adv_object {
	uint32_t number;
	uint32_t slot;	/* slot of the process; the caller fills it in. In the answer of a process:
			   slot to which `pd` and `context` belong; 0: that of the answer */
	uint32_t pid;	/* PID of the process; the caller fills it in. 0: the process is in a PID
			   namespace that adverbd cannot see */
	uint32_t pd;	/* QP, MR, SRQ */
	uint32_t users; /* CQ, PD: number of objects that use it */
	uint32_t context; /* number of the owning context; an engine does not know it */
	uint8_t type;  /* QP: enum ibv_qp_type; SRQ: enum ibv_srq_type; CM_ID: enum ibv_qp_type */
	uint8_t state; /* QP: enum ibv_qp_state; CM_ID: as the kernel's enum rdma_cm_state */
	uint8_t path_mig_state; /* QP: enum ibv_mig_state */
	uint8_t port;		/* QP, CM_ID: 0: not set yet */
	union {
		struct adv_object_qp qp;
		struct {
			uint32_t cqe;
			uint32_t waiting; /* completions that are not polled yet */
			uint32_t overrun; /* 1: the CQ was full when a completion was added */
		} cq;
		struct {
			uint32_t lkey;
			uint32_t rkey;
			uint64_t iova;
			uint64_t length;
			uint32_t access; /* enum ibv_access_flags */
		} mr;
		struct {
			uint32_t cq;	 /* CQ of an SRQ in an XRC domain */
			uint32_t room;	 /* max_wr */
			uint32_t posted; /* receive requests that no message uses yet */
		} srq;
		struct {
			uint32_t port_space;		       /* enum rdma_port_space */
			uint32_t qpn;			       /* 0: none */
			uint8_t local[ADV_RESOURCE_SOCKADDR];  /* family 0: none */
			uint8_t remote[ADV_RESOURCE_SOCKADDR]; /* both as struct sockaddr_in or
								  sockaddr_in6 */
		} cm_id;
		struct {
			uint32_t first; /* bucket of count[0], see latency.h */
			/* completed send requests of the QP, modulo 2^32 */
			uint32_t count[ADV_RESOURCE_BUCKETS];
		} latency;
		uint8_t room[352];
	};
};

_Static_assert(ADV_RESOURCE_PIECES *ADV_RESOURCE_BUCKETS == ADV_LATENCY_BUCKETS, "whole pieces");
_Static_assert(sizeof(struct adv_object) == 384, "fixed by the protocol of tools");

#define ADV_RESOURCES_END UINT64_MAX

/*
 * Writes at most `room` objects of a kind to out[], and their owners to owners[] (see
 * adv_engine_set_owner()). Returns the number of objects. *from is the position: 0 for the first
 * call. The function sets it to the position of the next call, or to ADV_RESOURCES_END. The work of
 * a call is bounded, so a call may return 0 before the end. If objects are created or destroyed
 * between two calls, others may be missed or reported twice.
 */
unsigned adv_engine_resources(const struct adv_engine *e, enum adv_resource_kind kind,
			      uint64_t *from, struct adv_object *out, const void **owners,
			      unsigned room);

#endif
