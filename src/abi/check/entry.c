/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The observer that libadverb-check.so exports: keeps the records, and calls the rules. */
#include "abi/check/observer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/check/call.h"
#include "abi/rules/connection.h"
#include "abi/rules/events.h"
#include "abi/rules/freed.h"
#include "abi/rules/keys.h"
#include "abi/rules/sizes.h"
#include "abi/rules/payload.h"
#include "abi/rules/posting.h"
#include "abi/rules/queue.h"
#include "abi/rules/failed.h"
#include "abi/rules/lifetime.h"
#include "abi/rules/limits.h"
#include "abi/rules/modify.h"
#include "abi/rules/order.h"
#include "abi/rules/peer.h"
#include "abi/rules/queries.h"
#include "nic/engine/names.h"

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

static void attach_library(const struct adv_check_library *l, const void *code)
{
	if (l)
		adv_check_libibverbs = l;
	adv_check_stack_hide(code, l ? ADV_CHECK_FILE_VERBS : ADV_CHECK_FILE_RDMACM);
}

/* A child of fork() must not use its parent's objects. */
static void check_owner(struct adv_check_call *call, const struct adv_check_object *o)
{
	if (o && o->forks != adv_check_forks())
		adv_check_used_in_child(call, o);
}

/* ---- objects ---- */

static void object_created(enum adv_check_kind kind, void *object, struct ibv_context *context,
			   const void *attr)
{
	const struct ibv_ah_attr *to = kind == ADV_CHECK_AH ? attr : NULL;
	const bool is_here =
		to && to->is_global && adv_check_libibverbs->is_own_gid(context, &to->grh.dgid);
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
	if (o && kind == ADV_CHECK_MR) {
		adv_check_freed_watch((struct adv_check_mr *)o);
		adv_check_region_registered(&call, (struct adv_check_mr *)o);
	}
	adv_check_unlock();
}

static void check_qp_destruction(struct adv_check_call *call, struct adv_check_qp *qp)
{
	const bool overfull =
		(qp->send_cq && qp->send_cq->overfull) || (qp->recv_cq && qp->recv_cq->overfull);

	adv_check_note_left(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		adv_check_note_left(qp->recv_cq);
	adv_check_qp_unacknowledged(call, qp);
	if (qp->base.forks == adv_check_forks())
		adv_check_peer_ends(qp);
	/* Of a CQ that overruns, cq-too-small has been found. */
	if (!overfull)
		adv_check_unread(call, &qp->base);
}

/* Calls the rules on an object that is about to be destroyed. */
static void check_destruction(struct adv_check_call *call, struct adv_check_object *o)
{
	switch (o->kind) {
	case ADV_CHECK_MR:
		adv_check_keys_deregistering(call, (struct adv_check_mr *)o);
		break;
	case ADV_CHECK_CQ:
		adv_check_never_polled(call, (struct adv_check_cq *)o);
		adv_check_cq_unacknowledged(call, (struct adv_check_cq *)o);
		if (!((struct adv_check_cq *)o)->overfull)
			adv_check_unread(call, o);
		break;
	case ADV_CHECK_QP:
		check_qp_destruction(call, (struct adv_check_qp *)o);
		break;
	case ADV_CHECK_SRQ:
	case ADV_CHECK_CONTEXT:
		adv_check_unread(call, o);
		break;
	default:
		break;
	}
}

static void *object_destroying(enum adv_check_kind kind, void *object)
{
	struct adv_check_object *o;
	struct adv_check_call call;

	adv_check_call_begin(&call, destroy_calls[kind]);
	o = adv_check_object_find(kind, object);
	if (o && kind == ADV_CHECK_ID)
		adv_check_cm_destroying(&call, (const struct adv_check_id *)o);
	if (o && kind == ADV_CHECK_CONTEXT)
		adv_check_leaks("ibv_close_device()", object);
	if (o) {
		check_destruction(&call, o);
		o->destroying = true;
	}
	adv_check_unlock();
	return o;
}

static void object_destroyed(void *token, int err)
{
	struct adv_check_object *o = token;
	struct adv_check_call call;

	if (!o)
		return;
	adv_check_call_begin(&call, destroy_calls[o->kind]);
	o->destroying = false;
	if (err == EBUSY)
		adv_check_destroy_refused(&call, o);
	if (!err) {
		if (o->kind == ADV_CHECK_MR)
			adv_check_keys_deregistered((struct adv_check_mr *)o);
		if (o->kind == ADV_CHECK_CONTEXT)
			adv_check_objects_forget(o->object);
		adv_check_object_remove(o);
	}
	adv_check_unlock();
}

static void mr_changed(struct ibv_mr *ibv, int flags, int access)
{
	struct adv_check_object *o;

	adv_check_lock();
	o = adv_check_object_find(ADV_CHECK_MR, ibv);
	if (o) {
		adv_check_mr_change((struct adv_check_mr *)o, flags, access);
		adv_check_freed_watch((struct adv_check_mr *)o);
	}
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
		.port = adv_check_libibverbs->port(ibv->context),
		.peer_is_here = to && to->is_global &&
				adv_check_libibverbs->is_own_gid(ibv->context, &to->grh.dgid),
	};
	struct adv_check_call call;
	struct adv_check_qp *qp;

	adv_check_call_begin(&call, "ibv_modify_qp");
	qp = adv_check_qp_of(ibv);
	if (qp && !err && mask & IBV_QP_STATE) {
		adv_check_object_note(&qp->base, "%s -> %s", adv_qp_state_name(from),
				      adv_qp_state_name(attr->qp_state));
		qp->state = attr->qp_state;
		qp->failed_by = qp->state == IBV_QPS_ERR ? gettid() : 0;
		if (qp->state == IBV_QPS_RESET) {
			adv_check_queue_clear(&qp->sends);
			adv_check_queue_clear(&qp->recvs);
			qp->recvs_posted = qp->sends_posted = qp->sends_compared = 0;
		}
	}
	if (qp) {
		check_owner(&call, &qp->base);
		adv_check_modified(&call, qp, &change);
	}
	adv_check_unlock();
}

