/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two connected queue pairs of one process over loopback, for the programs of this folder. Their
 * attributes are chosen so that no rule finds anything. A call that must succeed and fails ends the
 * program with status 2.
 */
#ifndef ADV_TESTS_CHECK_PAIR_H
#define ADV_TESTS_CHECK_PAIR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_SIZE 65536
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel; /* NULL unless requested */
	struct ibv_cq *cq;		  /* of sends and receives */
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* of buf, with ALL_ACCESS */
	uint8_t *buf;	   /* BUFFER_SIZE bytes */
	int gid_index;
	union ibv_gid gid;
};

struct pair {
	struct end a, b;
};

/* What differs from the usual pair. All zero: RC, 16 requests of 4 SGEs, 64 CQ entries. */
struct wish {
	enum ibv_qp_type type;
	uint32_t wrs;	   /* of each queue */
	int cqe;	   /* of each CQ */
	bool channel;	   /* each CQ has a completion channel */
	bool unconnected;  /* leaves the queue pairs in RESET */
	uint8_t rnr_retry; /* 0: 7, without limit */
};

void pair_open(struct pair *p, const struct wish *w);
void pair_close(struct pair *p);

/* Creates and destroys one end. The QP is in RESET. */
void end_open(struct end *e, const struct wish *w);
void end_close(struct end *e);
/* Moves e->qp to RTS, with `peer` as its peer. */
void end_connect(struct end *e, const struct end *peer, const struct wish *w);

/* Ends the program if `good` is false, with the name of what failed. */
void must(bool good, const char *what);

/* Returns an SGE of the end's buffer. */
struct ibv_sge sge_at(const struct end *e, size_t offset, uint32_t length);

/* Posts one request that must be accepted. flags: IBV_SEND_*. */
void send_from(struct end *e, uint64_t wr_id, size_t offset, uint32_t length, unsigned flags);
void recv_into(struct end *e, uint64_t wr_id, size_t offset, uint32_t length);
/* Posts a WRITE, READ or atomic to an offset of the peer's buffer. */
void rdma(struct end *e, const struct end *peer, enum ibv_wr_opcode opcode, uint64_t wr_id,
	  size_t offset, uint32_t length, size_t remote_offset);

/* Polls until a completion comes, for up to 20 s. */
struct ibv_wc next_wc(struct ibv_cq *cq);
/* As next_wc(), for a completion that must be successful. */
struct ibv_wc good_wc(struct ibv_cq *cq);

#endif
