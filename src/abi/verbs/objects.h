/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects behind the pointers that applications hold. Each structure begins with rdma-core's
 * public structure; the members of this library follow it. Each object has its own file. context.c
 * enters the operations that are declared here into the context's tables.
 *
 * A child of fork() inherits these objects but not the device. In the child, adv_ibv_enter() and
 * all calls that use it fail, and the destruction of an object only frees its memory.
 */
#ifndef ADV_ABI_VERBS_OBJECTS_H
#define ADV_ABI_VERBS_OBJECTS_H

#include <errno.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/log.h"
#include "base/reason.h"
#include "runtime/device/device.h"
#include "abi/verbs/event_queue.h"
#include "base/export.h"
#include "abi/verbs/refuse.h"
#include "abi/verbs/watch.h"

#define ADV_COMP_VECTORS 8
#define ADV_MAX_DM	 (64u << 20) /* bytes of device memory of a context */
#define ADV_EVENT_TYPES	 (IBV_EVENT_WQ_FATAL + 1)

/* ---- context (context.c) ---- */

struct adv_ibv_context {
	struct adv_device *device;
	struct adv_ibv_event_queue async;
	struct adv_ibv_event_node port_node[ADV_EVENT_TYPES]; /* by event type */
	atomic_uint ahs;				      /* address handles */
	atomic_size_t dm_used;				      /* bytes of device memory */
	pthread_mutex_t mcast_lock;  /* acquired before the device's lock; held during joins */
	struct adv_list memberships; /* mcast.c; under mcast_lock */
	struct adv_list xrc_domains; /* xrcd.c; under the device's lock */
	struct verbs_context verbs;  /* applications hold a pointer to verbs.context */
};

static inline struct adv_ibv_context *adv_ibv_context_of(struct ibv_context *context)
{
	return adv_container_of(context, struct adv_ibv_context, verbs.context);
}

/* Acquires the lock of an object's device. NULL in a child of fork(). adv_device_unlock() releases
 * the lock. */
static inline struct adv_engine *adv_ibv_enter_device(struct adv_device *d)
{
	return adv_device_is_foreign(d) ? adv_ibv_refuse_foreign() : adv_device_lock(d);
}

/* As adv_ibv_enter_device(), for the context's device. adv_ibv_leave() releases the lock. */
static inline struct adv_engine *adv_ibv_enter(struct ibv_context *context)
{
	return adv_ibv_enter_device(adv_ibv_context_of(context)->device);
}

/* As adv_ibv_enter(), with adv_device_lock_all(). adv_ibv_leave_all() releases the locks. */
static inline struct adv_engine *adv_ibv_enter_all(struct ibv_context *context)
{
	struct adv_device *d = adv_ibv_context_of(context)->device;

	return adv_device_is_foreign(d) ? adv_ibv_refuse_foreign() : adv_device_lock_all(d);
}

static inline void adv_ibv_leave(struct ibv_context *context)
{
	adv_device_unlock(adv_ibv_context_of(context)->device);
}

static inline void adv_ibv_leave_all(struct ibv_context *context)
{
	adv_device_unlock_all(adv_ibv_context_of(context)->device);
}

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
	struct adv_pd *pd;     /* the engine's domain; a parent domain has that of `of` */
	struct adv_ibv_pd *of; /* parent domain: its protection domain; else NULL */
	struct adv_ibv_td *td; /* parent domain: its thread domain, or NULL */
	atomic_uint users;     /* number of objects that name this domain */
};

/* Counts one more object that names pd. While such objects exist, pd cannot be deallocated. */
void adv_ibv_pd_hold(struct ibv_pd *pd);
/* Ends the count of one object that names pd. */
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
	atomic_uint *uses; /* counter of the regions of the region's DM or DMA handle, or NULL */
};

/* Registers memory whose pages the caller has checked. NULL with errno. */
struct ibv_mr *adv_ibv_reg_checked(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				   int access);
/* Counts mr in *regions until it is deregistered. Such a region cannot be reregistered. */
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
	_Atomic(struct adv_device *) device; /* that of the newest CQ; NULL: no CQ yet */
};

/* A CQ of an engine. */
struct adv_ibv_cq_part {
	struct adv_device *device;
	struct adv_cq *cq;
};

/* A CQ. For queue pairs of other shards, it has further parts there (cq_part.h). */
struct adv_ibv_cq {
	struct ibv_cq_ex ibv;		     /* begins like struct ibv_cq */
	_Atomic(struct adv_device *) polled; /* first.device; of several parts: adv_device_none() */
	struct adv_ibv_cq_part first;
	_Atomic(struct adv_ibv_cq_more *) more; /* further parts; NULL: none */
	struct ibv_moderate_cq moderation;	/* under context->mutex */
	struct ibv_pd *parent_domain; /* parent domain given to ibv_create_cq_ex(), or NULL */
	struct adv_ibv_event_node comp_node;
	struct adv_ibv_event_node async_node;
	struct adv_cqe current;	   /* current completion of an extended poll */
	pthread_mutex_t poll_lock; /* held from start_poll to end_poll: protects `current` */
	bool single_threaded;
};

static inline struct adv_ibv_cq *adv_ibv_cq_of(struct ibv_cq *cq)
{
	return (struct adv_ibv_cq *)cq;
}

/* channel.c: counts one more CQ, of this device, that uses the channel, and one less. */
void adv_ibv_channel_hold(struct ibv_comp_channel *channel, struct adv_device *device);
void adv_ibv_channel_release(struct ibv_comp_channel *channel);
/* channel.c: callback of the device, which holds its lock. Queues a completion event of cq. */
int adv_ibv_channel_completion(void *user, struct adv_cq *cq);

