/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the programs of this folder. Each program makes one mistake, and none if it is compiled
 * with -DMENDED=1. A comment on the line of the mistake, "finds RULE: OBJECT", is the finding
 * that `adverb check` must report: its rule, its object (a name that the program gives with
 * lab_name(), or a word of the finding), and this line in one of its stacks.
 *
 * The programs use plain verbs, and are built and linked with the system's rdma-core like a user's
 * program. One process has both ends of each connection. A call that must succeed and fails ends
 * the program with status 2 after a line on standard error.
 */
#ifndef TESTS_CHECK_LAB_H
#define TESTS_CHECK_LAB_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifndef MENDED
#define MENDED 0
#endif

#define LAB_BUFFER  65536 /* bytes of lab.buffer */
#define LAB_DEPTH   16	  /* requests in each queue */
#define LAB_CQES    64	  /* entries of the CQ */
#define LAB_QKEY    0x11111111
#define LAB_INIT_RC (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define LAB_INIT_UD (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define LAB_RTR_RC                                                                                 \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define LAB_RTS_RC                                                                                 \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)

/* Zero-initialize it. The steps below fill it; lab_close() destroys what is not NULL. */
struct lab {
	struct ibv_context *context;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint8_t gid_index;
	int no_queries; /* set before lab_device(): the port is not queried, the GID is 127.0.0.1 */
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of all queues of a and b */
	struct ibv_mr *mr; /* of buffer, with all access */
	uint8_t *buffer;   /* LAB_BUFFER bytes, page-aligned, zeroed */
	struct ibv_qp *a;  /* connected to b */
	struct ibv_qp *b;
	uint32_t psn; /* random; lab_psn() adds the QP's number */
};

/* Ends the program with status 2 and a message unless ok. */
void lab_need(int ok, const char *what);

/* Prints for the runner how findings name an object. format: as for printf(3). */
void lab_name(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens the first device, its port and a GID; allocates a PD; creates a CQ (named cq); registers
 * the buffer (named mr). The program is killed after 30 s. */
void lab_device(struct lab *l);

/* Creates two RC QPs, a and b, named so. */
void lab_qps(struct lab *l);

/* lab_device(), lab_qps(), and the QPs in RTS. */
void lab_open(struct lab *l);

/* lab_device(), and two UD QPs in RTS. */
void lab_open_ud(struct lab *l);

/* Creates an address handle of this device's GID. */
struct ibv_ah *lab_ah(const struct lab *l);

/* Destroys everything in the right order. */
void lab_close(struct lab *l);

/* The attributes with which ibv_create_qp() of lab_qps() is called, of type RC. */
struct ibv_qp_init_attr lab_create_attr(const struct lab *l);

/* The attributes of a transition, for a program to change one and to call ibv_modify_qp(). */
struct ibv_qp_attr lab_init_attr(void);
struct ibv_qp_attr lab_rtr_attr(const struct lab *l, const struct ibv_qp *peer);
struct ibv_qp_attr lab_rts_attr(const struct lab *l, const struct ibv_qp *qp);

/* Transitions of RC QPs with these attributes. */
void lab_to_init(struct ibv_qp *qp);
void lab_to_rtr(const struct lab *l, struct ibv_qp *qp, const struct ibv_qp *peer);
void lab_to_rts(const struct lab *l, struct ibv_qp *qp);
void lab_connect(const struct lab *l);

/* Moves a and b to RESET. */
void lab_reset(const struct lab *l);

/* Returns the first PSN of qp's send queue. */
uint32_t lab_psn(const struct lab *l, const struct ibv_qp *qp);

/* Returns an SGE of the buffer, `at` bytes from its begin. */
struct ibv_sge lab_sge(const struct lab *l, size_t at, uint32_t length);

/* Posts a signaled request of qp with the buffer's bytes from `at`. lab_write(), lab_read() and
 * lab_add() use the buffer's bytes from `to` as remote memory; lab_add() is a fetch and add. */
void lab_send(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length);
void lab_recv(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length);
void lab_write(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length, size_t to);
void lab_read(const struct lab *l, struct ibv_qp *qp, size_t at, uint32_t length, size_t to);
void lab_add(const struct lab *l, struct ibv_qp *qp, size_t at, size_t to);

/* A request like those above, for a program to change and to pass to ibv_post_send(). */
struct ibv_send_wr lab_wr(enum ibv_wr_opcode opcode, struct ibv_sge *sge);

/* Posts one request; ends the program if this fails. */
void lab_post(struct ibv_qp *qp, struct ibv_send_wr *wr);

/* Returns the next completion of cq. */
struct ibv_wc lab_next(struct ibv_cq *cq);

/* Polls n successful completions of cq. */
void lab_wait(struct ibv_cq *cq, int n);

/* Polls n completions of cq, of whatever status. */
void lab_drain(struct ibv_cq *cq, int n);

#endif
