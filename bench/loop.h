/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs that are connected with others of the same process, by plain verbs: traffic
 * without a second program, on one core, so that what is measured does not depend on where the
 * machine puts two. Any failure ends the program with a line on standard error.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct loop {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	union ibv_gid gid;
	uint8_t *buffer; /* registered: the first half to send from, the second to write to */
	size_t length;
	struct ibv_mr *mr;
	unsigned pairs;
	unsigned depth; /* requests that may be outstanding, of all queue pairs together */
	int own_context;
	struct ibv_qp **qp; /* 2 * pairs: qp[2 * i] is connected with qp[2 * i + 1] */
};

/* The first device, opened. */
struct ibv_context *loop_open_device(void);

/* Makes all of it on the device, or where this is NULL opens one. Free with loop_close(). */
void loop_open(struct loop *l, struct ibv_context *context, unsigned pairs, unsigned depth,
	       size_t length, enum ibv_mtu mtu);
void loop_close(struct loop *l);

/* Takes a queue pair in RESET to RTS, its peer being a queue pair of the same device. */
void loop_connect(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, enum ibv_mtu mtu);

/* One SEND or WRITE of `bytes` from qp[i] to its peer, signaled, inline if `bytes` is small. */
void loop_post(struct loop *l, unsigned i, enum ibv_wr_opcode opcode, uint32_t bytes);
/* One receive request of up to half the buffer. */
void loop_post_recv(struct loop *l, unsigned i);

/* Takes up to n completions, all of which must have succeeded; how many. */
int loop_poll(struct ibv_cq *cq, int n);
/* Polls until `count` have come. */
void loop_await(struct ibv_cq *cq, unsigned count);

#endif