static void query_made(enum adv_check_query query)
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
	struct adv_check_call call = {.name = "ibv_post_send"};

	adv_check_keep_errno();
	adv_check_send_ends(&call, adv_check_qp_of(qp), bad, err);
	adv_check_unlock();
	adv_check_poster_leaves(qp);
}

static void recv_begins(struct ibv_qp *qp, struct ibv_srq *srq, const struct ibv_recv_wr *wr)
{
	struct adv_check_object *owner;
	struct adv_check_call call;

	adv_check_call_begin(&call, srq ? "ibv_post_srq_recv" : "ibv_post_recv");
	owner = srq ? adv_check_object_find(ADV_CHECK_SRQ, srq)
		    : adv_check_object_find(ADV_CHECK_QP, qp);
	check_owner(&call, owner);
	if (qp && owner)
		adv_check_post_state(&call, adv_check_qp_of(qp), true);
	adv_check_recv_begins(&call, qp ? adv_check_qp_of(qp) : NULL,
			      srq ? adv_check_srq_of(srq) : NULL, wr);
}

static void recv_ends(struct ibv_qp *qp, struct ibv_srq *srq, const struct ibv_recv_wr *bad,
		      int err)
{
	struct adv_check_call call = {.name = srq ? "ibv_post_srq_recv" : "ibv_post_recv"};

	adv_check_keep_errno();
	adv_check_recv_ends(&call, qp ? adv_check_qp_of(qp) : NULL,
			    srq ? adv_check_srq_of(srq) : NULL, bad, err);
	adv_check_unlock();
}

static void window_bound(struct ibv_qp *ibv, struct ibv_mw *mw, const struct ibv_mw_bind *bind)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, "ibv_bind_mw");
	adv_check_bind_posted(&call, adv_check_qp_of(ibv), bind);
	adv_check_unlock();
}

/* True if one of the completions is that of a message. */
static bool has_received(const struct ibv_wc *wc, int count)
{
	for (int i = 0; i < count; i++)
		if (wc[i].status == IBV_WC_SUCCESS && wc[i].opcode & IBV_WC_RECV)
			return true;
	return false;
}

static void cq_polled(struct ibv_cq *ibv, struct ibv_wc *wc, int count)
{
	struct adv_check_call call;
	struct adv_check_cq *cq;

	adv_check_call_begin(&call, "ibv_poll_cq");
	cq = adv_check_cq_of(ibv);
	if (cq) {
		check_owner(&call, &cq->base);
		cq->polls++;
		cq->armed_late = 0;
		adv_check_polled_in_vain(&call, cq, count > 0);
	}
	adv_check_receive_buffers(&call);
	if (has_received(wc, count))
		adv_check_payloads_answered(&call);
	for (int i = 0; i < count; i++) {
		adv_check_completed(&call, cq, &wc[i]);
		if (wc[i].status != IBV_WC_SUCCESS)
			adv_check_failed_fields(&wc[i]);
	}
	adv_check_unlock();
}

