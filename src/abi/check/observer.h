/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the libraries report to the sanitizer. `adverb check` preloads libadverb-check.so, which
 * exports one struct adv_check_observer. The libraries look it up once, at load time; without it,
 * their pointer is NULL and no call is observed. Posting and polling are observed through functions
 * of their own (abi/verbs/watch.h), so that they need no test of the pointer.
 *
 * No call of the observer is made with the device's lock held. Each keeps errno.
 */
#ifndef ADV_ABI_CHECK_OBSERVER_H
#define ADV_ABI_CHECK_OBSERVER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct rdma_cm_event;
struct rdma_cm_id;
struct rdma_conn_param;

/* The symbol that libadverb-check.so exports, and the variable by which `adverb check` names the
 * socket of its reports. Without the variable the libraries look for no observer. */
#define ADV_CHECK_SYMBOL      "adverb_check_observer"
#define ADV_CHECK_ENVIRONMENT "ADVERB_CHECK"

/* Grows with each change of the structures below: library and observer must agree. */
#define ADV_CHECK_VERSION 4

/* The kinds of objects, with the type of `object`, and of `attr` in created(). */
enum adv_check_kind {
	ADV_CHECK_CONTEXT, /* struct ibv_context; NULL */
	ADV_CHECK_PD,	   /* struct ibv_pd; NULL */
	ADV_CHECK_MR,	   /* struct ibv_mr; const struct adv_check_mr_attr */
	ADV_CHECK_MW,	   /* struct ibv_mw; NULL */
	ADV_CHECK_CHANNEL, /* struct ibv_comp_channel; NULL */
	ADV_CHECK_CQ,	   /* struct ibv_cq; NULL */
	ADV_CHECK_SRQ,	   /* struct ibv_srq; const struct ibv_srq_attr */
	ADV_CHECK_QP,	   /* struct ibv_qp; const struct adv_check_qp_attr */
	ADV_CHECK_AH,	   /* struct ibv_ah; const struct ibv_ah_attr */
	ADV_CHECK_XRCD,	   /* struct ibv_xrcd; NULL */
	ADV_CHECK_DM,	   /* struct ibv_dm; NULL */
	ADV_CHECK_ID,	   /* struct rdma_cm_id; address of the code that called librdmacm */
	ADV_CHECK_KINDS,
};

/* Queries of the application. */
enum adv_check_query {
	ADV_CHECK_QUERY_DEVICE,
	ADV_CHECK_QUERY_PORT,
	ADV_CHECK_QUERY_GID,
	ADV_CHECK_QUERIES,
};

struct adv_check_mr_attr {
	uint64_t iova;
	int access;
};

struct adv_check_qp_attr {
	const struct ibv_qp_init_attr_ex *requested; /* valid during the call */
	struct ibv_qp_cap granted;
};

/* Sizes of the device and of its port's tables. */
struct adv_check_port {
	unsigned ports;
	unsigned pkeys;
	unsigned gids;
};

/* What the observer may ask of the library. Called without the device's lock. */
struct adv_check_library {
	struct adv_check_port (*port)(struct ibv_context *context);
	/* True if the GID is in the device's own table. */
	bool (*is_own_gid)(struct ibv_context *context, const union ibv_gid *gid);
	/* Returns the present state, which an error may have changed. */
	enum ibv_qp_state (*qp_state)(struct ibv_qp *qp);
	/* Returns how many RNR NAKs the queue pair has sent. */
	uint32_t (*rnr_naks)(struct ibv_qp *qp);
	/* Returns the number of completions that wait in the CQ. */
	uint32_t (*completions)(struct ibv_cq *cq);
	/* Returns how many receive requests the device has begun to use, since the queue pair left
	 * RESET last. */
	uint32_t (*recvs_taken)(struct ibv_qp *qp);
	/* Returns how many send requests the device has finished, since the queue pair left RESET
	 * last. Not each of them has a completion. */
	uint32_t (*sends_ended)(struct ibv_qp *qp);
	/* True if a peer has written to memory of the context by a WRITE or an atomic. */
	bool (*was_written)(struct ibv_context *context);
	/* Returns a bit mask, by enum ibv_event_type, of queued asynchronous events of an object;
	 * object NULL: of all objects. */
	uint64_t (*async_queued)(struct ibv_context *context, const void *object);
};

