/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of a queue pair: its queues, its requester and its responder. The functions here are
 * those that every packet needs.
 */
#ifndef ADV_TRANSPORT_QP_STATE_H
#define ADV_TRANSPORT_QP_STATE_H

#include "transport/affiliated.h"
#include "transport/engine_state.h"

/* Packets that a QP may add to a batch before the next QP has its turn. */
#define ADV_QUANTUM 32

/* ---- queues ---- */

struct adv_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add;
	uint64_t swap;
	struct adv_ah *ah; /* UD */
	uint32_t rkey;
	uint32_t imm;	      /* network order; the R_Key to invalidate */
	uint32_t remote_qpn;  /* UD; XRC: number of the SRQ */
	uint32_t remote_qkey; /* UD; bind requests: the region's L_Key */
	uint32_t length;
	uint32_t first_psn;
	uint32_t psn_count; /* 0: a local request, executed when started */
	uint8_t opcode;	    /* enum ibv_wr_opcode */
	uint8_t send_flags;
	uint8_t num_sge;      /* 0 if the data is inline */
	bool started;	      /* first_psn is assigned, the SGEs have been checked */
	bool failed;	      /* completes with `status` as soon as it is the oldest */
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

struct adv_recv_wqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the SGEs */
	uint32_t num_sge;
	uint32_t index; /* SRQ: slot number */
	struct ibv_sge sge[];
};

struct adv_recv_queue {
	uint8_t *ring;
	uint32_t stride;
	uint32_t size;
	uint32_t max_sge;
	uint32_t head;
	uint32_t next; /* the next one that a message uses */
	uint32_t freed;
};

/* ---- requester ---- */

struct adv_requester {
	uint32_t next_psn; /* of the next packet: the cursor */
	uint32_t una_psn;  /* oldest unacknowledged */
	uint32_t max_psn;  /* one past the newest that was ever sent */
	uint32_t offset;   /* bytes of the cursor's request already sent (READ: requested) */
	uint32_t since_ackreq;
	uint32_t *rd_end;  /* ring of ends (exclusive) of READ and atomic requests in flight;
			    * allocated when the first one is posted */
	uint32_t rd_room;  /* power of two */
	uint32_t rd_limit; /* max_rd_atomic */
	uint32_t rd_head;
	uint32_t rd_tail;
	uint32_t read_chunk;  /* most packets of one READ request */
	uint32_t cwnd;	      /* packets */
	uint32_t cwnd_acked;  /* since cwnd last grew */
	uint32_t cwnd_half;   /* cwnd after the newest loss: below this it grows fast */
	uint32_t recover_psn; /* losses before this PSN have reduced cwnd already */
	uint8_t retry_left;
	uint8_t rnr_left;
	uint32_t late_psn; /* end of the packets in flight when answers were late: until all of
			    * these are acknowledged ... */
	uint8_t backoff;   /* ... retransmit_timer runs for this many timeouts */
	uint8_t ticks;	   /* timeouts within the current retry */
	bool unanswered;   /* a timeout has passed, and nothing was acknowledged since */
	bool gap_asked;	   /* lost responses were requested again: wait until una_psn moves */
	bool nak_heard;	   /* of the loss at una_psn; the network may repeat it. Until una_psn moves
			    * or a timeout passes */
	bool draining;	   /* SQD: an event is due when nothing is in flight */
	bool far;	   /* the cursor was at max_psn when the timeout passed ... */
	uint32_t far_head; /* ... with this rd_head ... */
	uint32_t far_end;  /* ... and this end of the oldest READ or atomic in flight */
	bool rnr_wait;	   /* rnr_nak_timer runs: nothing is sent */
	/* At most one of these runs at a time. They share their memory and place in the heap. */
	union {
		struct adv_timer timer;		   /* the one that runs */
		struct adv_timer retransmit_timer; /* RC and XRC: the Local ACK Timeout */
		struct adv_timer rnr_nak_timer;	   /* RC and XRC, after an RNR NAK */
		struct adv_timer rate_timer;	   /* UC and UD: the rate allows the next packet */
	};
};

