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

/* Limits of the device, as ibv_query_device() tells them. */
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
#define ADV_MAX_PD	  (1 << 17) /* of XRC domains too */
#define ADV_MAX_AH	  (1 << 20)
#define ADV_MAX_MCAST_QP  240

/* ---- protection domains and memory -------------------------------------------------- */

struct adv_pd *adv_pd_create(struct adv_engine *e); /* NULL: ENOMEM, also beyond ADV_MAX_PD */
int adv_pd_destroy(struct adv_pd *pd);		    /* 0, or EBUSY while anything is in it */

/*
 * Registers length bytes at addr; remote peers address them from iova on (equal to addr, or 0
 * for zero-based regions, or the caller's choice). access: IBV_ACCESS_*, optional bits ignored;
 * REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE (EINVAL). Of no bytes, nothing can be touched.
 * The memory must stay mapped until deregistration, unless ON_DEMAND is among them and the engine
 * can page_in(). NULL with errno EINVAL or ENOMEM.
 */
struct adv_mr *adv_mr_register(struct adv_pd *pd, void *addr, uint64_t length, uint64_t iova,
			       int access);
/* Changes what the IBV_REREG_MR_* bits of flags say; the keys change with the translation only.
 * 0 or errno: the region is then untouched.
 */
int adv_mr_reregister(struct adv_mr *mr, int flags, struct adv_pd *pd, void *addr, uint64_t length,
		      uint64_t iova, int access);
/* After this no packet and no work request touches the memory; outstanding ones fail. 0, or EBUSY
 * while a window is bound to it, which keeps adv_mr_reregister() off too. */
int adv_mr_deregister(struct adv_mr *mr);
/* Where [va, va + length) of a region of on-demand paging lies in this process. 0 or the errno that
 * ibv_advise_mr(3) has: ENOENT, EINVAL, EPERM, EFAULT. */
int adv_mr_paged(const struct adv_pd *pd, uint32_t lkey, uint64_t va, uint64_t length,
		 bool to_write, void **where);
uint32_t adv_mr_lkey(const struct adv_mr *mr);
uint32_t adv_mr_rkey(const struct adv_mr *mr);

/*
 * Memory windows (IBTA 10.6.7). They are bound, and invalidated, by requests of a send queue, which
 * name them and regions by key: IBV_WR_BIND_MW for type 2, ADV_WR_BIND_TYPE_1 with the same members
 * of the request for type 1, IBV_WR_LOCAL_INV and the peer's IBV_WR_SEND_WITH_INV for type 2. Type
 * 2 is bound to the QP as well (2B): only its peer has access. NULL with errno EINVAL or ENOMEM.
 */
struct adv_mw *adv_mw_create(struct adv_pd *pd, enum ibv_mw_type type);
void adv_mw_destroy(struct adv_mw *mw); /* bound or not: its rkey names nothing any more */
uint32_t adv_mw_rkey(const struct adv_mw *mw);

/* ---- completion queues -------------------------------------------------------------- */

/* A completion as the CQ keeps it: what struct ibv_wc has, and its time. */
struct adv_cqe {
	struct ibv_wc wc;
	uint64_t timestamp; /* ns, the engine's clock */
	struct adv_qp *qp;  /* NULL once the QP is gone */
	uint32_t release;   /* internal: queue slots that polling this frees */
	bool is_recv;
};

/* user: the caller's pointer, see adv_cq_user(). NULL with errno EINVAL or ENOMEM, which too many
 * (ADV_MAX_CQ) is as well. */
struct adv_cq *adv_cq_create(struct adv_engine *e, unsigned cqe, void *user);
bool adv_cq_in_use(const struct adv_cq *cq); /* by a QP or an SRQ */
int adv_cq_destroy(struct adv_cq *cq);	     /* 0, or EBUSY while it is in use */
/* 0; EINVAL: fewer than there are completions in it, or out of range; ENOMEM. */
int adv_cq_resize(struct adv_cq *cq, unsigned cqe);
unsigned adv_cq_capacity(const struct adv_cq *cq); /* what you got: at least what was asked for */
void *adv_cq_user(const struct adv_cq *cq);
/* Takes up to n completions; returns how many, or -1 after an overrun (ibv_poll_cq(3)). */
int adv_cq_poll(struct adv_cq *cq, int n, struct ibv_wc *wc);
/* The oldest completion without taking it, for extended CQs; NULL: empty. adv_cq_pop() takes it. */
const struct adv_cqe *adv_cq_peek(struct adv_cq *cq);
void adv_cq_pop(struct adv_cq *cq);
bool adv_cq_empty(const struct adv_cq *cq);
unsigned adv_cq_count(const struct adv_cq *cq); /* completions in it */
/* Asks for one event at the next (solicited or failed, if so said) completion. */
void adv_cq_arm(struct adv_cq *cq, bool solicited_only);
/* Event moderation: at most one event a count completions, or period ns after the first; 0, 0: off.
 */
int adv_cq_moderate(struct adv_cq *cq, unsigned count, uint64_t period_ns);

/* ---- shared receive queues ---------------------------------------------------------- */

/* attr: max_wr and max_sge in, what you got out. NULL with errno EINVAL, ENOMEM (also beyond
 * ADV_MAX_SRQ). */
struct adv_srq *adv_srq_create(struct adv_pd *pd, struct ibv_srq_attr *attr, void *user);
bool adv_srq_in_use(const struct adv_srq *srq); /* by a QP */
/* 0, or EBUSY while it is in use. An SRQ of an XRC domain may always go: later requests for it are
 * refused, and a message in progress loses its receive request. */
int adv_srq_destroy(struct adv_srq *srq);
/* IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR. 0 or EINVAL (less room than requests outstanding or than the limit
 * among others), ENOMEM; nothing has changed then. */
