/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs connected within one process, by plain verbs: traffic without a second program, on
 * one core, so that the placement of two processes does not change the figures. A failure ends the
 * program with a line on standard error.
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
	uint8_t *buffer; /* registered; the first half is sent, the second half is written to */
	size_t length;
	struct ibv_mr *mr;
	unsigned pairs;
	unsigned depth; /* limit of outstanding requests of all queue pairs together */
	int own_context;
	struct ibv_qp **qp; /* 2 * pairs: qp[2 * i] is connected with qp[2 * i + 1] */
};

/* Opens the first device. */
struct ibv_context *loop_open_device(void);

/* Creates everything on the device, or on a device that it opens if NULL. End: loop_close(). */
void loop_open(struct loop *l, struct ibv_context *context, unsigned pairs, unsigned depth,
	       size_t length, enum ibv_mtu mtu);
void loop_close(struct loop *l);

/* Moves a queue pair from RESET to RTS; its peer is a queue pair of the same device. */
void loop_connect(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, enum ibv_mtu mtu);

/* Posts a signaled SEND or WRITE of `bytes` from qp[i], inline if it is small. */
void loop_post(struct loop *l, unsigned i, enum ibv_wr_opcode opcode, uint32_t bytes);
/* Posts a receive request of up to half the buffer. */
void loop_post_recv(struct loop *l, unsigned i);

/* Polls up to n completions, which must be successes; returns their number. */
int loop_poll(struct ibv_cq *cq, int n);
/* Polls until it has `count` completions. */
void loop_await(struct ibv_cq *cq, unsigned count);

#endif
