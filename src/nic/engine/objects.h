/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects of an engine (IBTA 10 and 11): domains, memory regions and windows, completion
 * queues, shared receive queues, address handles, queue pairs. See engine.h.
 */
#ifndef ADV_NIC_ENGINE_OBJECTS_H
#define ADV_NIC_ENGINE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "nic/wire/packet.h"

struct adv_engine;
struct adv_cq;
struct adv_srq;
struct adv_qp;
struct adv_mr;
struct adv_mw;
struct adv_pd;
struct adv_xrcd;

/* Limits of the device, as ibv_query_device() returns them. */
#define ADV_MAX_QP_WR	    32768
#define ADV_MAX_CQE	    (1 << 22)
#define ADV_MAX_SRQ_WR	    32768
#define ADV_MAX_XRC_SRQ	    (1 << 16)
#define ADV_MAX_INLINE	    1024
#define ADV_MAX_RD_ATOMIC   128
#define ADV_MAX_MSG	    0x80000000u /* 2^31 bytes */
#define ADV_MAX_GIDS	    256
#define ADV_MAX_MR	    (1 << 20) /* regions and windows together */
#define ADV_MAX_CQ	    (1 << 19)
#define ADV_MAX_SRQ	    (1 << 17)
#define ADV_MAX_PD	    (1 << 17) /* the limit of XRC domains too */
#define ADV_MAX_AH	    (1 << 20)
#define ADV_MAX_MCAST_QP    240

#define ADV_ENGINES_SHARING 8 /* most engines that share protection domains and regions */

/* ---- protection domains and memory -------------------------------------------------- */

struct adv_pd *adv_pd_create(struct adv_engine *e); /* NULL: ENOMEM, also beyond ADV_MAX_PD */
int adv_pd_destroy(struct adv_pd *pd);		    /* 0, or EBUSY while it has objects */

/*
 * Registers `length` bytes at addr. Requests address them from iova on: it is addr, 0 for
 * zero-based regions, or any value. access: IBV_ACCESS_* bits; optional bits are ignored.
 * REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE, else EINVAL. A region of 0 bytes grants access
 * to nothing. The memory must stay mapped until deregistration, unless ON_DEMAND is set and the
 * engine has page_in(). Returns NULL with errno EINVAL or ENOMEM.
 */
struct adv_mr *adv_mr_register(struct adv_pd *pd, void *addr, uint64_t length, uint64_t iova,
			       int access);
/*
 * Changes the attributes that the IBV_REREG_MR_* bits of `flags` name. The keys change only if the
 * translation changes. Returns 0 or an errno; after an error the region is unchanged. EBUSY: a
 * window is bound to the region.
 */
int adv_mr_reregister(struct adv_mr *mr, int flags, struct adv_pd *pd, void *addr, uint64_t length,
		      uint64_t iova, int access);
/* Moves the region to other memory of the same length; its keys stay. For simulators: the engine
 * must not have processed a packet or a work request that uses the region. */
void adv_mr_move(struct adv_mr *mr, void *addr);
/* Destroys the region. After this call no packet and no work request uses the memory; outstanding
 * requests that need it fail. Returns 0, or EBUSY while a window is bound to the region. */
int adv_mr_deregister(struct adv_mr *mr);
/* For a region of on-demand paging: sets *where to the address of [va, va + length) in this
 * process. Returns 0 or an errno of ibv_advise_mr(3): ENOENT, EINVAL, EPERM, EFAULT. */
int adv_mr_paged(const struct adv_pd *pd, uint32_t lkey, uint64_t va, uint64_t length,
		 bool to_write, void **where);
uint32_t adv_mr_lkey(const struct adv_mr *mr);
uint32_t adv_mr_rkey(const struct adv_mr *mr);

/*
 * Creates a memory window (IBTA 10.6.7). Send requests bind and invalidate windows; they name
 * windows and regions by key. IBV_WR_BIND_MW binds type 2. ADV_WR_BIND_TYPE_1 binds type 1, with
 * the same members of the request. IBV_WR_LOCAL_INV and the peer's IBV_WR_SEND_WITH_INV invalidate
 * type 2. A type 2 window is also bound to the QP (2B): only the QP's peer has access. Returns NULL
 * with errno EINVAL or ENOMEM.
 */