/* ---- responder ---- */

/* An incoming READ or atomic, kept to answer it and its duplicates. */
struct adv_resource {
	uint32_t first_psn;
	uint32_t psn_count;
	uint32_t msn;
	uint32_t rkey;
	uint64_t va;
	const struct adv_pd *pd; /* of the region; compared only, it may have been destroyed */
	uint32_t length;
	uint32_t start;	   /* offset at which the (duplicate) request begins */
	uint32_t offset;   /* bytes already answered */
	uint32_t end;	   /* offset at which the request ends */
	uint32_t reached;  /* bytes answered by the furthest of all answers */
	uint32_t again;	   /* packets that the newest duplicate request may still repeat */
	uint64_t original; /* result of the atomic, host order */
	bool atomic;
	bool pending;  /* (more) response packets are to be sent */
	bool answered; /* all were sent at least once */
};

/* The message in progress. SKIP: UC, the rest of a damaged one. */
enum adv_message { ADV_MSG_NONE, ADV_MSG_SEND, ADV_MSG_WRITE, ADV_MSG_SKIP };

struct adv_responder {
	uint32_t epsn; /* expected */
	uint32_t msn;
	enum adv_message message;
	bool commed;   /* COMM_EST was reported */
	bool nak_sent; /* a NAK or RNR NAK for epsn was sent: send no other until epsn arrives */
	bool ack_pending;
	bool ack_behind; /* a delayed ACK: it goes out after requests */
	uint8_t answers; /* requests posted promptly after the peer's, see responder_ack.c */
	bool dead;	 /* after a NAK that ends the connection: answer nothing new */
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	uint64_t asked_at; /* arrival of a message that needs an ACK; 0: a request followed since */
	uint64_t ack_due;  /* deadline of a delayed ACK */
	struct adv_recv_wqe *recv; /* used by the message in progress */
	uint64_t offset;	   /* bytes of the message in progress */
	uint64_t write_va;
	uint32_t write_rkey;
	uint32_t write_length;
	struct adv_resource *res; /* ring of res_room, a power of two; allocated at the first
				   * request that needs one */
	uint32_t res_room;
	uint32_t res_limit;   /* max_dest_rd_atomic */
	uint32_t res_head;    /* free running: next to fill */
	uint32_t res_next;    /* free running: none before it is pending */
	uint32_t res_pending; /* how many have `pending` set */
	uint64_t res_spare;   /* packets that may be sent again for any request; responder_tx.c */
	bool cut; /* its quantum ended with responses left: requests go first next time */
};

/* ---- the queue pair ---- */

struct adv_qp {
	struct adv_engine *engine;
	/* XRC_RECV has none of these four. The SRQ of the current request lends it all but send_cq.
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
	struct adv_list delay_node; /* engine->delayed */
	struct adv_affiliated events;
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
	bool peer_is_here;	 /* path.dgid is an address of this machine */
	struct adv_send_queue sq;
	struct adv_recv_queue rq;
	struct adv_requester req;
	struct adv_responder resp;
	struct adv_flow *flow; /* see flow.h; NULL: no CE mark and no CNP has arrived */
};

static inline struct adv_send_wqe *adv_send_wqe_at(const struct adv_qp *qp, uint32_t index)
{
	return (struct adv_send_wqe *)(void *)(qp->sq.ring +
					       (size_t)(index & (qp->sq.size - 1)) * qp->sq.stride);
}

/* True for requests that a response other than an ACK answers. */
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

/* Adds the QP to the ready list: adv_engine_tx() then looks for its packets. */
static inline void adv_qp_schedule(struct adv_qp *qp)
{
	if (adv_list_empty(&qp->tx_node))
		adv_list_add_tail(&qp->engine->tx_ready, &qp->tx_node);
}

/* A completion was polled: the slots before `release` are free for posting. */
static inline void adv_qp_release_slots(struct adv_qp *qp, bool is_recv, uint32_t release)
{
	uint32_t *freed = is_recv ? &qp->rq.freed : &qp->sq.freed;

	if ((int32_t)(release - *freed) > 0)
		*freed = release;
}

#endif