int adv_srq_modify(struct adv_srq *srq, const struct ibv_srq_attr *attr, int mask);
void adv_srq_query(const struct adv_srq *srq, struct ibv_srq_attr *attr);
int adv_srq_post(struct adv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
void *adv_srq_user(const struct adv_srq *srq);

/* ---- XRC (annex A14) ------------------------------------------------------------------ */

/*
 * A domain holds SRQs and the XRC_RECV QPs that may reach them: each request says by number which
 * SRQ of the domain it is for. The receive completes in that SRQ's CQ, with the QP's number, and
 * stays there when the QP is destroyed; remote access is to the memory of that SRQ's PD.
 */
struct adv_xrcd *adv_xrcd_create(struct adv_engine *e); /* NULL: ENOMEM; at most ADV_MAX_PD */
int adv_xrcd_destroy(struct adv_xrcd *xrcd); /* 0, or EBUSY while an SRQ or QP is in it */
/* The XRC_RECV QP of the domain with this number; NULL: none. */
struct adv_qp *adv_xrcd_find_qp(const struct adv_xrcd *xrcd, uint32_t qpn);
/* As adv_srq_create(), in a domain; receives complete in cq, which stays in use as long. */
struct adv_srq *adv_srq_create_xrc(struct adv_pd *pd, struct adv_xrcd *xrcd, struct adv_cq *cq,
				   struct ibv_srq_attr *attr, void *user);
/* What requests name it by: 24 bits, the upper 8 those of the engine's first QP number, so that
 * engines with different ones have no number in common. 0: it is not in an XRC domain. */
uint32_t adv_srq_number(const struct adv_srq *srq);

/* ---- address handles ---------------------------------------------------------------- */

/*
 * Fills path from attr: needs is_global and a valid sgid_index; port 1. lqpn and rqpn give the
 * source port its entropy where attr's flow label is 0 (0, 0 for an address handle). 0 or EINVAL.
 */
int adv_path_from_attr(struct adv_engine *e, const struct ibv_ah_attr *attr, uint32_t lqpn,
		       uint32_t rqpn, struct adv_path *path);

/* What struct ibv_send_wr's wr.ud.ah of a UD request points to: ibv must stay the first member.
 * Zeroed memory of malloc(3), path and pd filled in by the caller. */
struct adv_ah {
	struct ibv_ah ibv;
	struct adv_path path;
	struct adv_pd *pd;
	uint32_t outstanding; /* requests that refer to it */
	bool destroyed;
	struct adv_ah *next; /* of those that go at the next adv_engine_tx() */
};

/* Frees the handle, at once or after the last request that refers to it was sent: programs
 * destroy handles right after posting, as drivers that copy them let them. */
void adv_ah_destroy(struct adv_ah *ah);

/* ---- queue pairs -------------------------------------------------------------------- */

/* XRC_SEND needs pd and send_cq, XRC_RECV xrcd; what else is set of the five is not looked at. */
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

/* config->cap comes back as what you got. NULL with errno EINVAL, ENOMEM, EOPNOTSUPP. */
struct adv_qp *adv_qp_create(struct adv_engine *e, struct adv_qp_config *config);
bool adv_qp_in_use(const struct adv_qp *qp); /* attached to a multicast group */
/* 0, or EBUSY while it is in use. Its completions leave the CQs. */
int adv_qp_destroy(struct adv_qp *qp);
/* By the tables of ibv_modify_qp(3). 0, EINVAL (nothing changed), ENOMEM. */
int adv_qp_modify(struct adv_qp *qp, uint64_t now, const struct ibv_qp_attr *attr, int mask);
void adv_qp_query(struct adv_qp *qp, struct ibv_qp_attr *attr, struct ibv_qp_init_attr *init);
uint32_t adv_qp_num(const struct adv_qp *qp);
enum ibv_qp_state adv_qp_state(const struct adv_qp *qp);
/* Mb/s that congestion control leaves the QP; 0: it does not limit it. */
uint32_t adv_qp_rate_limit(struct adv_qp *qp, uint64_t now);
void *adv_qp_user(const struct adv_qp *qp);
void adv_qp_set_user(struct adv_qp *qp, void *user);

/*
 * FLUSH (annex A19) has no place in struct ibv_send_wr: posted as opcode ADV_WR_FLUSH with
 * wr.atomic.remote_addr and rkey, compare_add = length, swap = placement type | selectivity
 * level << 32. ATOMIC_WRITE: wr.atomic with compare_add = the 8 bytes to write, as in memory.
 */
#define ADV_WR_FLUSH	    ((enum ibv_wr_opcode)14)
#define ADV_WR_ATOMIC_WRITE ((enum ibv_wr_opcode)15)
#define ADV_WC_FLUSH	    ((enum ibv_wc_opcode)8)
#define ADV_WR_BIND_TYPE_1  ((enum ibv_wr_opcode)16)

/*
 * Posts a list. 0; or EINVAL (bad opcode, flags, SGE count, inline size, or a QP state that takes
 * no requests), ENOMEM (queue full): *bad_wr is the first that was not posted, those before are.
 */
int adv_qp_post_send(struct adv_qp *qp, uint64_t now, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad_wr);
int adv_qp_post_recv(struct adv_qp *qp, uint64_t now, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad_wr);

/* Multicast: UD only (EINVAL). Attaching twice is one attachment. ENOMEM beyond ADV_MAX_MCAST_QP.
 */
int adv_qp_attach_mcast(struct adv_qp *qp, const struct adv_gid *group);
int adv_qp_detach_mcast(struct adv_qp *qp, const struct adv_gid *group);

#endif
