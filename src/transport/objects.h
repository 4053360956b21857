/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects of an engine (IBTA 10 and 11): domains, memory regions and windows, completion
 * queues, shared receive queues, address handles, queue pairs. See engine.h.
 */
#ifndef ADV_TRANSPORT_OBJECTS_H
#define ADV_TRANSPORT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "wire/packet.h"

struct adv_engine;
struct adv_cq;
struct adv_srq;
struct adv_qp;
struct adv_mr;
struct adv_mw;
struct adv_pd;
struct adv_xrcd;

/* Limits of the device, as ibv_query_device() returns them. */
#define ADV_MAX_QP_WR	  32768
#define ADV_MAX_CQE	  (1 << 22)
#define ADV_MAX_SRQ_WR	  32768
#define ADV_MAX_XRC_SRQ	  (1 << 16)
#define ADV_MAX_INLINE	  1024
#define ADV_MAX_RD_ATOMIC 128
#define ADV_MAX_MSG	  0x80000000u /* 2^31 bytes */
#define ADV_MAX_GIDS	  256
#define ADV_MAX_MR	  (1 << 20) /* regions and windows together */
#define ADV_MAX_CQ	  (1 << 19)
#define ADV_MAX_SRQ	  (1 << 17)
#define ADV_MAX_PD	  (1 << 17) /* the limit of XRC domains too */
#define ADV_MAX_AH	  (1 << 20)
#define ADV_MAX_MCAST_QP  240

/* ---- protection domains and memory -------------------------------------------------- */

struct adv_pd *adv_pd_create(struct adv_engine *e); /* NULL: ENOMEM, also beyond ADV_MAX_PD */
int adv_pd_destroy(struct adv_pd *pd);		    /* 0, or EBUSY while it has objects */

/*
 * Registers `length` bytes at addr. Remote peers address them from iova on: equal to addr, 0 for
 * zero-based regions, or the caller's choice. access: IBV_ACCESS_*; optional bits are ignored;
 * REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE (EINVAL). A region of 0 bytes grants access to
 * nothing. The memory must stay mapped until deregistration, unless ON_DEMAND is set and the engine
 * has page_in(). NULL with errno EINVAL or ENOMEM.
 */
struct adv_mr *adv_mr_register(struct adv_pd *pd, void *addr, uint64_t length, uint64_t iova,
			       int access);
/* Changes what the IBV_REREG_MR_* bits of `flags` name. The keys change only with the translation.
 * 0 or an errno; after an error the region is unchanged. */
int adv_mr_reregister(struct adv_mr *mr, int flags, struct adv_pd *pd, void *addr, uint64_t length,
		      uint64_t iova, int access);
/* After this call no packet and no work request uses the memory; outstanding ones fail. 0, or EBUSY
 * while a window is bound to it. adv_mr_reregister() returns EBUSY then, too. */
int adv_mr_deregister(struct adv_mr *mr);
/* Sets *where to the address of [va, va + length) of a region of on-demand paging in this process.
 * 0 or an errno of ibv_advise_mr(3): ENOENT, EINVAL, EPERM, EFAULT. */
int adv_mr_paged(const struct adv_pd *pd, uint32_t lkey, uint64_t va, uint64_t length,
		 bool to_write, void **where);
uint32_t adv_mr_lkey(const struct adv_mr *mr);
uint32_t adv_mr_rkey(const struct adv_mr *mr);

/*
 * Memory windows (IBTA 10.6.7). Requests of a send queue bind and invalidate them; they name
 * windows and regions by key. IBV_WR_BIND_MW binds type 2. ADV_WR_BIND_TYPE_1 binds type 1, with
 * the same members of the request. IBV_WR_LOCAL_INV and the peer's IBV_WR_SEND_WITH_INV invalidate
 * type 2. Type 2 is bound to the QP as well (2B): only its peer has access. NULL with errno EINVAL
 * or ENOMEM.
 */
struct adv_mw *adv_mw_create(struct adv_pd *pd, enum ibv_mw_type type);
void adv_mw_destroy(struct adv_mw *mw); /* bound or not; its R_Key is invalid afterwards */
uint32_t adv_mw_rkey(const struct adv_mw *mw);

/* ---- completion queues -------------------------------------------------------------- */

