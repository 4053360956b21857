/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine's own structures, shared by the files of this folder only.
 *
 * engine.c      create, demultiplexing, scheduling, events
 * qpn.c         QP numbers
 * timer.c       a heap of deadlines, lazily re-armed
 * cause.c       what errors mean
 * mr.c          memory keys            cq.c   completion queues
 * paging.c      memory that may come and go
 * srq.c         shared receive queues  xrc.c    XRC domains and the SRQs in them
 * mcast.c       multicast groups        mw.c     memory windows
 * path.c        address vectors
 * qp.c          create, post, flush    qp_modify.c  the state machine's tables
 * requester.c   send queue to packets  completer.c  acknowledgements and responses
 * responder.c   requests in            responder_tx.c  acknowledgements and responses out
 * datagram.c    UD
 * unreliable.c  what keeps UC and UD from overrunning a receiver
 * window.c      congestion control for lossy networks
 * flow.c        congestion control for networks that mark packets, by dcqcn.c and pacer.c;
 *               cc_params.c has its parameters
 * gather.c      data of requests to and from memory
 * inject.c      faults on purpose
 * resources.c   what there is
 */
#ifndef ADV_TRANSPORT_INTERNAL_H
#define ADV_TRANSPORT_INTERNAL_H

#include <assert.h>
#include <errno.h>

#include "base/list.h"
#include "base/rng.h"
#include "base/siphash.h"
#include "transport/engine.h"
#include "transport/pacer.h"
#include "wire/headers.h"
#include "wire/slot.h"

/* ---- timers (timer.c) ---- */

struct adv_timer;
typedef void adv_timer_fn(struct adv_engine *e, struct adv_timer *t, uint64_t now);

struct adv_timer {
	adv_timer_fn *fire;
	uint64_t when;	   /* ADV_NEVER: not set */
	uint64_t in_heap;  /* the key under which it stands in the heap: at most `when` */
	uint32_t position; /* in the heap, 0: not in it */
};

struct adv_timer_heap {
	struct adv_timer **slot; /* slot[1] is the earliest */
	uint32_t count;
	uint32_t room;
};

void adv_timer_init(struct adv_timer *t, adv_timer_fn *fire);
/* Room for one more timer must have been made with adv_timers_reserve(): setting never fails. */
int adv_timers_reserve(
	struct adv_engine *e); /* 0 or ENOMEM; call once for each timer that may be set */
void adv_timers_release(struct adv_engine *e);
/* Sets or moves. Moving later costs nothing until the old time comes. */
void adv_timer_set(struct adv_engine *e, struct adv_timer *t, uint64_t when);
void adv_timer_cancel(struct adv_engine *e, struct adv_timer *t);
/* Takes it out of the heap for good, before its owner is freed. */
void adv_timer_remove(struct adv_engine *e, struct adv_timer *t);

/* ---- memory (mr.c) ---- */

struct adv_pd {
	struct adv_engine *engine;
	const void *owner;
	struct adv_list node; /* engine->pds */
	uint32_t users;	      /* MRs, SRQs, QPs, AHs in it */
	uint32_t number;      /* for resources.c, as in CQs and SRQs */
};

struct adv_mr {
	struct adv_pd *pd;
	uint32_t key; /* lkey and rkey: 24 random bits that name it, 8 random bits of tag */
	int access;   /* what it grants at once: nothing, where pages must be brought in first */
	int granted;  /* what it grants: IBV_ACCESS_*, ADV_ACCESS_LOCAL_READ */
	uint8_t *addr;
	uint64_t length;
	uint64_t iova;
	uint32_t windows;      /* bound to it */
	struct adv_mw *window; /* NULL: a region; else the window whose key this is */
};

/* What every region grants and no window does: that local requests read it. */
#define ADV_ACCESS_LOCAL_READ (1 << 30)

/* Open addressing by the upper 24 bits of the key; power of two, at most half full. */
struct adv_mr_table {
	struct adv_mr **slot;
	uint32_t room;
	uint32_t count;
};

/*
 * Where [va, va + length) of the region named by key lies in this process, NULL where it may not be
 * touched (*why then says why: ADV_ERR_LKEY, _LKEY_PD, _LOCAL_ACCESS, _LOCAL_BOUNDS or
 * _LOCAL_UNMAPPED). `need`: IBV_ACCESS_* bits that the region must have, or ADV_ACCESS_LOCAL_READ.
 * length 0 is always good (any non-NULL pointer). On-demand paging: memory of ADV_PAGED_AT_ONCE
 * bytes and less can be touched when this returns; more was looked at for access and bounds only.
 */
