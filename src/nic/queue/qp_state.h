/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a queue pair: its queues, its requester and its responder. Functions that every
 * packet needs are inline here. */
#ifndef ADV_NIC_QUEUE_QP_STATE_H
#define ADV_NIC_QUEUE_QP_STATE_H

#include "nic/engine/affiliated.h"
#include "nic/engine/state.h"

/* Packets that a QP may add to a batch before the next QP has its turn. */
#define ADV_QUANTUM 32

/* ---- queues ---- */

/* What the fast path uses comes last, beside the SGE. */
struct adv_send_wqe {
	uint64_t compare_add;
	uint64_t swap;
	struct adv_ah *ah;    /* UD */
	uint32_t remote_qpn;  /* UD: QP number of the destination; XRC: number of the SRQ */
	uint32_t remote_qkey; /* UD: Q_Key; bind requests: L_Key of the region */
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm; /* immediate data in network order, or the R_Key to invalidate */
	uint32_t length;
	uint32_t first_psn;
	uint32_t psn_count; /* 0: a local request, executed when it starts */
	uint8_t opcode;	    /* enum ibv_wr_opcode */
	uint8_t send_flags;
	uint8_t num_sge;      /* 0 if the data is inline */
	bool started;	      /* first_psn is assigned, the SGEs have been checked */
	bool failed;	      /* completes with `status` when it is the oldest request */
	uint8_t status;	      /* enum ibv_wc_status */
	uint8_t vendor_err;   /* enum adv_vendor_err */
	uint32_t posted;      /* adv_latency_time() of the post */
	struct ibv_sge sge[]; /* if num_sge is 0: the inline bytes */
};

struct adv_send_queue {
	uint8_t *ring; /* `size` entries of `stride` bytes; allocated at the first post */
	uint32_t stride;
	uint32_t size;	    /* power of two */
	uint32_t fast_room; /* slots for the fast path: `size`; 0: there is no ring, or no SGE */
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t head;	/* next slot to post; free running */
	uint32_t next;	/* next request to send (the cursor) */
	uint32_t tail;	/* oldest request that has not completed */
	uint32_t freed; /* oldest slot that is not free for posting; moves when completions are
			   polled */
};

struct adv_recv_wqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the SGEs */
	uint32_t num_sge;
	uint32_t index; /* SRQ: slot number */
	struct ibv_sge sge[];
};

/* The region that was found last. */
struct adv_mr_memo {
	const struct adv_mr *mr;
	uint64_t generation; /* adv_engine.mr_generation then; 0: no region was found yet */
};

struct adv_recv_queue {
	uint8_t *ring;
	uint32_t stride;
	uint32_t size;
	uint32_t fast_room; /* as in struct adv_send_queue */
	uint32_t max_sge;
	uint32_t head;
	uint32_t next; /* next request that a message uses */
	uint32_t freed;
	struct adv_mr_memo memo; /* L_Key of requests */
};

/* ---- requester ---- */