/* ---- events ---- */

static void cq_armed(struct ibv_cq *ibv, bool solicited_only)
{
	struct adv_check_call call;
	struct adv_check_cq *cq;

	adv_check_call_begin(&call, "ibv_req_notify_cq");
	cq = adv_check_cq_of(ibv);
	if (cq)
		adv_check_armed(&call, cq);
	adv_check_unlock();
}

static void cq_wait(struct ibv_comp_channel *channel)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, "ibv_get_cq_event");
	adv_check_waits_for_channel(&call, channel->fd);
	adv_check_unlock();
}

static void cq_event(struct ibv_cq *ibv)
{
	struct adv_check_call call;
	struct adv_check_cq *cq;

	adv_check_call_begin(&call, "ibv_get_cq_event");
	cq = adv_check_cq_of(ibv);
	if (cq)
		adv_check_cq_event(&call, cq);
	adv_check_unlock();
}

static void cq_acked(struct ibv_cq *ibv, unsigned events)
{
	struct adv_check_cq *cq;

	adv_check_lock();
	cq = adv_check_cq_of(ibv);
	if (cq)
		cq->acked += events;
	adv_check_unlock();
}

/* Returns the queue pair that the event concerns, or NULL. */
static struct adv_check_qp *qp_of_event(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return adv_check_qp_of(event->element.qp);
	default:
		return NULL;
	}
}

static void async_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	struct adv_check_call call;
	struct adv_check_qp *qp;

	adv_check_call_begin(&call, "ibv_get_async_event");
	qp = qp_of_event(event);
	if (qp)
		adv_check_qp_event(&call, qp);
	adv_check_unlock();
}

static void async_acked(const struct ibv_async_event *event)
{
	struct adv_check_qp *qp;

	adv_check_lock();
	qp = qp_of_event(event);
	if (qp)
		qp->async_acked++;
	adv_check_unlock();
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
	.attach = attach_library,
	.created = object_created,
	.destroying = object_destroying,
	.destroyed = object_destroyed,
	.mr_changed = mr_changed,
	.qp_modified = qp_modified,
	.send_begins = send_begins,
	.send_ends = send_ends,
	.recv_begins = recv_begins,
	.recv_ends = recv_ends,
	.bound = window_bound,
	.polled = cq_polled,
	.armed = cq_armed,
	.cq_wait = cq_wait,
	.cq_event = cq_event,
	.cq_acked = cq_acked,
	.async_event = async_event,
	.async_acked = async_acked,
	.fork_init = fork_init,
	.queried = query_made,
	.cm_event = cm_event,
	.cm_acked = cm_acked,
	.cm_connecting = cm_connecting,
};

/* ---- the process ---- */

static void process_forking(void)
{
	struct adv_check_call call;

	adv_check_call_begin(&call, "fork");
	adv_check_forking(&call);
}

static void process_forked(void)
{
	adv_check_forked_report();
	adv_check_forked();
	adv_check_unlock();
}

/* Reports the events and completions that the program has not read. */
static void check_unread(void)
{
	adv_list_for_each(const struct adv_check_object, o, adv_check_objects(ADV_CHECK_CQ), link)
		if (o->forks == adv_check_forks())
			adv_check_never_polled(NULL, (const struct adv_check_cq *)o);
	adv_list_for_each(const struct adv_check_object, o, adv_check_objects(ADV_CHECK_CONTEXT),
			  link)
		if (o->forks == adv_check_forks())
			adv_check_unread(NULL, o);
}

/* A program that exits with another status than 0 has stopped in the middle of its work. */
static void process_exiting(int status, void *unused)
{
	adv_check_lock();
	if (status == 0) {
		check_unread();
		adv_check_leaks("the program exited", NULL);
	}
	adv_check_unlock();
}

__attribute__((constructor)) static void begin_to_observe(void)
{
	adv_check_stack_prepare();
	adv_check_stack_hide(&adverb_check_observer, ADV_CHECK_FILE_OBSERVER);
	pthread_atfork(process_forking, adv_check_unlock, process_forked);
	on_exit(process_exiting, NULL);
}