uint8_t *adv_mr_resolve(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			uint64_t va, uint64_t length, int need, enum adv_vendor_err *why);

/* mr.c: the region or window whose upper 24 key bits are those of key; NULL: none. */
struct adv_mr *adv_mr_find(const struct adv_engine *e, uint32_t key);
/* paging.c: the rest of adv_mr_resolve() for a region that lacks `need` in its access. */
uint8_t *adv_mr_resolve_paged(const struct adv_engine *e, const struct adv_pd *pd, uint32_t key,
			      uint64_t va, uint64_t length, int need, enum adv_vendor_err *why);
/* The same of a region or window that has been found. */
uint8_t *adv_mr_bring_in(const struct adv_engine *e, const struct adv_mr *mr, uint64_t va,
			 uint64_t length, int need, enum adv_vendor_err *why);
/* Sets what the region or window grants. */
void adv_mr_grant(const struct adv_engine *e, struct adv_mr *mr, int access);
/* mr.c: puts mr into the table under a new key (0 or ENOMEM), and takes it out. */
int adv_mr_insert(struct adv_engine *e, struct adv_mr *mr);
void adv_mr_remove(struct adv_engine *e, const struct adv_mr *mr);

/* ---- memory windows (mw.c) ---- */

struct adv_send_wqe;

struct adv_mw {
	struct adv_mr key; /* first. Unbound: grants nothing. Type 2: no PD, see adv_mr_remote() */
	struct adv_pd *pd;
	struct adv_mr *region; /* bound to it */
	struct adv_qp *qp;     /* type 2: bound to it */
	struct adv_list node;  /* qp->windows while bound to it */
	bool type_2;
};

/* Carries a bind request or local invalidation out: ADV_ERR_NONE, or why not. */
enum adv_vendor_err adv_mw_execute(struct adv_qp *qp, const struct adv_send_wqe *wqe);
/* Invalidates the type 2 window with this rkey, whether the QP or its peer asks. False: no such one
 * is bound through the QP. */
bool adv_mw_invalidate(struct adv_qp *qp, uint32_t rkey);
/* The QP goes away: its windows are bound to nothing. */
void adv_mw_forget(struct adv_qp *qp);
/* As adv_mr_resolve(), for windows of type 2 that are bound to the QP. *why stays as it is where
 * the key names none. */
uint8_t *adv_mw_resolve(const struct adv_qp *qp, const struct adv_pd *pd, uint32_t key, uint64_t va,
			uint64_t length, int need, enum adv_vendor_err *why);

/* ---- completion queues (cq.c) ---- */

enum adv_cq_armed { ADV_CQ_DISARMED, ADV_CQ_ARMED_SOLICITED, ADV_CQ_ARMED };

struct adv_cq {
	struct adv_engine *engine;
	const void *owner;
	struct adv_list node;	    /* engine->cqs */
	struct adv_list event_node; /* engine->cq_events while an event waits */
	void *user;
	struct adv_cqe *ring; /* room entries, a power of two */
	uint32_t room;
	uint32_t head;	/* free running: next to fill */
	uint32_t tail;	/* next to poll */
	uint32_t users; /* QPs, counted once for each of send and receive */
	enum adv_cq_armed armed;
	bool overrun;
	uint32_t moderate_count;
	uint64_t moderate_ns;
	uint32_t moderated; /* completions since the last event */
	struct adv_timer timer;
	uint32_t number;
};

/*
 * Adds a completion (copied) and raises the event that is armed. `solicited`: it also wakes one who
 * waits for solicited ones only; failed completions always do. False where the CQ was full: it is
 * then in the overrun state, IBV_EVENT_CQ_ERR is queued once, and the caller puts the QP into
 * error.
 */
bool adv_cq_push(struct adv_cq *cq, const struct adv_cqe *cqe, bool solicited, uint64_t now);
/* Removes the completions of a QP that is destroyed or reset. */
void adv_cq_purge(struct adv_cq *cq, const struct adv_qp *qp);
/* Called by cq.c when a completion is polled or popped: frees the QP's queue slots (qp.c). */
void adv_qp_release_slots(struct adv_qp *qp, bool is_recv, uint32_t release);

/* ---- receive requests and shared receive queues (srq.c) ---- */

struct adv_recv_wqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the SGEs */
	uint32_t num_sge;
	uint32_t index; /* SRQ: slot number */
	struct ibv_sge sge[];
};