/* The first cache line has what each packet needs. */
struct adv_requester {
	/* At most one of these timers runs at a time, so they share memory and the place in the
	 * heap. */
	union {
		struct adv_timer timer;		   /* the running timer */
		struct adv_timer retransmit_timer; /* RC and XRC: the Local ACK Timeout */
		struct adv_timer rnr_nak_timer;	   /* RC and XRC, after an RNR NAK */
		struct adv_timer rate_timer;	   /* UC and UD: the rate allows a packet */
	};
	uint32_t next_psn; /* PSN of the next packet: the cursor */
	uint32_t una_psn;  /* oldest unacknowledged PSN */
	uint32_t max_psn;  /* PSN after the newest that was ever sent */
	uint32_t offset;   /* bytes of the cursor's request already sent (READ: requested) */
	uint32_t since_ackreq;
	uint32_t cwnd; /* packets */
	uint8_t retry_left;
	uint8_t rnr_left;
	uint8_t backoff; /* duration of retransmit_timer, in timeouts */
	uint8_t ticks;	 /* timeouts that passed in the current retry */
	bool unanswered; /* nothing was acknowledged since the last timeout */
	bool gap_asked; /* the lost responses were requested again. No further request until una_psn
			   moves */
	bool nak_heard; /* the NAK of the loss at una_psn arrived: copies of it are ignored until
			   una_psn moves or a timeout passes */
	bool rnr_wait;	/* rnr_nak_timer runs; no request is sent */
	uint32_t rd_head;
	uint32_t rd_tail;
	uint32_t *rd_end;     /* ring of the PSNs after each READ and atomic request in flight;
				 allocated when the first such request is posted */
	uint32_t rd_room;     /* power of two */
	uint32_t rd_limit;    /* max_rd_atomic */
	uint32_t read_chunk;  /* most packets of one READ request */
	uint32_t cwnd_acked;  /* packets acknowledged since cwnd last grew */
	uint32_t cwnd_half;   /* cwnd after the newest loss; below it cwnd grows fast */
	uint32_t recover_psn; /* losses before this PSN have reduced cwnd already */
	uint32_t late_psn; /* max_psn at the last late answer or timeout. Until all packets before
			      it are acknowledged, `backoff` applies */
	uint32_t far_head; /* rd_head at that timeout */
	uint32_t far_end;  /* rd_end of the oldest READ or atomic at that timeout */
	uint32_t long_end; /* if long_sent: PSN after the newest long packet */
	bool far; /* at the timeout, a READ or atomic was in flight and the cursor was at max_psn */
	bool unread; /* with gap_asked: a payload could not be read, so the peer has recalled it */
	bool draining;	/* SQD: the send queue drains */
	bool long_sent; /* a long packet was sent: its payload may still be read */
};

/* ---- responder ---- */

/* A received READ, atomic or FLUSH request. It is kept to answer the request and its duplicates. */
struct adv_responder_resource {
	uint32_t first_psn;
	uint32_t psn_count;
	uint32_t msn;
	uint32_t rkey;
	uint64_t va;
	const struct adv_pd *pd; /* PD of the region; only compared: it may be freed */
	uint32_t length;
	uint32_t start;	   /* offset at which the (duplicate) request begins */
	uint32_t offset;   /* bytes already answered */
	uint32_t end;	   /* offset at which the request ends */
	uint32_t reached;  /* offset that the furthest answer so far has reached */
	uint32_t again;	   /* packets that may still be repeated for the newest duplicate request */
	uint64_t original; /* result of the atomic, host order */
	bool atomic;
	bool pending;	/* response packets are still to be sent */
	bool answered;	/* all response packets were sent at least once */
	bool long_sent; /* with a long one among them, whose payload the peer may not have read */
};

/* Kind of the message in progress. SKIP: UC drops the rest of a damaged message. */
enum adv_message { ADV_MSG_NONE, ADV_MSG_SEND, ADV_MSG_WRITE, ADV_MSG_SKIP };

enum adv_nak_sent {
	ADV_NO_NAK_SENT,
	ADV_NAK_SENT,
	ADV_RNR_NAK_SENT, /* the peer sends all packets again: those behind it are not lost */
};