/* A completion in a CQ: struct ibv_wc and its time. */
struct adv_cqe {
	struct ibv_wc wc;
	uint64_t timestamp; /* ns, the engine's clock */
	struct adv_qp *qp;  /* NULL after the QP was destroyed */
	uint32_t release;   /* internal: polling it frees the queue slots before this one */
	bool is_recv;
};

/* user: the caller's pointer, see adv_cq_user(). NULL with errno EINVAL or ENOMEM (also beyond
 * ADV_MAX_CQ). */
struct adv_cq *adv_cq_create(struct adv_engine *e, unsigned cqe, void *user);
bool adv_cq_in_use(const struct adv_cq *cq); /* by a QP or an SRQ */
int adv_cq_destroy(struct adv_cq *cq);	     /* 0, or EBUSY while it is in use */
/* 0; EINVAL: out of range, or less than the completions in it; ENOMEM. */
int adv_cq_resize(struct adv_cq *cq, unsigned cqe);
unsigned adv_cq_capacity(const struct adv_cq *cq); /* at least the requested one */
void *adv_cq_user(const struct adv_cq *cq);
/* Dequeues up to n completions. Returns how many, or -1 after an overrun (ibv_poll_cq(3)). */
int adv_cq_poll(struct adv_cq *cq, int n, struct ibv_wc *wc);
/* Returns the oldest completion and leaves it in the CQ, for extended CQs; NULL: empty.
 * adv_cq_pop() dequeues it. */
const struct adv_cqe *adv_cq_peek(struct adv_cq *cq);
void adv_cq_pop(struct adv_cq *cq);
bool adv_cq_empty(const struct adv_cq *cq);
unsigned adv_cq_count(const struct adv_cq *cq); /* completions in it */
/* Arms the CQ: one event at the next completion, or at the next solicited or failed one. */
void adv_cq_arm(struct adv_cq *cq, bool solicited_only);
/* Event moderation: at most one event for each `count` completions, or period_ns after the first.
 * 0, 0: no moderation. */
int adv_cq_moderate(struct adv_cq *cq, unsigned count, uint64_t period_ns);

/* ---- shared receive queues ---------------------------------------------------------- */

/* attr: max_wr and max_sge, requested and actual. NULL with errno EINVAL, ENOMEM (also beyond
 * ADV_MAX_SRQ). */
struct adv_srq *adv_srq_create(struct adv_pd *pd, struct ibv_srq_attr *attr, void *user);
bool adv_srq_in_use(const struct adv_srq *srq); /* by a QP */
/* 0, or EBUSY while it is in use. An SRQ of an XRC domain is never in use: later requests for it
 * are refused, and a message in progress loses its receive request. */
int adv_srq_destroy(struct adv_srq *srq);
/* mask: IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR. 0, EINVAL (e.g. less room than the outstanding requests or
 * the limit), ENOMEM; nothing has changed after an error. */