struct adv_srq {
	struct adv_pd *pd;
	struct adv_list node; /* engine->srqs */
	void *user;
	uint8_t *slots; /* max_wr receive requests of `stride` bytes */
	uint32_t stride;
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t *fifo;	    /* slot numbers in posting order; ring of max_wr */
	uint32_t fifo_head; /* free running */
	uint32_t fifo_tail;
	uint32_t *free_list; /* stack of free slot numbers */
	uint32_t free_count;
	uint32_t limit; /* 0: no limit event armed */
	uint32_t users; /* QPs made with it; those that XRC requests bring here do not count */
	/* Of an XRC domain only: */
	struct adv_xrcd *xrcd;
	struct adv_cq *cq;
	uint32_t number; /* 24 bits */
	uint32_t id;	 /* of each one, for resources.c */
};

/* Takes the oldest request, NULL where there is none; queues IBV_EVENT_SRQ_LIMIT_REACHED once when
 * fewer than the limit are left. The taker gives it back with adv_srq_release(). */
struct adv_recv_wqe *adv_srq_take(struct adv_srq *srq);
void adv_srq_release(struct adv_srq *srq, struct adv_recv_wqe *wqe);
/* Checks and copies one receive request: 0 or EINVAL (too many SGEs, sum over 2^32 - 1). */
int adv_recv_wqe_fill(struct adv_recv_wqe *wqe, uint32_t max_sge, const struct ibv_recv_wr *wr);

/* srq.c: all but what an XRC domain needs. NULL with errno EINVAL, ENOMEM. */
struct adv_srq *adv_srq_new(struct adv_pd *pd, struct ibv_srq_attr *attr, void *user);

/* ---- XRC domains (xrc.c) ---- */

struct adv_xrcd {
	struct adv_engine *engine;
	const void *owner;
	struct adv_list node; /* engine->xrcds */
	uint32_t users;	      /* SRQs and QPs in it */
};

/*
 * A request in sequence came for an XRC_RECV QP: the SRQ that it names lends the QP its PD, its
 * requests and its CQ until the next one (A14.4). ADV_ERR_NONE; _XRC_SRQ: no SRQ of the QP's domain
 * has this number; _XRC_SRQ_CHANGED: it is not that of the message in progress.
 */
enum adv_vendor_err adv_xrc_select(struct adv_qp *qp, uint32_t number);
/* The SRQ goes away: its number, and what it lent. */
void adv_xrc_forget(struct adv_srq *srq);

/* ---- asynchronous events (engine.c) ---- */

/* Queues an event, of an error with its cause; exactly one of qp, cq, srq is not NULL. Never fails:
 * at no memory it is dropped and logged nowhere, as the queue is a reserve of its own; the same
 * event of the same object waits once. */
void adv_async_event(struct adv_engine *e, enum ibv_event_type type, struct adv_qp *qp,
		     struct adv_cq *cq, struct adv_srq *srq, enum adv_vendor_err why);
/* Forgets waiting events of an object that goes away. */
void adv_async_forget(struct adv_engine *e, const void *object);

struct adv_async_node {
	struct adv_list node; /* engine->async_events */
	struct adv_event event;
};

/* ---- multicast (mcast.c) ---- */

struct adv_mcast_group {
	struct adv_list node; /* engine->groups */
	struct adv_gid gid;
	uint32_t count;
	struct adv_qp *member[ADV_MAX_MCAST_QP];
};

struct adv_mcast_group *adv_mcast_find(struct adv_engine *e, const struct adv_gid *gid);
/* Detaches the QP from all groups. */
void adv_mcast_leave_all(struct adv_qp *qp);
bool adv_mcast_is_member(const struct adv_qp *qp); /* of any group */

/* ---- queue pairs ---- */

struct adv_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add;
	uint64_t swap;
	struct adv_ah *ah; /* UD */
	uint32_t rkey;
	uint32_t imm;	      /* network order; the rkey to invalidate */
	uint32_t remote_qpn;  /* UD; XRC: number of the SRQ */
	uint32_t remote_qkey; /* UD; bind requests: the region's lkey */
	uint32_t length;
	uint32_t first_psn;
	uint32_t psn_count; /* 0: a local one, carried out when started */
	uint8_t opcode;	    /* enum ibv_wr_opcode */
	uint8_t send_flags;
	uint8_t num_sge;      /* 0 where the data is inline */
	bool started;	      /* first_psn is assigned, SGEs were found good */
	bool failed;	      /* completes with status as soon as it is the oldest */
	uint8_t status;	      /* enum ibv_wc_status */
	uint8_t vendor_err;   /* enum adv_vendor_err */
	struct ibv_sge sge[]; /* or the inline bytes */
};

