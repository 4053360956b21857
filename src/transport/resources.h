/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The objects of an engine, described like the kernel's resource tracking. Read only; under the
 * engine's lock. */
#ifndef ADV_TRANSPORT_RESOURCES_H
#define ADV_TRANSPORT_RESOURCES_H

#include <stdint.h>

struct adv_engine;

enum adv_resource_kind {
	ADV_RESOURCE_QP,
	ADV_RESOURCE_CQ,
	ADV_RESOURCE_MR, /* regions, not windows */
	ADV_RESOURCE_PD,
	ADV_RESOURCE_SRQ,
	ADV_RESOURCE_CTX,   /* of the device; an engine has none */
	ADV_RESOURCE_CM_ID, /* of adverbd */
	ADV_RESOURCE_KINDS,
	/* One object for each kind: its kind (type) and the number of its objects (users). */
	ADV_RESOURCE_SUMMARY = ADV_RESOURCE_KINDS,
};

#define ADV_RESOURCE_SOCKADDR 28 /* of struct sockaddr_in6 */

/* One object. Numbers are in host order. A QP's number is its QP number; the engine numbers other
 * objects from 1, and 0 stands for none. */
struct adv_object {
	uint32_t number;
	uint32_t slot;	  /* of the process; the caller fills it in */
	uint32_t pid;	  /* of the process, filled in by the caller; 0: in a namespace that adverbd
			     cannot see */
	uint32_t pd;	  /* QP, MR, SRQ */
	uint32_t users;	  /* CQ, PD: objects that use it */
	uint32_t context; /* owner; an engine does not know it */
	uint8_t type;  /* QP: enum ibv_qp_type; SRQ: enum ibv_srq_type; CM_ID: enum ibv_qp_type */
	uint8_t state; /* QP: enum ibv_qp_state; CM_ID: as the kernel's enum rdma_cm_state */
	uint8_t path_mig_state; /* QP: enum ibv_mig_state */
	uint8_t port;		/* QP, CM_ID: 0: not set yet */
	union {
		struct {
			uint32_t remote; /* QP number of the peer; RC, UC, XRC */
			uint32_t rq_psn; /* next expected */
			uint32_t sq_psn; /* of the next packet */
			uint32_t send_cq;
			uint32_t recv_cq;
			uint32_t srq;
		} qp;
		struct {
			uint32_t cqe;
		} cq;
		struct {
			uint32_t lkey;
			uint32_t rkey;
			uint64_t iova;
			uint64_t length;
		} mr;
		struct {
			uint32_t cq; /* of an XRC domain's */
		} srq;
		struct {
			uint32_t port_space;		       /* enum rdma_port_space */
			uint32_t qpn;			       /* 0: none */
			uint8_t local[ADV_RESOURCE_SOCKADDR];  /* family 0: none */
			uint8_t remote[ADV_RESOURCE_SOCKADDR]; /* as struct sockaddr_in(6) */
		} cm_id;
		uint8_t room[64];
	};
};

_Static_assert(sizeof(struct adv_object) == 96, "fixed by the protocol of host/resources.h");

#define ADV_RESOURCES_END UINT64_MAX

/*
 * Writes at most `room` objects of a kind, and to owners[] the owner of each (see
 * adv_engine_set_owner()). Returns how many. *from: 0 at first; then the position to continue at,
 * or ADV_RESOURCES_END. The work of a call is bounded: it may return 0 before the end. If objects
 * are created or destroyed between two calls, others may be missed or reported twice.
 */
unsigned adv_engine_resources(const struct adv_engine *e, enum adv_resource_kind kind,
			      uint64_t *from, struct adv_object *out, const void **owners,
			      unsigned room);

#endif