/* cq.c */
int adv_ibv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
#define ADV_POLL_TRIES 3 /* most tries of a poll whose thread is preempted each time */
int adv_ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int adv_ibv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
/* cq.c: creates a CQ without the calls of struct ibv_cq_ex. NULL with errno. */
struct adv_ibv_cq *adv_ibv_cq_new(struct ibv_context *context,
				  const struct ibv_cq_init_attr_ex *attr);
/* cq_ex.c */
struct ibv_cq_ex *adv_ibv_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr);

/* ---- XRC domains (xrcd.c) ---- */

struct adv_ibv_xrc_domain; /* xrcd.c: shared by all handles of one inode */

struct adv_ibv_xrcd {
	struct ibv_xrcd ibv;
	struct adv_xrcd *xrcd; /* the engine's domain */
	struct adv_ibv_xrc_domain *domain;
	unsigned users; /* SRQs and QPs created with this handle; under the device's lock */
};

static inline struct adv_ibv_xrcd *adv_ibv_xrcd_of(struct ibv_xrcd *xrcd)
{
	return (struct adv_ibv_xrcd *)xrcd;
}

struct ibv_xrcd *adv_ibv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int adv_ibv_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_qp *adv_ibv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/* Frees all domains of a context that is being closed. */
void adv_ibv_xrcd_forget_all(struct adv_ibv_context *c);

/* ---- shared receive queues (srq.c) ---- */

#define ADV_SRQ_NODES 2 /* number of asynchronous event types of an SRQ, see async.c */

struct adv_ibv_srq {
	struct ibv_srq ibv;
	struct adv_device *device;
	struct adv_srq *srq;
	struct adv_ibv_xrcd *xrcd; /* NULL: a basic SRQ */
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

/* Bytes of struct ibv_qp_ex until rdma-core 44. The mutex in it has 40 bytes on x86-64, 48 on
 * arm64. */
#define ADV_QP_EX_LENGTH_44 (312 + sizeof(pthread_mutex_t))

/*
 * struct ibv_qp_ex as in rdma-core 45 and later, even with older headers: programs may use its last
 * members.
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

#define ADV_QP_NODES 8 /* number of asynchronous event types of a QP, see async.c */

struct adv_ibv_qp {
	union {
		struct ibv_qp ibv;
		union adv_ibv_qp_ex ex;
	};
	struct adv_device *device;
	struct adv_qp *qp;
	struct adv_ibv_xrcd *xrcd;	 /* domain of an XRC_RECV QP; else NULL */
	struct adv_list shared;		 /* ring of the handles of the same QP (ibv_open_qp) */
	struct adv_ibv_wr_list *wr_list; /* NULL: QP created without ibv_wr_*() */
	struct ibv_qp_cap cap;		 /* capabilities returned to the application */
	bool sq_sig_all;
	struct adv_ibv_event_node node[ADV_QP_NODES];
};

_Static_assert(offsetof(struct adv_ibv_qp, device) == sizeof(union adv_ibv_qp_ex),
	       "nothing of ours inside the ABI's part");

static inline struct adv_ibv_qp *adv_ibv_qp_of(struct ibv_qp *qp)
{
	return (struct adv_ibv_qp *)qp;
}

struct ibv_qp *adv_ibv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/* qp.c: creates a handle without the engine's QP and the queue sizes. NULL: ENOMEM. */
struct adv_ibv_qp *adv_ibv_qp_new(struct ibv_context *context,
				  const struct ibv_qp_init_attr_ex *attr);
void adv_ibv_qp_free(struct adv_ibv_qp *qp);
/* post.c */
int adv_ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int adv_ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* qp_ex.c: enters those ibv_wr_*() calls that ops (IBV_QP_EX_WITH_*) selects. 0, EOPNOTSUPP or
 * ENOMEM. */
int adv_ibv_qp_ex_init(struct adv_ibv_qp *qp, enum ibv_qp_type type, uint64_t ops);
void adv_ibv_qp_ex_free(struct adv_ibv_qp *qp);

/* mcast.c: leaves all groups of a context that is being closed, and frees its memberships. */
void adv_ibv_mcast_leave_groups(struct adv_ibv_context *c);

/* ---- asynchronous events (async.c) ---- */

/* Callbacks of the device. */
int adv_ibv_async_object(void *user, const struct adv_event *event);
int adv_ibv_async_port(void *user, enum ibv_event_type type);

/* Initialize the event nodes of a new object. */
void adv_ibv_async_init_qp(struct adv_ibv_qp *qp);
void adv_ibv_async_init_srq(struct adv_ibv_srq *srq);

/*
 * The events of an object that is being destroyed. The application must first acknowledge the
 * events that it has dequeued: until then one of its threads may use the object, and the object
 * stays unchanged.
 */
struct adv_ibv_acks {
	struct adv_ibv_event_queue *queue;
	struct adv_ibv_event_node *node; /* array of `nodes` nodes */
	unsigned nodes;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	const uint32_t *completed; /* number of acknowledged events */
};

/* True if no event is queued and all dequeued events are acknowledged. Call it with the device's
 * lock held, so that no event is queued meanwhile. */
bool adv_ibv_acks_complete(const struct adv_ibv_acks *a);
/* Drops queued events, then blocks until the dequeued events are acknowledged. Call it without the
 * device's lock. */
void adv_ibv_acks_wait(struct ibv_context *context, const struct adv_ibv_acks *a);

/* ---- addresses (ah.c) ---- */

/* Returns the multicast GID in the form of the wire: IPv4 groups have two forms. */
struct adv_gid adv_ibv_group_of(const union ibv_gid *gid);

#endif