struct adv_send_queue {
	uint8_t *ring; /* `size` entries of `stride` bytes; allocated at the first post */
	uint32_t stride;
	uint32_t size; /* power of two */
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t head;	/* free running: next to post */
	uint32_t next;	/* next to send (the cursor) */
	uint32_t tail;	/* oldest not completed */
	uint32_t freed; /* oldest slot not free for posting: moves when completions are polled */
};

struct adv_recv_queue {
	uint8_t *ring;
	uint32_t stride;
	uint32_t size;
	uint32_t max_sge;
	uint32_t head;
	uint32_t next; /* next to be taken by a message */
	uint32_t freed;
};

struct adv_requester {
	uint32_t next_psn; /* of the next packet: the cursor */
	uint32_t una_psn;  /* oldest not acknowledged */
	uint32_t max_psn;  /* one past the newest that was ever sent */
	uint32_t offset;   /* bytes of the cursor's request already sent (READ: asked for) */
	uint32_t since_ackreq;
	uint32_t *rd_end;  /* ring of ends (exclusive) of READ and atomic requests in flight; made
			    * when the first one is posted */
	uint32_t rd_room;  /* power of two */
	uint32_t rd_limit; /* max_rd_atomic */
	uint32_t rd_head;
	uint32_t rd_tail;
	uint32_t read_chunk;  /* packets asked for by one READ request at most */
	uint32_t cwnd;	      /* packets */
	uint32_t cwnd_acked;  /* since cwnd last grew */
	uint32_t cwnd_half;   /* up to here cwnd grows fast: what the newest loss left of it */
	uint32_t recover_psn; /* losses before this PSN were already reacted to */
	uint8_t retry_left;
	uint8_t rnr_left;
	uint32_t late_psn; /* what was in flight when answers were late: until all of it is done ...
			    */
	uint8_t backoff;   /* ... the timer runs for so many timeouts */
	uint8_t ticks;	   /* timeouts within the retry that runs */
	bool rnr_wait;	   /* the timer runs for an RNR NAK: send nothing */
	bool unanswered;   /* there was a timeout, and nothing was acknowledged since */
	bool gap_asked;	   /* responses were lost and asked for again; wait for una to move */
	bool nak_heard;	   /* of the loss at una: the network may repeat it; until una moves or a
			      timeout */
	bool draining;	   /* SQD: an event is owed when all is quiet */
	bool far;	   /* the cursor was at max_psn when the timeout came, and so were ... */
	uint32_t far_head; /* ... rd_head ... */
	uint32_t far_end;  /* ... and the end of the oldest READ or atomic in flight */
	struct adv_timer timer;
};

/* What an incoming READ or atomic was, kept to answer it and its duplicates. */
struct adv_resource {
	uint32_t first_psn;
	uint32_t psn_count;
	uint32_t msn;
	uint32_t rkey;
	uint64_t va;
	const struct adv_pd *pd; /* of the region; compared only, it may be gone */
	uint32_t length;
	uint32_t start;	   /* offset from which this (re)request wants it */
	uint32_t offset;   /* bytes already answered */
	uint32_t end;	   /* offset up to which it is wanted now */
	uint32_t reached;  /* bytes answered by the furthest of all answers */
	uint32_t again;	   /* packets of those that the newest repeated request may bring */
	uint64_t original; /* atomic's result, host order */
	bool atomic;
	bool pending;  /* (more) response packets are to be sent */
	bool answered; /* all were sent at least once */
};

enum adv_message { ADV_MSG_NONE, ADV_MSG_SEND, ADV_MSG_WRITE, ADV_MSG_SKIP };

struct adv_responder {
	uint32_t epsn; /* expected */
	uint32_t msn;
	enum adv_message message; /* in the middle of one; SKIP: UC, the rest of a broken one */
	bool commed;		  /* COMM_EST was reported */
	bool nak_sent;		  /* a NAK or RNR NAK for epsn is out: be silent until it comes */
	bool ack_pending;
	bool ack_behind; /* it goes out after requests: it has waited for them */
	uint8_t answers; /* see ack_delay.c: requests of ours that came at once after the peer's */
	bool dead;	 /* after a NAK that ends the connection: answer nothing new */
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	uint64_t asked_at; /* when a message came that was to be acknowledged; 0: answered since */
	uint64_t ack_due;  /* of an ACK that waits */
	struct adv_recv_wqe *recv; /* taken by the message in progress */
	uint64_t offset;	   /* bytes of the message in progress */
	uint64_t write_va;
	uint32_t write_rkey;
	uint32_t write_length;
	struct adv_resource *res; /* ring of res_room, a power of two; made at the first request
				   * that needs one */
	uint32_t res_room;
	uint32_t res_limit;   /* max_dest_rd_atomic */
	uint32_t res_head;    /* free running: next to fill */
	uint32_t res_next;    /* free running: none before it is pending */
	uint32_t res_pending; /* how many have pending set */
	uint64_t res_spare; /* packets that may be sent again, whatever asks; see responder_tx.c */
	bool cut;	    /* it had more to send than its turn allowed: requests go first next */
};