int adv_srq_modify(struct adv_srq *srq, const struct ibv_srq_attr *attr, int mask);
void adv_srq_query(const struct adv_srq *srq, struct ibv_srq_attr *attr);
int adv_srq_post(struct adv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
void *adv_srq_user(const struct adv_srq *srq);

/* ---- XRC (annex A14) ------------------------------------------------------------------ */

/*
 * A domain has SRQs and the XRC_RECV QPs that may use them: each request names an SRQ of the domain
 * by number. The receive completes in that SRQ's CQ with the QP's number, and stays there when the
 * QP is destroyed. Remote access is to the memory of that SRQ's PD.
 */
struct adv_xrcd *adv_xrcd_create(struct adv_engine *e); /* NULL: ENOMEM; at most ADV_MAX_PD */
int adv_xrcd_destroy(struct adv_xrcd *xrcd); /* 0, or EBUSY while an SRQ or QP is in it */
/* Returns the XRC_RECV QP of the domain with this number; NULL: none. */
struct adv_qp *adv_xrcd_find_qp(const struct adv_xrcd *xrcd, uint32_t qpn);
/* As adv_srq_create(), in an XRC domain. Receives complete in cq, which is in use until the SRQ is
 * destroyed. */
struct adv_srq *adv_srq_create_xrc(struct adv_pd *pd, struct adv_xrcd *xrcd, struct adv_cq *cq,
				   struct ibv_srq_attr *attr, void *user);
/* Returns the number by which requests name the SRQ: 24 bits, from the engine's QP number ranges,
 * so that two engines have no number in common. 0: the SRQ is not in an XRC domain. */
uint32_t adv_srq_number(const struct adv_srq *srq);

/* ---- address handles ---------------------------------------------------------------- */

/*
 * Fills in path from attr, which needs is_global, a valid sgid_index, and port 1. If attr's flow
 * label is 0, the source port depends on lqpn and rqpn (0, 0 for an address handle). 0 or EINVAL.
 */
int adv_path_from_attr(struct adv_engine *e, const struct ibv_ah_attr *attr, uint32_t lqpn,
		       uint32_t rqpn, struct adv_path *path);

/* An address handle. wr.ud.ah of a UD request points to it, so ibv must stay the first member. The
 * caller allocates zeroed memory with calloc(3) and fills in path and pd. */
struct adv_ah {
	struct ibv_ah ibv;
	struct adv_path path;
	struct adv_pd *pd;
	uint32_t outstanding; /* requests that refer to it */
	bool destroyed;
	struct adv_ah *next; /* in the list that the next adv_engine_tx() frees */
};

/* Frees the handle, at once or after the last request that refers to it was sent. Programs destroy
 * handles right after posting, because drivers that copy handles permit it. */
void adv_ah_destroy(struct adv_ah *ah);

/* ---- queue pairs -------------------------------------------------------------------- */

/* XRC_SEND needs pd and send_cq, XRC_RECV needs xrcd. The others of these five are ignored for
 * XRC. */
struct adv_qp_config {
	enum ibv_qp_type type; /* RC, UC, UD, XRC_SEND or XRC_RECV; else EOPNOTSUPP */
	struct adv_pd *pd;
	struct adv_cq *send_cq;
	struct adv_cq *recv_cq;
	struct adv_srq *srq; /* or NULL */
	struct adv_xrcd *xrcd;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	void *user;
};

/* Sets config->cap to the actual capacities. NULL with errno EINVAL, ENOMEM, EOPNOTSUPP. */
struct adv_qp *adv_qp_create(struct adv_engine *e, struct adv_qp_config *config);
bool adv_qp_in_use(const struct adv_qp *qp); /* attached to a multicast group */
/* 0, or EBUSY while it is in use. Its completions are removed from the CQs. */
int adv_qp_destroy(struct adv_qp *qp);
/* Changes attributes and state by the tables of ibv_modify_qp(3). 0, EINVAL (nothing changed),
 * ENOMEM. */
int adv_qp_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);
void adv_qp_query(struct adv_qp *qp, struct ibv_qp_attr *attr, struct ibv_qp_init_attr *init);
uint32_t adv_qp_num(const struct adv_qp *qp);
enum ibv_qp_state adv_qp_state(const struct adv_qp *qp);
/* Returns the limit that congestion control sets, Mb/s; 0: none. */
uint32_t adv_qp_rate_limit(struct adv_qp *qp, uint64_t now);
void *adv_qp_user(const struct adv_qp *qp);
void adv_qp_set_user(struct adv_qp *qp, void *user);

/*
 * struct ibv_send_wr has no members for FLUSH (annex A19). It is posted as opcode ADV_WR_FLUSH with
 * wr.atomic.remote_addr and rkey, compare_add = length, swap = placement type | selectivity level
 * << 32. ATOMIC_WRITE: wr.atomic, with compare_add = the 8 bytes to write, as in memory.
 */
#define ADV_WR_FLUSH	    ((enum ibv_wr_opcode)14)
#define ADV_WR_ATOMIC_WRITE ((enum ibv_wr_opcode)15)
#define ADV_WC_FLUSH	    ((enum ibv_wc_opcode)8)
#define ADV_WR_BIND_TYPE_1  ((enum ibv_wr_opcode)16)

/*
 * Posts a list. 0, EINVAL (opcode, flags, SGE count, inline size, or a QP state without requests),
 * ENOMEM (queue full). After an error *bad_wr is the first request that was not posted; those
 * before it were posted.
 */
int adv_qp_post_send(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr);
int adv_qp_post_recv(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);

/* Multicast: UD only (EINVAL). Attaching twice counts once. ENOMEM beyond ADV_MAX_MCAST_QP. */
int adv_qp_attach_mcast(struct adv_qp *qp, const struct adv_gid *group);
int adv_qp_detach_mcast(struct adv_qp *qp, const struct adv_gid *group);

#endif
