/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects behind the pointers that programs hold: rdma-core's public structures first, ours
 * behind them. Each has a file of its own; the operations listed here are what context.c enters
 * into the context's tables.
 *
 * A child of fork() inherits these objects but not the device: there, adv_ibv_enter() fails and
 * calls with it, and destroying frees memory only.
 */
#ifndef ADV_VERBS_OBJECTS_H
#define ADV_VERBS_OBJECTS_H

#include <errno.h>
#include <stdatomic.h>

#include "base/list.h"
#include "host/device.h"
#include "verbs/event_queue.h"
#include "verbs/export.h"
#include "verbs/refuse.h"

#define ADV_COMP_VECTORS 8
#define ADV_MAX_DM	 (64u << 20) /* bytes of device memory of a context */
#define ADV_EVENT_TYPES	 (IBV_EVENT_WQ_FATAL + 1)

/* ---- context (context.c) ---- */

struct adv_ibv_context {
	struct adv_device *device;
	struct adv_ibv_event_queue async;
	struct adv_ibv_event_node port_node[ADV_EVENT_TYPES]; /* by type of event */
	atomic_uint ahs;				      /* address handles */
	atomic_size_t dm_used;				      /* bytes of device memory */
	struct adv_list memberships; /* mcast.c; under the device\'s lock */
	struct adv_list xrc_domains; /* xrcd.c; under the device's lock */
	struct verbs_context verbs;  /* programs hold &verbs.context */
};

static inline struct adv_ibv_context *adv_ibv_context_of(struct ibv_context *context)
{
	return adv_container_of(context, struct adv_ibv_context, verbs.context);
}

/* Takes the device's lock; NULL in a child of fork(). Balanced with adv_ibv_leave(). */
static inline struct adv_engine *adv_ibv_enter(struct ibv_context *context)
{
	struct adv_device *d = adv_ibv_context_of(context)->device;

	return adv_device_is_foreign(d) ? NULL : adv_device_lock(d);
}

/* The same, to make what is in no other object: it is this context's. */
static inline struct adv_engine *adv_ibv_enter_to_make(struct ibv_context *context)
{
	struct adv_engine *e = adv_ibv_enter(context);

	if (e)
		adv_engine_set_owner(e, adv_ibv_context_of(context));
	return e;
}

static inline void adv_ibv_leave(struct ibv_context *context)
{
	adv_device_unlock(adv_ibv_context_of(context)->device);
}

/* True where objects must be freed without telling the device. */
static inline bool adv_ibv_is_foreign(struct ibv_context *context)
{
	return adv_device_is_foreign(adv_ibv_context_of(context)->device);
}

/* What a call in a child of fork() fails with. */
#define ADV_EFOREIGN EIO

/* device.c: the one device there is. */
struct ibv_device *adv_ibv_the_device(void);

/* query.c: operations of the context. */
int adv_ibv_query_device_ex(struct ibv_context *context,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size);
int adv_ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		       size_t attr_size);
int adv_ibv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* ---- protection and thread domains (pd.c) ---- */

struct adv_ibv_td; /* pd.c */

struct adv_ibv_pd {
	struct ibv_pd ibv;
	struct adv_pd *pd;     /* of a parent domain, that of the one it stands for */
	struct adv_ibv_pd *of; /* not NULL: it is a parent domain of this one */
	struct adv_ibv_td *td; /* of a parent domain, or NULL */
	atomic_uint users;     /* objects that say they are in it */
};

/* An object that says it is in pd is made; or goes. */
void adv_ibv_pd_hold(struct ibv_pd *pd);
void adv_ibv_pd_release(struct ibv_pd *pd);
struct ibv_td *adv_ibv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int adv_ibv_dealloc_td(struct ibv_td *td);
struct ibv_pd *adv_ibv_alloc_parent_domain(struct ibv_context *context,
					   struct ibv_parent_domain_init_attr *attr);

static inline struct adv_ibv_pd *adv_ibv_pd_of(struct ibv_pd *pd)
{
	return (struct adv_ibv_pd *)pd;
}

/* ---- memory regions (mr.c, advise.c) and device memory (dm.c) ---- */

struct adv_ibv_mr {
	struct ibv_mr ibv;
	struct adv_mr *mr;
	int access;
	atomic_uint *uses; /* regions of what it is made of, or NULL */
};