struct adv_qp {
	struct adv_engine *engine;
	/* XRC_RECV has none of these four; the SRQ of the request at hand lends it all but send_cq.
	 */
	struct adv_pd *pd;
	struct adv_cq *send_cq;
	struct adv_cq *recv_cq;
	struct adv_srq *srq;
	struct adv_xrcd *xrcd; /* XRC_RECV */
	void *user;
	struct adv_list node;	    /* engine->qps */
	struct adv_list windows;    /* of type 2, bound to it */
	struct adv_list tx_node;    /* engine->tx_ready */
	struct adv_list stall_node; /* engine->stalled (RC), a credit's waiting (UC, UD) */
	struct adv_list delay_node; /* engine->delayed: its ACK waits */
	uint32_t qpn;
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	uint8_t service; /* enum adv_service */
	bool reliable;	 /* RC and XRC */
	bool sq_sig_all;
	bool last_wqe_reported; /* IBV_EVENT_QP_LAST_WQE_REACHED */
	bool sqd_event_wanted;
	struct ibv_qp_attr attr; /* as set by modify; what query returns */
	uint32_t mtu;		 /* bytes, from attr.path_mtu; UD: of the port */
	struct adv_path path;	 /* RC, UC: from RTR on */
	bool peer_is_here;	 /* path.dgid is this machine's */
	struct adv_send_queue sq;
	struct adv_recv_queue rq;
	struct adv_requester req;
	struct adv_responder resp;
	struct adv_flow *flow; /* see flow.h; NULL: no mark and no CNP came yet */
};

static inline struct adv_send_wqe *adv_send_wqe_at(const struct adv_qp *qp, uint32_t index)
{
	return (struct adv_send_wqe *)(void *)(qp->sq.ring +
					       (size_t)(index & (qp->sq.size - 1)) * qp->sq.stride);
}

/* As adv_mr_resolve(), for what the QP's peer asks for; *why is for adv_remote_cause(). */
static inline uint8_t *adv_mr_remote(const struct adv_qp *qp, const struct adv_pd *pd, uint32_t key,
				     uint64_t va, uint64_t length, int need,
				     enum adv_vendor_err *why)
{
	uint8_t *p = adv_mr_resolve(qp->engine, pd, key, va, length, need, why);

	if (p || adv_list_empty(&qp->windows))
		return p;
	return adv_mw_resolve(qp, pd, key, va, length, need, why);
}

/* responder.c: what a peer is refused for that asks for memory: ADV_ERR_RKEY, _RKEY_PD,
 * _REMOTE_ACCESS, _REMOTE_BOUNDS or _REMOTE_UNMAPPED. */
enum adv_vendor_err adv_remote_cause(enum adv_vendor_err local);

/* Room for one more packet of any shape. */
static inline bool adv_batch_has_room(const struct adv_tx_batch *batch)
{
	return batch->count < batch->limit && batch->iov_used + ADV_MAX_SGE <= ADV_TX_BATCH_IOV;
}

static inline struct adv_recv_wqe *adv_recv_wqe_at(const struct adv_qp *qp, uint32_t index)
{
	return (struct adv_recv_wqe *)(void *)(qp->rq.ring +
					       (size_t)(index & (qp->rq.size - 1)) * qp->rq.stride);
}

/* Packets a QP may put into a batch before the next one has its turn. */
#define ADV_QUANTUM 32

static inline bool adv_qp_can_receive(const struct adv_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
	       qp->state == IBV_QPS_SQE;
}

/* engine.c: packets of a connected QP into the batch. One that could not put all it has into it
 * schedules itself again, behind the others. */
void adv_qp_serve(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch);