struct adv_mw *adv_mw_create(struct adv_pd *pd, enum ibv_mw_type type);
void adv_mw_destroy(struct adv_mw *mw); /* the window may be bound; its R_Key becomes invalid */
uint32_t adv_mw_rkey(const struct adv_mw *mw);

/* ---- completion queues -------------------------------------------------------------- */

/* A completion in a CQ. */
struct adv_cqe {
	struct ibv_wc wc;
	uint64_t timestamp; /* ns, the engine's clock */
	struct adv_qp *qp;  /* NULL after the QP was destroyed */
	uint32_t release; /* internal: polling the completion frees the queue slots before this slot
			   */
	bool is_recv;
};

/* user: the caller's pointer, see adv_cq_user(). NULL with errno EINVAL or ENOMEM (also beyond
 * ADV_MAX_CQ). */
struct adv_cq *adv_cq_create(struct adv_engine *e, unsigned cqe, void *user);
bool adv_cq_in_use(const struct adv_cq *cq); /* true while a QP or SRQ uses it */
int adv_cq_destroy(struct adv_cq *cq);	     /* 0, or EBUSY while it is in use */
/* Changes the capacity. Returns 0, ENOMEM or EINVAL: out of range, or less than the completions in
 * the CQ. */
int adv_cq_resize(struct adv_cq *cq, unsigned cqe);
unsigned adv_cq_capacity(const struct adv_cq *cq); /* at least the requested capacity */
void *adv_cq_user(const struct adv_cq *cq);
/* Dequeues at most n completions. Returns their number, or -1 if the CQ is empty after an overrun
 * (ibv_poll_cq(3)). */
int adv_cq_poll(struct adv_cq *cq, int n, struct ibv_wc *wc);
/* Returns the oldest completion but leaves it in the CQ, for extended CQs; NULL: the CQ is empty.
 * adv_cq_pop() dequeues it. */
const struct adv_cqe *adv_cq_peek(struct adv_cq *cq);
void adv_cq_pop(struct adv_cq *cq);
bool adv_cq_empty(const struct adv_cq *cq);
unsigned adv_cq_count(const struct adv_cq *cq); /* completions in the CQ */
/* Arms the CQ for one event: at the next completion or, if solicited_only, at the next solicited or
 * failed completion. */
void adv_cq_arm(struct adv_cq *cq, bool solicited_only);
/* True if the CQ is armed; sets *solicited_only then. */
bool adv_cq_is_armed(const struct adv_cq *cq, bool *solicited_only);
/* Sets event moderation: an armed event is raised after `count` completions, or period_ns after the
 * first of them. 0, 0: no moderation. */
int adv_cq_moderate(struct adv_cq *cq, unsigned count, uint64_t period_ns);

/* ---- shared receive queues ---------------------------------------------------------- */

/* attr has the requested max_wr and max_sge; the function sets them to the actual values. Returns
 * NULL with errno EINVAL or ENOMEM (also beyond ADV_MAX_SRQ). */
struct adv_srq *adv_srq_create(struct adv_engine *e, struct adv_pd *pd, struct ibv_srq_attr *attr,
			       void *user);
bool adv_srq_in_use(const struct adv_srq *srq); /* true while a QP uses it */
/* Returns 0, or EBUSY while the SRQ is in use. An SRQ of an XRC domain is never in use: later
 * requests for it are refused, and a message in progress loses its receive request. */
int adv_srq_destroy(struct adv_srq *srq);
/* mask: IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR. Returns 0, ENOMEM or EINVAL (for example, less room than the
 * outstanding requests or the limit). After an error nothing has changed. */