/* The first cache line has what each packet needs. */
struct adv_responder {
	uint32_t epsn; /* expected PSN */
	uint32_t msn;
	enum adv_message message;
	bool commed;	  /* COMM_EST was reported */
	uint8_t nak_sent; /* enum adv_nak_sent: for epsn; no further one until epsn arrives */
	bool ack_pending;
	bool ack_behind; /* the pending ACK was delayed and is sent after requests */
	uint8_t answers; /* score of the program's prompt answers, see nic/responder/ack.c */
	bool dead;	 /* a NAK has ended the connection: new requests are not answered */
	uint8_t ack_syndrome;
	bool ack_marked; /* the next ACK carries a mark (BECN) */
	bool long_sent;	 /* a long response was sent: its payload may still be read */
	bool cut; /* the turn ended before the responses did: requests go first in the next */
	uint32_t ack_psn;
	uint32_t res_pending;	   /* entries of `res` with `pending` set */
	struct adv_recv_wqe *recv; /* receive request of the message in progress */
	uint64_t offset;	   /* bytes of the message in progress */
	uint64_t write_va;
	uint32_t write_rkey;
	uint32_t write_length;
	uint64_t asked_at; /* time at which the newest message with an ACK arrived; 0: the program
			      has posted a request since */
	uint64_t ack_due;  /* deadline of a delayed ACK */
	struct adv_responder_resource *res; /* ring with res_room entries, a power of two; allocated
				     at the first request that needs it */
	uint32_t res_room;
	uint32_t res_limit; /* max_dest_rd_atomic */
	uint32_t res_head;  /* next entry to fill; free running */
	uint32_t res_next;  /* no entry before it is pending; free running */
	uint64_t res_spare; /* packets that may be sent again for any request, see
			       nic/responder/tx.c */
};

/* ---- the fast path (fast.c) ---- */

struct adv_fast {
	uint64_t bth;		   /* first 8 bytes of each BTH, without opcode and flags */
	struct adv_mr_memo send;   /* L_Key of send requests */
	struct adv_mr_memo remote; /* R_Key of the peer's WRITEs */
};

/* ---- the queue pair ---- */

/* The newest failed request or asynchronous error of a QP. Flushed requests do not count. */
struct adv_qp_error {
	uint64_t at;	/* time, ns of the engine's clock */
	uint64_t wr_id; /* of a failed request */
	uint8_t kind;	/* enum adv_qp_error_kind */
	uint8_t status; /* enum ibv_wc_status or enum ibv_event_type, by kind */
	uint8_t cause;	/* enum adv_vendor_err */
	uint8_t opcode; /* send request: enum ibv_wr_opcode */
	/* Memory of the responder to which it refused access. */
	bool names_memory;
	uint32_t rkey;
	uint32_t length; /* bytes; 0: not known */
	uint64_t va;
};

/* The first members, up to `resp`, are laid out by cache lines: what packets need is in few. */
struct adv_qp {
	struct adv_engine *engine;
	struct adv_fast fast;
	uint16_t pkey;	   /* of the table's entry attr.pkey_index; from INIT on */
	bool peer_is_here; /* path.dgid is an address of this machine */
	uint8_t service;   /* enum adv_service */
	bool reliable;	   /* RC and XRC */
	bool sq_sig_all;
	bool block_self_multicast; /* as of adv_qp_config */
	enum ibv_qp_type type;
	enum ibv_qp_state state;
	struct adv_path path;	 /* RC, UC: from RTR on */
	struct adv_list tx_node; /* engine->tx_ready */
	uint32_t unusual;	 /* enum adv_unusual: reasons for the general path; 0: none */
	uint32_t mtu;		 /* bytes, from attr.path_mtu; UD: MTU of the port */
	struct ibv_qp_attr attr; /* attributes as set by modify and returned by query */
	struct adv_flow *flow;	 /* see flow.h; NULL: no CE mark and no CNP has arrived */
	void *user;
	/* Histograms of completed send requests, see completed.h: of this QP, modulo 2^32 (NULL: no
	 * request has completed), and of all QPs of the engine. */
	uint32_t *latency;
	struct adv_send_queue sq;
	uint64_t *latency_of_all;
	struct adv_selective *selective; /* see selective.h; NULL: go-back-N or go-back-0 */
	struct adv_requester req;
	struct adv_responder resp;
	/* XRC_RECV has no pd, send_cq, recv_cq and srq of its own. The SRQ of the current request
	 * lends it pd, recv_cq and srq. */
	struct adv_cq *send_cq;
	struct adv_cq *recv_cq;
	struct adv_recv_queue rq;
	struct adv_srq *srq;
	struct adv_pd *pd;
	struct adv_xrcd *xrcd;	    /* XRC_RECV */
	struct adv_list node;	    /* engine->qps */
	struct adv_list windows;    /* type 2 windows bound to the QP */
	struct adv_list stall_node; /* in engine->stalled (RC) or adv_credit.waiting (UC, UD) */
	struct adv_list delay_node; /* engine->delayed */
	struct adv_affiliated events;
	uint32_t qpn;
	uint32_t opcodes;	/* of send requests that the QP can execute, one bit each */
	bool last_wqe_reported; /* IBV_EVENT_QP_LAST_WQE_REACHED was raised */
	bool sqd_event_wanted;
	struct adv_qp_error error;
	void *connection; /* the protocol's, see protocol.h; NULL with RoCE */
	/* Share of the QP in each counter of the engine, by position, since the QP was created,
	 * modulo 2^32. Counters that the fast path increments have no share. */
	uint32_t share[ADV_ENGINE_COUNTERS];
} __attribute__((aligned(ADV_CACHE_LINE)));