/* qp.c: frees the handles that were destroyed while requests referred to them. */
void adv_ahs_free(struct adv_engine *e);
/* qp.c: puts it on the ready list, so that tx() looks at it. */
void adv_qp_schedule(struct adv_qp *qp);
/* qp.c: to the ERR state: all outstanding requests complete with WR_FLUSH_ERR, oldest first. */
void adv_qp_enter_error(struct adv_qp *qp, uint64_t now);
/* qp.c: to the SQE state: what is on the send queue completes with WR_FLUSH_ERR (UC, UD). */
void adv_qp_enter_sqe(struct adv_qp *qp, uint64_t now);
/* qp.c: ERR, and the asynchronous event that tells the application, with its cause. */
void adv_qp_fatal(struct adv_qp *qp, enum ibv_event_type type, enum adv_vendor_err why,
		  uint64_t now);
/* qp.c: to the RESET state: queues empty, completions gone from the CQs, nothing in flight. */
void adv_qp_clear(struct adv_qp *qp);
/* qp.c: completes the oldest send request. */
void adv_qp_complete_send(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			  uint64_t now);
/* qp.c: takes the next receive request from SRQ or RQ; NULL: none. */
struct adv_recv_wqe *adv_qp_take_recv(struct adv_qp *qp);
/* qp.c: completes a receive request that was taken. wc: all but wr_id, qp_num filled in. */
void adv_qp_complete_recv(struct adv_qp *qp, struct adv_recv_wqe *wqe, struct ibv_wc *wc,
			  bool solicited, uint64_t now);

/* responder.c: attributes of RTR are in qp->attr. */
void adv_responder_start(struct adv_qp *qp);
/* requester.c: attributes of RTS are in qp->attr. */
void adv_requester_start(struct adv_qp *qp);
/* requester.c: room for READs and atomics in flight, before the first is posted. 0 or ENOMEM. */
int adv_requester_reserve(struct adv_qp *qp);
/* requester.c: moved to RTS again (from SQE or SQD), or to SQD: carry on, or report the drain. */
void adv_requester_resume(struct adv_qp *qp);
void adv_requester_drain(struct adv_qp *qp);

/*
 * unreliable.c: whether a packet of a UC or UD QP may go to this destination now; else the QP is
 * scheduled when it may. May put a probe into the batch, which must have room. And after each
 * packet that went: the newest of the batch.
 */
bool adv_unreliable_may_send(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			     struct adv_tx_batch *batch, uint64_t now);
void adv_unreliable_sent(struct adv_qp *qp, struct adv_path *path, uint32_t dest_qpn,
			 struct adv_tx_batch *batch, uint64_t now);
/* unreliable.c: probes and answers in, answers out. 0 or ENOMEM from init. */
int adv_unreliable_init(struct adv_engine *e);
void adv_unreliable_rx(struct adv_engine *e, uint64_t now, const struct adv_headers *h,
		       const struct adv_rx_meta *meta);
void adv_unreliable_tx(struct adv_engine *e, struct adv_tx_batch *batch);
/* requester.c: packets of the send queue into the batch; at most `budget`. */
void adv_requester_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);
void adv_requester_timer(struct adv_engine *e, struct adv_timer *t, uint64_t now);
/* requester.c: back to psn, all from there on is sent again. */
void adv_requester_rewind(struct adv_qp *qp, uint32_t psn);
/* requester.c: nothing is in flight any more. */
void adv_requester_abandon(struct adv_qp *qp);
/* requester.c: una moves to psn: completes what it covers, up to a READ or atomic without response.
 */
void adv_requester_acked(struct adv_qp *qp, uint32_t psn, uint64_t now);
/* requester.c: a READ that was asked for before a timeout is being answered after all, before any
 * of it is done: nothing is asked for again. */
void adv_requester_go_on(struct adv_qp *qp);
/* requester.c: the peer has acknowledged once more what is done, psn the newest of it: it is there.
 */
void adv_requester_heard(struct adv_qp *qp, uint32_t psn, uint64_t now);
/* requester.c: the oldest request fails, the QP goes to ERR (RC) or SQE (UC, UD). */
void adv_requester_fail(struct adv_qp *qp, enum ibv_wc_status status, enum adv_vendor_err why,
			uint64_t now);
/* requester.c: packets were lost, the first of them psn: costs one retry and sends all again from
 * there, or fails the QP where no retry is left. */
void adv_requester_lost(struct adv_qp *qp, uint32_t psn, enum adv_vendor_err why, uint64_t now);
/* requester.c: true for requests that a response other than an ACK answers. */
bool adv_wqe_wants_response(const struct adv_send_wqe *wqe);
/* requester.c: how a message goes into packets (IBTA 9.7.1): its length in packets, at least 1. */
uint32_t adv_packet_count(uint32_t length, uint32_t mtu);

