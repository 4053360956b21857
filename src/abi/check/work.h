/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Outstanding work requests of a queue: posted, and not yet known to the program as completed. All
 * calls need the lock of report.h. */
#ifndef ADV_ABI_CHECK_WORK_H
#define ADV_ABI_CHECK_WORK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "abi/check/stack.h"

/* A queue of outstanding work requests. */
struct adv_check_queue {
	struct adv_list works; /* oldest first */
	uint32_t count;
	uint32_t reads; /* outstanding READs and atomics */
	bool is_recv, is_shared;
};

struct adv_check_object;

struct adv_check_work {
	struct adv_list link;
	uint64_t wr_id;
	struct adv_check_stack posted;
	bool is_recv;
	bool signaled; /* a send request that gives a completion if it succeeds */
	bool is_inline;
	enum ibv_wr_opcode opcode; /* of a send request */
	uint64_t remote_addr;	   /* RDMA and atomics */
	uint32_t rkey;
	uint64_t length;		      /* bytes of all SGEs */
	struct adv_list by_rkey;	      /* remote.h */
	const struct adv_check_object *owner; /* queue pair or SRQ */
	uint32_t *unpolled; /* the CQ's count of completions to come; NULL: this gives none */
	bool reported;	    /* a rule has found its failure already */
	bool freed;	    /* a rule has found that its memory was freed */
	bool has_mark;	    /* the contents at posting were noted, see payload.h */
	uint64_t mark;	    /* hash of the contents at posting */
	uint32_t number;    /* how many requests were posted to the queue pair's queue before it */
	int num_sge;
	struct ibv_sge sge[];
};

void adv_check_queue_init(struct adv_check_queue *q, bool is_recv, bool is_shared);
/* Frees all requests of the queue. */
void adv_check_queue_clear(struct adv_check_queue *q);

/* True if a send request of this opcode fills local memory: a READ or an atomic. */
bool adv_check_opcode_reads(enum ibv_wr_opcode opcode);

/* Appends a request. NULL: no memory; the request is then not observed. */
struct adv_check_work *adv_check_queue_add(struct adv_check_queue *q, uint64_t wr_id,
					   const struct ibv_sge *sge, int num_sge,
					   const struct adv_check_stack *posted);
/* Removes and frees the newest `count` requests, which could not be posted. */
void adv_check_queue_drop_newest(struct adv_check_queue *q, uint32_t count);

/* Returns the oldest request with this wr_id, or NULL. */
struct adv_check_work *adv_check_queue_find(const struct adv_check_queue *q, uint64_t wr_id);
/* Removes and frees a request. */
void adv_check_queue_remove(struct adv_check_queue *q, struct adv_check_work *w);

#endif