int adv_srq_modify(struct adv_srq *srq, const struct ibv_srq_attr *attr, int mask);
void adv_srq_query(const struct adv_srq *srq, struct ibv_srq_attr *attr);
int adv_srq_post(struct adv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
void *adv_srq_user(const struct adv_srq *srq);

/* ---- XRC (annex A14) ------------------------------------------------------------------ */

/*
 * Creates a domain of SRQs and of the XRC_RECV QPs that may use them. Each request names an SRQ of
 * the domain by number. The receive request completes in the CQ of that SRQ, with the QP's number;
 * the completion stays there if the QP is destroyed. Requests access the memory of that SRQ's PD.
 */
struct adv_xrcd *adv_xrcd_create(struct adv_engine *e); /* NULL: ENOMEM; at most ADV_MAX_PD */
int adv_xrcd_destroy(struct adv_xrcd *xrcd); /* 0, or EBUSY while an SRQ or QP is in it */
/* Returns the XRC_RECV QP of the domain with this number; NULL: none. */
struct adv_qp *adv_xrcd_find_qp(const struct adv_xrcd *xrcd, uint32_t qpn);
/* As adv_srq_create(), but in an XRC domain. Receive requests complete in cq. The CQ is in use
 * until the SRQ is destroyed. */
struct adv_srq *adv_srq_create_xrc(struct adv_pd *pd, struct adv_xrcd *xrcd, struct adv_cq *cq,
				   struct ibv_srq_attr *attr, void *user);
/* Returns the number by which requests name the SRQ: 24 bits, from the engine's QP number ranges,
 * so that two engines have no number in common. 0: the SRQ is not in an XRC domain. */
uint32_t adv_srq_number(const struct adv_srq *srq);

/* ---- address handles ---------------------------------------------------------------- */

/*
 * Fills in path from attr. attr must have is_global, a valid sgid_index and port 1. If attr's flow
 * label is 0, the source port depends on lqpn and rqpn (0, 0 for an address handle). Returns 0 or
 * EINVAL.
 */
int adv_qp_path_from_attr(struct adv_engine *e, const struct ibv_ah_attr *attr, uint32_t lqpn,
			  uint32_t rqpn, struct adv_path *path);

/* An address handle. wr.ud.ah of a UD request points to it, so ibv must stay the first member. The
 * caller allocates zeroed memory with calloc(3) and fills in path and pd. Of engines that share the
 * PD, the first uses the handle itself and each other one a copy of its own. */
struct adv_ah {
	struct ibv_ah ibv;
	struct adv_path path;
	struct adv_pd *pd;
	uint32_t outstanding; /* requests that refer to the handle */
	bool destroyed;
	struct adv_ah *next; /* next in the list that adv_engine_tx() frees */
	struct adv_ah *copy[ADV_ENGINES_SHARING - 1]; /* by number of the engine - 1; or NULL */
};

/* Frees the handle when no request refers to it any more. Programs may destroy a handle right after
 * posting, because other drivers copy handles. Needs the locks of all engines that share the PD. */
void adv_ah_destroy(struct adv_ah *ah);

/* ---- queue pairs -------------------------------------------------------------------- */

/* XRC_SEND uses pd and send_cq. XRC_RECV uses xrcd. For XRC, all other members from pd to xrcd are
 * ignored. */
struct adv_qp_config {
	enum ibv_qp_type type; /* RC, UC, UD, XRC_SEND or XRC_RECV; else EOPNOTSUPP */
	struct adv_pd *pd;
	struct adv_cq *send_cq;
	struct adv_cq *recv_cq;
	struct adv_srq *srq; /* or NULL */
	struct adv_xrcd *xrcd;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	bool block_self_multicast; /* receives no copy of what it sends to its own groups */
	void *user;
};

/* Sets config->cap to the actual capacities. NULL with errno EINVAL, ENOMEM, EOPNOTSUPP. */
struct adv_qp *adv_qp_create(struct adv_engine *e, struct adv_qp_config *config);
bool adv_qp_in_use(const struct adv_qp *qp); /* true while attached to a multicast group */
/* Destroys the QP and removes its completions from the CQs. Returns 0, or EBUSY while the QP is in
 * use. */
int adv_qp_destroy(struct adv_qp *qp);
/* Changes attributes and state by the tables of ibv_modify_qp(3). Returns 0, EINVAL (nothing has
 * changed) or ENOMEM. */
int adv_qp_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);
/* True if `to`, to which the QP is connected, has not received all packets of the QP's posted send
 * requests. False also if that is not sure, as packets are sent again. */
