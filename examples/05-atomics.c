/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lesson 5: FETCH_ADD by two processes on one counter, and a lock by CMP_SWP. */
#include <stddef.h>
#include "pair.h"

#define ADDS 1000

/* The server's memory. The client's memory, too: it uses only `result`. */
struct words {
	uint64_t counter;
	uint64_t lock;
	uint64_t result; /* the value before the atomic operation */
};

/* Executes an atomic operation on a word of the server, by a queue pair that leads there. */
static uint64_t atomic(struct pair *p, struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct words *mine = (struct words *)p->memory;
	struct ibv_sge sge = {(uintptr_t)&mine->result, sizeof(mine->result), p->mr->lkey};
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	errno = ibv_post_send(qp, &wr, &bad);
	check(!errno, "ibv_post_send");
	complete_well(p->cq, "atomic operation");
	return mine->result;
}

/* Adds 1 to the counter ADDS times. Returns how many values were not above the last one. */
static int add(struct pair *p, struct ibv_qp *qp, uint64_t address, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = {.remote_addr = address, .rkey = rkey, .compare_add = 1}};
	uint64_t last = atomic(p, qp, wr);
	int wrong = 0;

	for (int i = 1; i < ADDS; i++) {
		uint64_t value = atomic(p, qp, wr);

		wrong += value <= last;
		last = value;
	}
	return wrong;
}

static void client(struct pair *p)
{
	struct ibv_send_wr swap = {
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr.atomic = {.remote_addr = p->peer.address + offsetof(struct words, lock),
			      .rkey = p->peer.rkey,
			      .compare_add = 0,
			      .swap = 1}};
	int wrong;

	meet(p); /* 1: both begin at the same time */
	wrong = add(p, p->qp, p->peer.address + offsetof(struct words, counter), p->peer.rkey);
	say(p, "%d additions, %d wrong values", ADDS, wrong);
	meet(p); /* 2: the server prints */
	meet(p); /* 3 */
	say(p, "first swap: the lock was %d", (int)atomic(p, p->qp, swap));
	say(p, "second swap: the lock was %d", (int)atomic(p, p->qp, swap));
}

/* The server's own additions use a queue pair that is connected to itself. */
static void server(struct pair *p)
{
	struct words *words = (struct words *)p->memory;
	struct ibv_qp *self = create_qp(p->pd, p->cq);
	struct end end = describe(self);
	struct ibv_qp_attr attr = attributes(p->context, &end, &end);
	int wrong;

	connect_qp(self, &attr);
	meet(p); /* 1 */
	wrong = add(p, self, (uintptr_t)&words->counter, p->mr->rkey);
	meet(p); /* 2 */
	say(p, "%d additions, %d wrong values; the counter is %d", ADDS, wrong,
	    (int)words->counter);
	meet(p); /* 3 */
	check(!ibv_destroy_qp(self), "ibv_destroy_qp");
}

int main(int argc, char **argv)
{
	struct pair p;

	pair_open(&p);
	pair_connect(&p);
	if (is_client(&p))
		client(&p);
	else
		server(&p);
	pair_stay(&p, argc, argv);
	return pair_close(&p);
}