/* Registers memory whose pages have been looked at. NULL with errno. */
struct ibv_mr *adv_ibv_reg_checked(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				   int access);
/* Counts mr in *regions until it is deregistered. It cannot be registered anew. */
void adv_ibv_mr_use(struct ibv_mr *mr, atomic_uint *regions);

int adv_ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		      struct ibv_sge *sg_list, uint32_t num_sge);

struct adv_ibv_dm {
	struct ibv_dm ibv;
	uint8_t *memory;
	size_t length;
	atomic_uint regions;
};

struct ibv_dm *adv_ibv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int adv_ibv_free_dm(struct ibv_dm *dm);
struct ibv_mr *adv_ibv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				 size_t length, unsigned int access);

/* ---- memory windows (mw.c) ---- */

struct ibv_mw *adv_ibv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int adv_ibv_dealloc_mw(struct ibv_mw *mw);
int adv_ibv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* ---- completion channels (channel.c) and queues (cq.c, cq_ex.c) ---- */

struct adv_ibv_channel {
	struct ibv_comp_channel ibv;
	struct adv_ibv_event_queue events;
};

struct adv_ibv_cq {
	struct ibv_cq_ex ibv; /* begins like struct ibv_cq */
	struct adv_cq *cq;
	struct ibv_pd *parent_domain; /* that it was made with, or NULL */
	struct adv_ibv_event_node comp_node;
	struct adv_ibv_event_node async_node;
	struct adv_cqe current;	   /* the completion that an extended poll stands at */
	pthread_mutex_t poll_lock; /* held from start_poll to end_poll, as `current` is one */
	bool single_threaded;
};

static inline struct adv_ibv_cq *adv_ibv_cq_of(struct ibv_cq *cq)
{
	return (struct adv_ibv_cq *)cq;
}

/* channel.c: the CQ begins or ceases to use its channel. */
void adv_ibv_channel_hold(struct ibv_comp_channel *channel);
void adv_ibv_channel_release(struct ibv_comp_channel *channel);
/* channel.c: a completion event of cq; with the device's lock held. */
int adv_ibv_channel_completion(void *user, struct adv_cq *cq);

/* cq.c */
int adv_ibv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
#define ADV_POLL_TRIES 3 /* of a poll that is held up each time */
int adv_ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int adv_ibv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
/* cq.c: creates a CQ whose extended part is still empty. NULL with errno. */
struct adv_ibv_cq *adv_ibv_cq_new(struct ibv_context *context,
				  const struct ibv_cq_init_attr_ex *attr);
/* cq_ex.c */
struct ibv_cq_ex *adv_ibv_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr);

/* ---- XRC domains (xrcd.c) ---- */

struct adv_ibv_xrc_domain; /* xrcd.c: what all handles of one inode share */

struct adv_ibv_xrcd {
	struct ibv_xrcd ibv;
	struct adv_xrcd *xrcd; /* the domain's in the engine */
	struct adv_ibv_xrc_domain *domain;
	unsigned users; /* SRQs and QPs made through this handle; under the device's lock */
};

static inline struct adv_ibv_xrcd *adv_ibv_xrcd_of(struct ibv_xrcd *xrcd)
{
	return (struct adv_ibv_xrcd *)xrcd;
}

struct ibv_xrcd *adv_ibv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int adv_ibv_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *adv_ibv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/* Frees what is known of domains, at closing. */
void adv_ibv_xrcd_forget_all(struct adv_ibv_context *c);

/* ---- shared receive queues (srq.c) ---- */

#define ADV_SRQ_NODES 2 /* kinds of asynchronous events of an SRQ */

struct adv_ibv_srq {
	struct ibv_srq ibv;
	struct adv_srq *srq;
	struct adv_ibv_xrcd *xrcd; /* NULL: a basic one */
	struct adv_ibv_event_node node[ADV_SRQ_NODES];
};

static inline struct adv_ibv_srq *adv_ibv_srq_of(struct ibv_srq *srq)
{
	return (struct adv_ibv_srq *)srq;
}

struct ibv_srq *adv_ibv_create_srq_ex(struct ibv_context *context,
				      struct ibv_srq_init_attr_ex *attr);
int adv_ibv_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int adv_ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* ---- queue pairs (qp.c, qp_ex.c, mcast.c) ---- */

#define ADV_QP_EX_LENGTH_44 352 /* bytes of struct ibv_qp_ex up to rdma-core 44 */