/* Increments a counter of the QP's engine, and the QP's share of it. */
static inline void adv_qp_count(struct adv_qp *qp, uint64_t *counter)
{
	++*counter;
	qp->share[counter - (uint64_t *)(void *)&qp->engine->counters]++;
}

static inline struct adv_send_wqe *adv_send_wqe_at(const struct adv_qp *qp, uint32_t index)
{
	return (struct adv_send_wqe *)(void *)(qp->sq.ring +
					       (size_t)(index & (qp->sq.size - 1)) * qp->sq.stride);
}

/* True for requests whose answer is a response, not an ACK. */
static inline bool adv_send_wqe_wants_response(const struct adv_send_wqe *wqe)
{
	switch ((int)wqe->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case ADV_WR_FLUSH:
	case ADV_WR_ATOMIC_WRITE:
		return true;
	default:
		return false;
	}
}

/* True for requests that send no packet: bind and invalidate requests of memory windows. */
static inline bool adv_send_wqe_is_local(const struct adv_send_wqe *wqe)
{
	switch ((int)wqe->opcode) {
	case IBV_WR_BIND_MW:
	case ADV_WR_BIND_TYPE_1:
	case IBV_WR_LOCAL_INV:
		return true;
	default:
		return false;
	}
}

static inline struct adv_recv_wqe *adv_recv_wqe_at(const struct adv_qp *qp, uint32_t index)
{
	return (struct adv_recv_wqe *)(void *)(qp->rq.ring +
					       (size_t)(index & (qp->rq.size - 1)) * qp->rq.stride);
}

static inline bool adv_qp_can_receive(const struct adv_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
	       qp->state == IBV_QPS_SQE;
}

/* Adds the QP to the ready list, so that adv_engine_tx() gives it a turn. */
static inline void adv_qp_schedule(struct adv_qp *qp)
{
	if (adv_list_empty(&qp->tx_node))
		adv_list_add_tail(&qp->engine->tx_ready, &qp->tx_node);
	qp->engine->front.todo |= ADV_TODO_TX;
}

/* True if a small request may wait, so that one system call sends several. It may wait if packets
 * are in flight, because the owner then receives soon, and if the link is not shared memory. */
static inline bool adv_qp_may_wait(const struct adv_qp *qp)
{
	return qp->engine->in_flight > 0 && !(qp->peer_is_here && qp->engine->local_memory);
}

/* Frees the queue slots before `release` for posting. Called when a completion is polled. */
static inline void adv_qp_release_slots(struct adv_qp *qp, bool is_recv, uint32_t release)
{
	uint32_t *freed = is_recv ? &qp->rq.freed : &qp->sq.freed;

	if ((int32_t)(release - *freed) > 0)
		*freed = release;
}

#endif