struct adv_check_observer {
	unsigned version; /* ADV_CHECK_VERSION */

	/* A library begins to report. `library` is NULL for librdmacm, and stays valid. `code` is
	 * an address inside the library: its frames are left out of call stacks. */
	void (*attach)(const struct adv_check_library *library, const void *code);

	/* An object was created; the application does not have the pointer yet. */
	void (*created)(enum adv_check_kind kind, void *object, struct ibv_context *context,
			const void *attr);
	/* The application destroys an object. Returns a token for destroyed(), which follows when
	 * the call ends; err: the call's error, or 0. Between the two, the object may be reported
	 * as not destroyed only. */
	void *(*destroying)(enum adv_check_kind kind, void *object);
	void (*destroyed)(void *token, int err);
	/* ibv_rereg_mr() changed a region. flags: IBV_REREG_MR_CHANGE_*; access: the present one */
	void (*mr_changed)(struct ibv_mr *mr, int flags, int access);

	/* The application calls ibv_modify_qp(); err: its result. `from` is the state before it.
	 * Reported after the call. */
	void (*qp_modified)(struct ibv_qp *qp, enum ibv_qp_state from,
			    const struct ibv_qp_attr *attr, int mask, int err);

	/* The application posts a list. Each ..._ends() follows in the same thread, with the result
	 * of the call and the first request that was not posted (NULL: all were). */
	void (*send_begins)(struct ibv_qp *qp, const struct ibv_send_wr *wr);
	void (*send_ends)(struct ibv_qp *qp, const struct ibv_send_wr *bad, int err);
	/* srq or qp is NULL. */
	void (*recv_begins)(struct ibv_qp *qp, struct ibv_srq *srq, const struct ibv_recv_wr *wr);
	void (*recv_ends)(struct ibv_qp *qp, struct ibv_srq *srq, const struct ibv_recv_wr *bad,
			  int err);
	/* ibv_bind_mw() posted a request that completes like other send requests. */
	void (*bound)(struct ibv_qp *qp, struct ibv_mw *mw, const struct ibv_mw_bind *bind);
	/* A poll took `count` completions, 0 or more; -1: the CQ has overrun. The observer may
	 * change those fields of `wc` that are undefined because the status is an error. */
	void (*polled)(struct ibv_cq *cq, struct ibv_wc *wc, int count);

	/* ibv_req_notify_cq() */
	void (*armed)(struct ibv_cq *cq, bool solicited_only);
	/* ibv_get_cq_event() is called, and may block. */
	void (*cq_wait)(struct ibv_comp_channel *channel);
	/* ibv_get_cq_event() delivered an event; ibv_ack_cq_events() acknowledges some. */
	void (*cq_event)(struct ibv_cq *cq);
	void (*cq_acked)(struct ibv_cq *cq, unsigned events);
	/* ibv_get_async_event() delivered an event; ibv_ack_async_event() acknowledges one. */
	void (*async_event)(struct ibv_context *context, const struct ibv_async_event *event);
	void (*async_acked)(const struct ibv_async_event *event);
	/* ibv_fork_init() */
	void (*fork_init)(void);
	void (*queried)(enum adv_check_query query);

	/* rdma_get_cm_event() delivered an event; rdma_ack_cm_event() acknowledges it. */
	void (*cm_event)(const struct rdma_cm_event *event);
	void (*cm_acked)(const struct rdma_cm_event *event);
	/* The application calls rdma_connect() or, if accepts, rdma_accept(). param may be NULL.
	 * Reported before the call. */
	void (*cm_connecting)(struct rdma_cm_id *id, const struct rdma_conn_param *param,
			      bool accepts);
};

#endif
