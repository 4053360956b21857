/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The observer that libadverb-check.so exports: keeps the records, and calls the rules. */
#include "check/observer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "check/call.h"
#include "check/connection.h"
#include "check/failed.h"
#include "check/lifetime.h"
#include "check/limits.h"
#include "check/modify.h"
#include "check/order.h"
#include "check/posting.h"
#include "check/queries.h"
#include "transport/names.h"

static const char *const create_calls[ADV_CHECK_KINDS] = {
	[ADV_CHECK_CONTEXT] = "ibv_open_device",
	[ADV_CHECK_PD] = "ibv_alloc_pd",
	[ADV_CHECK_MR] = "ibv_reg_mr",
	[ADV_CHECK_MW] = "ibv_alloc_mw",
	[ADV_CHECK_CHANNEL] = "ibv_create_comp_channel",
	[ADV_CHECK_CQ] = "ibv_create_cq",
	[ADV_CHECK_SRQ] = "ibv_create_srq",
	[ADV_CHECK_QP] = "ibv_create_qp",
	[ADV_CHECK_AH] = "ibv_create_ah",
	[ADV_CHECK_XRCD] = "ibv_open_xrcd",
	[ADV_CHECK_DM] = "ibv_alloc_dm",
	[ADV_CHECK_ID] = "rdma_create_id",
};

static const char *const destroy_calls[ADV_CHECK_KINDS] = {
	[ADV_CHECK_CONTEXT] = "ibv_close_device",
	[ADV_CHECK_PD] = "ibv_dealloc_pd",
	[ADV_CHECK_MR] = "ibv_dereg_mr",
	[ADV_CHECK_MW] = "ibv_dealloc_mw",
	[ADV_CHECK_CHANNEL] = "ibv_destroy_comp_channel",
	[ADV_CHECK_CQ] = "ibv_destroy_cq",
	[ADV_CHECK_SRQ] = "ibv_destroy_srq",
	[ADV_CHECK_QP] = "ibv_destroy_qp",
	[ADV_CHECK_AH] = "ibv_destroy_ah",
	[ADV_CHECK_XRCD] = "ibv_close_xrcd",
	[ADV_CHECK_DM] = "ibv_free_dm",
	[ADV_CHECK_ID] = "rdma_destroy_id",
};

static const struct adv_check_library *library;

static void attach(const struct adv_check_library *l, const void *code)
{
	if (l)
		library = l;
	adv_check_stack_hide(code, !l);
}

/* A child of fork() must not use its parent's objects. */
static void check_owner(struct adv_check_call *call, const struct adv_check_object *o)
{
	if (o && o->forks != adv_check_forks())
		adv_check_used_in_child(call, o);
}

/* ---- objects ---- */

static void created(enum adv_check_kind kind, void *object, struct ibv_context *context,
		    const void *attr)
{
	const struct ibv_ah_attr *to = kind == ADV_CHECK_AH ? attr : NULL;
	const bool is_here = to && to->is_global && library->is_own_gid(context, &to->grh.dgid);
	struct adv_check_object *o;
	struct adv_check_call call;

	adv_check_call_begin(&call, create_calls[kind]);
	o = adv_check_object_add(kind, object, context, attr, adv_check_call_stack(&call));
	if (o && kind == ADV_CHECK_ID)
		o->created.by_library = adv_check_stack_hides(attr);
	if (o && kind == ADV_CHECK_AH)
		((struct adv_check_ah *)o)->is_here = is_here;
	if (o && kind == ADV_CHECK_QP)
		adv_check_cap_limits(&call, (struct adv_check_qp *)o);
	adv_check_unlock();
}

static void *destroying(enum adv_check_kind kind, void *object)
{
	struct adv_check_object *o;
	struct adv_check_call call;

	adv_check_call_begin(&call, destroy_calls[kind]);
	o = adv_check_object_find(kind, object);
	if (o && kind == ADV_CHECK_ID)
		adv_check_cm_destroying(&call, (const struct adv_check_id *)o);
	if (o && kind == ADV_CHECK_CONTEXT)
		adv_check_leaks("ibv_close_device()", object);
	if (o)
		o->destroying = true;
	adv_check_unlock();
	return o;
}

