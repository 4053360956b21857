/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an engine has: its objects, told as the kernel tells of those of a card (what it calls
 * resource tracking). Read only; under the engine's lock. */
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
	/* For each kind that there is one: how many (users) there are of it (type). */
	ADV_RESOURCE_SUMMARY = ADV_RESOURCE_KINDS,
};

#define ADV_RESOURCE_SOCKADDR 28 /* of struct sockaddr_in6 */

/*
 * One object. Numbers are host order. Those of QPs are QP numbers; those of other objects were
 * given by the engine, from 1 on, and 0 stands for none.
 */
struct adv_object {
	uint32_t number;
	uint32_t slot;	  /* of the process; filled in by who asks */
	uint32_t pid;	  /* the same; 0: in a namespace that adverbd cannot see */
	uint32_t pd;	  /* QP, MR, SRQ */
	uint32_t users;	  /* CQ, PD: objects that use it */
	uint32_t context; /* whose it is; an engine does not know */
	uint8_t type;  /* QP: enum ibv_qp_type; SRQ: enum ibv_srq_type; CM_ID: enum ibv_qp_type */
	uint8_t state; /* QP: enum ibv_qp_state; CM_ID: as the kernel's enum rdma_cm_state */
	uint8_t path_mig_state; /* QP: enum ibv_mig_state */
	uint8_t port;		/* QP, CM_ID: 0: not set yet */
	union {
		struct {
			uint32_t remote; /* QP number of the peer; RC, UC, XRC */
			uint32_t rq_psn; /* the next that is expected */
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
 * Writes objects of a kind, `room` of them at most, and returns how many; and whose each of them
 * is, see adv_engine_set_owner(), to owners[]. *from: 0 at first, and
 * then where to go on, or ADV_RESOURCES_END. Bounded work: it may be none though there are more.
 * Between two calls objects may come and go; some of the others can be missed then, or come twice.
 */
unsigned adv_engine_resources(const struct adv_engine *e, enum adv_resource_kind kind,
			      uint64_t *from, struct adv_object *out, const void **owners,
			      unsigned room);

#endif