/* gather.c: iov entries for bytes [offset, offset + length) of the request's data; false where a
 * region of it is gone or does not allow it (*why). */
bool adv_gather(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset, uint32_t length,
		struct adv_tx_batch *batch, struct adv_tx_packet *pkt, enum adv_vendor_err *why);
/* gather.c: copies into the SGEs' memory from byte `offset` on; false as above. */
bool adv_scatter(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge, uint64_t offset,
		 const uint8_t *data, uint32_t length, enum adv_vendor_err *why);
/* gather.c: copies a WRITE's bytes so that the last one is seen last: programs spin on it. */
void adv_place(uint8_t *to, const uint8_t *from, uint32_t length);
/* gather.c: all SGEs lie in regions of the QP's PD that allow `need`. */
bool adv_sges_good(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge, int need,
		   enum adv_vendor_err *why);
/* gather.c: the next packet of the batch with headers written, no payload yet. */
struct adv_tx_packet *adv_packet_start(struct adv_engine *e, struct adv_path *path,
				       struct adv_tx_batch *batch, const struct adv_headers *h);

/* window.c: congestion control for networks that lose packets. */
void adv_window_start(struct adv_qp *qp);
/* sent_again: they are among those that the cursor has gone over since it was last set back. */
void adv_window_acked(struct adv_qp *qp, uint32_t packets, bool sent_again);
void adv_window_lost(struct adv_qp *qp);
void adv_window_timed_out(struct adv_qp *qp);

/* A packet of a connected QP, decoded and found well-formed. */
struct adv_incoming {
	const struct adv_headers *h;
	const struct adv_opcode_info *info;
	const uint8_t *payload;
	uint32_t payload_len;
	const struct adv_rx_meta *meta;
};

void adv_completer_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);
void adv_responder_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);
void adv_responder_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);
bool adv_responder_has_tx(const struct adv_qp *qp);
/* responder_tx.c: an ACK, NAK or RNR NAK to be sent in its turn. */
void adv_responder_queue_ack(struct adv_qp *qp, uint8_t syndrome, uint32_t psn);

/* No ACK is to go out, now or later. */
void adv_responder_forget_ack(struct adv_qp *qp);

/* ---- ACKs that wait for a request of ours (ack_delay.c) ---- */

/* A message that asks for an ACK has been taken, up to psn: acknowledges it, at once or soon. */
void adv_ack_message(struct adv_qp *qp, uint32_t psn, uint64_t now);
/* A request was posted. */
void adv_ack_posted(struct adv_qp *qp, uint64_t now);
/* When the first of those that wait must go out; ADV_NEVER. */
uint64_t adv_ack_deadline(const struct adv_engine *e);
void adv_ack_expire(struct adv_engine *e, uint64_t now);

static inline bool adv_ack_waits(const struct adv_qp *qp)
{
	return !adv_list_empty(&qp->delay_node);
}
/* responder.c: UC. */
void adv_responder_rx_uc(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);
/* datagram.c */
void adv_datagram_rx(struct adv_qp *qp, uint64_t now, const struct adv_incoming *in);
void adv_datagram_tx(struct adv_qp *qp, uint64_t now, struct adv_tx_batch *batch, unsigned budget);

/* ---- the engine ---- */

#define ADV_ENGINE_RANGES 16
#define ADV_CREDITS	  64
#define ADV_NOTES	  64

/* A probe, or an answer to one. */
struct adv_note {
	struct adv_path path;
	uint32_t dest_qpn;
	uint32_t src_qpn;
	uint32_t psn;
	uint8_t opcode;
};

/* Packets of UC and UD towards one process of this machine; counts are free running. */
struct adv_credit {
	bool used;
	bool deaf; /* it has not answered for long: UD goes by the rate */
	uint16_t target;
	struct adv_gid gid;
	uint32_t sent;
	uint32_t probed;	 /* the newest probe covers those before */
	uint32_t confirmed;	 /* the newest answer does */
	uint64_t rate_until;	 /* nobody is there: all by the rate until then */
	uint64_t heard_at;	 /* where a probe waits for its answer: since when */
	uint64_t asked_at;	 /* when the newest probe went */
	uint64_t ask_every;	 /* how long until it is repeated */
	struct adv_note probe;	 /* the newest */
	struct adv_list waiting; /* QPs, by stall_node */
	struct adv_timer timer;
};