static void destroyed(void *token, int err)
{
	struct adv_check_object *o = token;
	struct adv_check_call call;

	if (!o)
		return;
	adv_check_call_begin(&call, destroy_calls[o->kind]);
	o->destroying = false;
	if (err == EBUSY)
		adv_check_destroy_refused(&call, o);
	if (!err)
		adv_check_object_remove(o);
	adv_check_unlock();
}

static void mr_changed(struct ibv_mr *ibv, int flags, int access)
{
	struct adv_check_object *o;

	adv_check_lock();
	o = adv_check_object_find(ADV_CHECK_MR, ibv);
	if (o)
		adv_check_mr_change((struct adv_check_mr *)o, flags, access);
	adv_check_unlock();
}

static void qp_modified(struct ibv_qp *ibv, enum ibv_qp_state from, const struct ibv_qp_attr *attr,
			int mask, int err)
{
	const struct ibv_ah_attr *to = mask & IBV_QP_AV ? &attr->ah_attr : NULL;
	const struct adv_check_change change = {
		.from = from,
		.attr = attr,
		.mask = mask,
		.err = err,
		.port = library->port(ibv->context),
		.peer_is_here =
			to && to->is_global && library->is_own_gid(ibv->context, &to->grh.dgid),
	};
	struct adv_check_call call;
	struct adv_check_qp *qp;

	adv_check_call_begin(&call, "ibv_modify_qp");
	qp = adv_check_qp_of(ibv);
	if (qp && !err && mask & IBV_QP_STATE) {
		adv_check_object_note(&qp->base, "%s -> %s", adv_qp_state_name(from),
				      adv_qp_state_name(attr->qp_state));
		qp->state = attr->qp_state;
		if (qp->state == IBV_QPS_RESET) {
			adv_check_queue_clear(&qp->sends);
			adv_check_queue_clear(&qp->recvs);
		}
	}
	if (qp) {
		check_owner(&call, &qp->base);
		adv_check_modified(&call, qp, &change);
	}
	adv_check_unlock();
}

static void queried(enum adv_check_query query)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, "a query");
	if (!adv_check_call_stack(&call)->by_library)
		adv_check_query_made(query);
	adv_check_unlock();
}

/* ---- work ---- */

static void send_begins(struct ibv_qp *ibv, const struct ibv_send_wr *wr)
{
	const bool meets_another = adv_check_poster_enters(ibv);
	struct adv_check_call call;
	struct adv_check_qp *qp;

	adv_check_call_begin(&call, "ibv_post_send");
	qp = adv_check_qp_of(ibv);
	if (qp) {
		check_owner(&call, &qp->base);
		adv_check_post_state(&call, qp, false);
	}
	if (qp && meets_another)
		adv_check_posters_meet(&call, qp);
	adv_check_send_begins(&call, qp, wr);
}

static void send_ends(struct ibv_qp *qp, const struct ibv_send_wr *bad, int err)
{
	adv_check_keep_errno();
	adv_check_send_ends(adv_check_qp_of(qp), bad, err);
	adv_check_unlock();
	adv_check_poster_leaves(qp);
}

static struct adv_check_queue *recv_queue(struct ibv_qp *qp, struct ibv_srq *srq,
					  struct adv_check_object **owner)
{
	struct adv_check_srq *s = srq ? adv_check_srq_of(srq) : NULL;
	struct adv_check_qp *q = qp ? adv_check_qp_of(qp) : NULL;

	*owner = s ? &s->base : q ? &q->base : NULL;
	return s ? &s->recvs : q ? &q->recvs : NULL;
}

static void recv_begins(struct ibv_qp *qp, struct ibv_srq *srq, const struct ibv_recv_wr *wr)
{
	struct adv_check_object *owner;
	struct adv_check_queue *queue;
	struct adv_check_call call;

	adv_check_call_begin(&call, srq ? "ibv_post_srq_recv" : "ibv_post_recv");
	queue = recv_queue(qp, srq, &owner);
	check_owner(&call, owner);
	if (qp && owner)
		adv_check_post_state(&call, adv_check_qp_of(qp), true);
	adv_check_recv_begins(&call, owner, queue, wr);
}

