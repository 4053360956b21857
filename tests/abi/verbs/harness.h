/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Harness: two ends of a connection in one process, over loopback, each with its own device. The
 * tests use only the public headers, like ordinary programs.
 */
#ifndef ADV_TESTS_ABI_VERBS_HARNESS_H
#define ADV_TESTS_ABI_VERBS_HARNESS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#define BUF_SIZE    (1 << 20)
#define PATIENCE    60.0 /* s; an operation that takes longer is taken for a hang */
#define PATIENCE_MS ((int)(PATIENCE * 1000)) /* for poll(2) */
#define QKEY	    0x11223344u
#define GRH_SIZE    40
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_qp_init_attr init; /* attributes as returned by ibv_create_qp() */
	uint8_t *buf;		      /* BUF_SIZE bytes, registered with ALL_ACCESS */
	struct ibv_mr *mr;
	int gid_index;
	union ibv_gid gid;
};

struct pair {
	struct side a, b;
};

/* The attributes of a pair; all zero gives the defaults. */
struct options {
	enum ibv_qp_type type; /* 0: RC */
	struct ibv_qp_cap cap; /* 0: 64 requests of 4 entries, 64 bytes inline */
	bool sq_sig_all;
	bool srq;	       /* side b uses an SRQ */
	int qp_access;	       /* 0: ALL_ACCESS */
	uint8_t timeout;       /* 0: 14 */
	uint8_t retry_cnt;     /* 0: 3 */
	uint8_t rnr_retry;     /* as in struct ibv_qp_attr; 0 means no retry */
	uint8_t min_rnr_timer; /* 0: 1 */
	uint64_t send_ops;     /* if not 0, ibv_create_qp_ex() is used */
	bool ipv6;	       /* ::1 instead of 127.0.0.1 */
	bool unconnected;      /* leave the QPs in RESET */
};

struct ibv_context *open_device(void);

/* Creates a pair; asserts success. */
void side_open(struct side *s, const struct options *o);
void side_close(struct side *s);
void pair_open(struct pair *p, const struct options *o);
void pair_close(struct pair *p);

/* Moves s->qp to the named state, with `peer` as its peer. 0 or errno. */
int to_init(struct side *s, const struct options *o);
int to_rtr(struct side *s, const struct side *peer, const struct options *o);
int to_rts(struct side *s, const struct options *o);
int to_state(struct side *s, enum ibv_qp_state state);
enum ibv_qp_state state_of(struct side *s);

struct ibv_sge sge_of(const struct side *s, size_t offset, uint32_t length);
/* Returns an address vector from s to peer. */
struct ibv_ah_attr av_to(const struct side *s, const struct side *peer);

/* Posts one request. Returns the result of ibv_post_*(). */
int post_recv(struct side *s, uint64_t wr_id, size_t offset, uint32_t length);
int post_send(struct side *s, uint64_t wr_id, size_t offset, uint32_t length, unsigned flags);
/* Posts a WRITE, READ or atomic (opcode) to an offset of the peer's buffer. */
int post_rdma(struct side *s, const struct side *peer, enum ibv_wr_opcode opcode, uint64_t wr_id,
	      size_t offset, uint32_t length, size_t remote_offset, uint32_t rkey);
/* Performs an RDMA WRITE or READ (opcode) of `length` bytes from side a, at va of side b's memory.
 * Returns the status of its completion. */
enum ibv_wc_status access_remote(struct pair *p, enum ibv_wr_opcode opcode, uint64_t va,
				 uint32_t rkey, uint32_t length);

/* Polls for one completion for up to `seconds`. False: no completion came. */
bool wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, double seconds);
/* Asserts that a completion comes within 10 s, and that it has this wr_id and status. */
struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status);
/* Asserts that no completion comes for a while. */
void expect_none(struct ibv_cq *cq);

/* Returns the next asynchronous event. Asserts that it comes within PATIENCE. */
struct ibv_async_event wait_async(struct ibv_context *ctx);
bool readable(int fd, int milliseconds);
double now_seconds(void);

#endif