struct adv_qpn_range {
	uint32_t first;
	uint32_t count;
	uint32_t next;	 /* of those that no QP has had yet ... */
	uint32_t fresh;	 /* ... and how many these are */
	uint32_t *freed; /* ring of `count`: those given back, the longest ago first */
	uint32_t freed_head;
	uint32_t freed_count;
	struct adv_qp **qp;
	struct adv_srq **srq; /* of XRC domains, by number; NULL: none ever */
	uint32_t srqs;	      /* how many */
	uint32_t srq_next;    /* where to look for a free one: reused as late as can be */
};

struct adv_engine {
	struct adv_rng rng;
	uint64_t secret_key[2]; /* of the numbers that others see */
	struct adv_engine_counters counters;
	struct adv_qpn_range range[ADV_ENGINE_RANGES];
	unsigned ranges;
	struct adv_list tx_ready; /* QPs to look at, in turn */
	struct adv_list stalled;  /* QPs that wait for total_window */
	struct adv_list held;	  /* QPs that adv_engine_hold() keeps, by tx_node */
	uint64_t held_dscps;
	struct adv_list delayed; /* QPs whose ACK waits, by the time that it must go out */
	uint64_t ack_delay;
	uint32_t in_flight;
	uint32_t window;
	uint32_t total_window;
	uint32_t unreliable_mbps;
	uint8_t timeout_ticks;
	struct adv_pacer unreliable_pacer; /* of UC and UD together */
	struct adv_cc_config cc;
	uint32_t line_mbps;
	uint32_t pace_burst; /* bytes */
	bool local_credit;
	bool local_memory;
	bool go_back_0;
	bool (*page_in)(void *addr, uint64_t length, bool to_write);
	struct adv_credit credit[ADV_CREDITS];
	struct adv_note note[ADV_NOTES]; /* ring of those that wait to be sent */
	uint32_t note_head;		 /* free running */
	uint32_t note_tail;
	struct adv_list cq_events;
	struct adv_list async_events;
	struct adv_timer_heap timers;
	struct adv_mr_table mrs;
	struct adv_engine_gid *gids;
	unsigned gid_count;
	const _Atomic uint16_t *sender_port; /* by prefix, see adv_engine_set_senders(); or NULL */
	const _Atomic uint16_t *sender_home;
	const void *owner; /* of what is made next */
	struct adv_list pds;
	struct adv_list cqs;
	struct adv_list srqs;
	struct adv_list xrcds;
	uint32_t pd_count;
	uint32_t cq_count;
	uint32_t srq_count;
	uint32_t xrcd_count;
	uint32_t xrc_used; /* SRQs of XRC domains */
	struct adv_list qps;
	struct adv_list groups;
	struct adv_ah *dead_ahs; /* packets of the last batch may refer to them */
	adv_injector *injector;	 /* NULL: nothing fails on purpose */
	void *injector_user;
	uint32_t numbers;  /* given to PDs, CQs and SRQs */
	uint32_t mw_count; /* of mrs.count */
};

/* ---- faults on purpose (inject.c) ---- */

/* What is to happen to the post, or to the completion, of a send request. 0: nothing. */
uint32_t adv_inject_send(const struct adv_qp *qp, enum adv_injection what, uint8_t wr_opcode);
/* The same of a receive request; qp or srq is NULL where it is posted to the other. */
uint32_t adv_inject_recv(const struct adv_qp *qp, const struct adv_srq *srq,
			 enum adv_injection what, uint8_t opcode);

/* True for an address of the GID table. */
bool adv_engine_has_gid(const struct adv_engine *e, const struct adv_gid *gid);
/* True for that, and for all of 127.0.0.0/8. */
bool adv_engine_is_here(const struct adv_engine *e, const struct adv_gid *gid);
/* False where it comes from this machine, but not from the port of the one who has src_qpn. */
bool adv_engine_sender_good(const struct adv_engine *e, uint32_t src_qpn,
			    const struct adv_rx_meta *meta);

/* qpn.c */
struct adv_qp *adv_engine_find_qp(const struct adv_engine *e, uint32_t qpn);
/* The range that has the number, or NULL. */
struct adv_qpn_range *adv_qpn_range_of(const struct adv_engine *e, uint32_t qpn);
/* Gives the QP the number that has rested longest. 0; ENOMEM: none is left. */
int adv_qpn_take(struct adv_engine *e, struct adv_qp *qp);
void adv_qpn_give_back(struct adv_engine *e, uint32_t qpn);
void adv_qpns_free(struct adv_engine *e);

#endif