bool adv_qp_is_ahead(const struct adv_qp *qp, const struct adv_qp *to);
void adv_qp_query(struct adv_qp *qp, struct ibv_qp_attr *attr, struct ibv_qp_init_attr *init);
uint32_t adv_qp_num(const struct adv_qp *qp);
enum ibv_qp_state adv_qp_state(const struct adv_qp *qp);
/* Returns how many requests of the QP's own receive queue were taken for messages or flushed, since
 * it left RESET last. */
uint32_t adv_qp_recvs_taken(const struct adv_qp *qp);
/* Returns how many requests of the send queue have ended, with a completion or without one, since
 * the QP left RESET last. */
uint32_t adv_qp_sends_ended(const struct adv_qp *qp);
/* Memory that a request names. */
struct adv_named_memory {
	uint64_t va;
	uint32_t rkey;
	uint32_t length; /* bytes; 0: not known */
};

/* True if the QP's newest error has this cause, and the responder has refused access to memory,
 * which the function returns. */
bool adv_qp_refused_memory(const struct adv_qp *qp, enum adv_vendor_err why,
			   struct adv_named_memory *memory);
/* Returns how many RNR NAKs the QP has sent, modulo 2^32. */
uint32_t adv_qp_rnr_naks(const struct adv_qp *qp);
/* Returns the number of messages that the QP has received completely, modulo 2^24 (the MSN of IBTA
 * 9.7.5.1.2). */
uint32_t adv_qp_messages(const struct adv_qp *qp);
/* Returns the payload bytes of requests that the QP has accepted: executed, or kept for their turn.
 * Only with adv_engine_config.selective, otherwise 0. */
uint64_t adv_qp_accepted(const struct adv_qp *qp);
/* Returns the payload bytes of the oldest unfinished send request that the peer has acknowledged,
 * or with a READ has sent. */
uint64_t adv_qp_acknowledged(const struct adv_qp *qp);
/* Returns the rate limit of congestion control, Mb/s; 0: none. */
uint32_t adv_qp_rate_limit(struct adv_qp *qp, uint64_t now);
void *adv_qp_user(const struct adv_qp *qp);
void adv_qp_set_user(struct adv_qp *qp, void *user);

/*
 * Opcodes that struct ibv_send_wr does not have (annex A19). ADV_WR_FLUSH uses wr.atomic:
 * remote_addr, rkey, compare_add = length, swap = placement type | selectivity level << 32.
 * ADV_WR_ATOMIC_WRITE uses wr.atomic with compare_add = the 8 bytes to write, in memory order.
 */
#define ADV_WR_FLUSH	    ((enum ibv_wr_opcode)14)
#define ADV_WR_ATOMIC_WRITE ((enum ibv_wr_opcode)15)
#define ADV_WC_FLUSH	    ((enum ibv_wc_opcode)8)
#define ADV_WR_BIND_TYPE_1  ((enum ibv_wr_opcode)16)

/*
 * Posts a list of requests. Returns 0, EINVAL (opcode, flags, SGE count, inline size, or a QP state
 * that accepts no requests) or ENOMEM (queue full). After an error, *bad_wr is the first request
 * that was not posted; the requests before it were posted.
 */
int adv_qp_post_send(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr);
int adv_qp_post_recv(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);

/* Attaches a UD QP to a multicast group. Attaching again has no effect. Returns 0, EINVAL (not a UD
 * QP or not a multicast GID) or ENOMEM (also beyond ADV_MAX_MCAST_QP). */
int adv_qp_attach_mcast(struct adv_qp *qp, const struct adv_gid *group);
int adv_qp_detach_mcast(struct adv_qp *qp, const struct adv_gid *group);

#endif