/*
 * struct ibv_qp_ex as rdma-core has had it since version 45, whichever version the headers are of:
 * programs may use the tail.
 */
union adv_ibv_qp_ex {
	struct ibv_qp_ex base;
	struct {
		char version_44[ADV_QP_EX_LENGTH_44];
		void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				 size_t len, uint8_t type, uint8_t level);
	};
};

_Static_assert(sizeof(union adv_ibv_qp_ex) == ADV_QP_EX_LENGTH_44 + sizeof(void (*)(void)),
	       "the ABI's layout of struct ibv_qp_ex");
_Static_assert(offsetof(struct ibv_qp_ex, wr_atomic_write) ==
		       ADV_QP_EX_LENGTH_44 - sizeof(void (*)(void)),
	       "the tail of struct ibv_qp_ex begins where its last member of version 44 ends");

struct adv_ibv_wr_list; /* qp_ex.c: the requests between wr_start and wr_complete */

#define ADV_QP_NODES 8 /* kinds of asynchronous events of a QP, see async.c */

struct adv_ibv_qp {
	union {
		struct ibv_qp ibv;
		union adv_ibv_qp_ex ex;
	};
	struct adv_qp *qp;
	struct adv_ibv_xrcd *xrcd;	 /* XRC_RECV */
	struct adv_list shared;		 /* handles of the same QP (ibv_open_qp): a ring of them */
	struct adv_ibv_wr_list *wr_list; /* NULL: not made for ibv_wr_*() */
	struct ibv_qp_cap cap;		 /* what the program got */
	bool sq_sig_all;
	struct adv_ibv_event_node node[ADV_QP_NODES];
};

_Static_assert(offsetof(struct adv_ibv_qp, qp) == sizeof(union adv_ibv_qp_ex),
	       "nothing of ours inside the ABI's part");

static inline struct adv_ibv_qp *adv_ibv_qp_of(struct ibv_qp *qp)
{
	return (struct adv_ibv_qp *)qp;
}

struct ibv_qp *adv_ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* qp.c: a handle with all but the transport's part and the queues' sizes. NULL: ENOMEM. */
struct adv_ibv_qp *adv_ibv_qp_new(struct ibv_context *context,
				  const struct ibv_qp_init_attr_ex *attr);
void adv_ibv_qp_free(struct adv_ibv_qp *qp);
/* post.c */
int adv_ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int adv_ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* qp_ex.c: fills the ibv_wr_*() calls that ops (IBV_QP_EX_WITH_*) asks for. 0, EOPNOTSUPP, ENOMEM.
 */
int adv_ibv_qp_ex_init(struct adv_ibv_qp *qp, enum ibv_qp_type type, uint64_t ops);
void adv_ibv_qp_ex_free(struct adv_ibv_qp *qp);

/* mcast.c: leaves all groups and frees what is known of them, at closing. */
void adv_ibv_mcast_leave_groups(struct adv_ibv_context *c);

/* ---- asynchronous events (async.c) ---- */

/* Callbacks of the device. */
int adv_ibv_async_object(void *user, const struct adv_event *event);
int adv_ibv_async_port(void *user, enum ibv_event_type type);

/* Prepares the nodes of a new object. */
void adv_ibv_async_init_qp(struct adv_ibv_qp *qp);
void adv_ibv_async_init_srq(struct adv_ibv_srq *srq);

/*
 * The events of an object that is to be destroyed. Those that the application has got must be
 * acknowledged first: until then a thread of it may use the object, which therefore stays whole.
 */
struct adv_ibv_acks {
	struct adv_ibv_event_queue *queue;
	struct adv_ibv_event_node *node; /* `nodes` of them */
	unsigned nodes;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	const uint32_t *completed; /* acknowledged */
};

/* With the device's lock held, so that no event comes: none waits, and all are acknowledged. */
bool adv_ibv_acks_complete(const struct adv_ibv_acks *a);
/* Without the lock: drops those that wait, and waits until those taken are acknowledged. */
void adv_ibv_acks_wait(struct ibv_context *context, const struct adv_ibv_acks *a);

/* ---- addresses (ah.c) ---- */

/* The group of a multicast GID as it is on the wire: IPv4 groups come in two spellings. */
struct adv_gid adv_ibv_group_of(const union ibv_gid *gid);

#endif