static void recv_ends(struct ibv_qp *qp, struct ibv_srq *srq, const struct ibv_recv_wr *bad,
		      int err)
{
	struct adv_check_object *owner;

	adv_check_keep_errno();
	adv_check_recv_ends(recv_queue(qp, srq, &owner), bad, err);
	adv_check_unlock();
}

static void bound(struct ibv_qp *ibv, struct ibv_mw *mw, const struct ibv_mw_bind *bind)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, "ibv_bind_mw");
	adv_check_bind_posted(&call, adv_check_qp_of(ibv), bind);
	adv_check_unlock();
}

static void polled(struct ibv_cq *cq, struct ibv_wc *wc, int count)
{
	struct adv_check_call call;

	if (count == 0)
		return;
	adv_check_call_begin(&call, "ibv_poll_cq");
	check_owner(&call, adv_check_object_find(ADV_CHECK_CQ, cq));
	for (int i = 0; i < count; i++) {
		adv_check_completed(&call, &wc[i]);
		if (wc[i].status != IBV_WC_SUCCESS)
			adv_check_failed_fields(&wc[i]);
	}
	adv_check_unlock();
}

/* ---- events ---- */

static void armed(struct ibv_cq *cq, bool solicited_only)
{
}

static void cq_event(struct ibv_cq *cq)
{
}

static void cq_acked(struct ibv_cq *cq, unsigned events)
{
}

static void async_event(struct ibv_context *context, const struct ibv_async_event *event)
{
}

static void async_acked(const struct ibv_async_event *event)
{
}

static void fork_init(void)
{
	adv_check_lock();
	adv_check_fork_init();
	adv_check_unlock();
}

/* ---- librdmacm ---- */

static void cm_event(const struct rdma_cm_event *event)
{
	adv_check_lock();
	adv_check_cm_event(event);
	adv_check_unlock();
}

static void cm_acked(const struct rdma_cm_event *event)
{
	adv_check_lock();
	adv_check_cm_acked(event);
	adv_check_unlock();
}

static void cm_connecting(struct rdma_cm_id *id, const struct rdma_conn_param *param, bool accepts)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, accepts ? "rdma_accept" : "rdma_connect");
	adv_check_cm_connecting(&call, id, param, accepts);
	adv_check_unlock();
}

__attribute__((visibility("default"))) const struct adv_check_observer adverb_check_observer = {
	.version = ADV_CHECK_VERSION,
	.attach = attach,
	.created = created,
	.destroying = destroying,
	.destroyed = destroyed,
	.mr_changed = mr_changed,
	.qp_modified = qp_modified,
	.send_begins = send_begins,
	.send_ends = send_ends,
	.recv_begins = recv_begins,
	.recv_ends = recv_ends,
	.bound = bound,
	.polled = polled,
	.armed = armed,
	.cq_event = cq_event,
	.cq_acked = cq_acked,
	.async_event = async_event,
	.async_acked = async_acked,
	.fork_init = fork_init,
	.queried = queried,
	.cm_event = cm_event,
	.cm_acked = cm_acked,
	.cm_connecting = cm_connecting,
};

/* ---- the process ---- */

static void forking(void)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, "fork");
	adv_check_forking(&call);
}

static void forked(void)
{
	adv_check_report_forked();
	adv_check_forked();
	adv_check_unlock();
}

/* A program that exits with another status than 0 has stopped in the middle of its work. */
static void exiting(int status, void *unused)
{
	adv_check_lock();
	if (status == 0)
		adv_check_leaks("the program exited", NULL);
	adv_check_unlock();
}

__attribute__((constructor)) static void begin_to_observe(void)
{
	adv_check_stack_prepare();
	adv_check_stack_hide(&adverb_check_observer, false);
	pthread_atfork(forking, adv_check_unlock, forked);
	on_exit(exiting, NULL);
}
