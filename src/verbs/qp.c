/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: creating, modifying, posting. qp_ex.c has ibv_wr_*(), mcast.c the groups. */
#include <stdlib.h>
#include <string.h>

#include "verbs/objects.h"

static bool same_context(struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr)
{
	return attr->send_cq && attr->recv_cq && attr->send_cq->context == pd->context &&
	       attr->recv_cq->context == pd->context &&
	       (!attr->srq || attr->srq->context == pd->context);
}

static int create_in_engine(struct ibv_pd *pd, struct adv_ibv_qp *qp,
			    struct ibv_qp_init_attr_ex *attr)
{
	struct adv_qp_config config = {
		.type = attr->qp_type,
		.pd = adv_pd_of(pd)->pd,
		.send_cq = adv_cq_of(attr->send_cq)->cq,
		.recv_cq = adv_cq_of(attr->recv_cq)->cq,
		.srq = attr->srq ? adv_srq_of(attr->srq)->srq : NULL,
		.cap = attr->cap,
		.sq_sig_all = attr->sq_sig_all != 0,
		.user = qp,
	};
	struct adv_engine *e = adv_enter(pd->context);
	int err = 0;

	if (!e)
		return ADV_EFOREIGN;
	qp->qp = adv_qp_create(e, &config);
	if (qp->qp)
		qp->ibv.qp_num = adv_qp_num(qp->qp);
	else
		err = errno;
	adv_leave(pd->context);
	qp->cap = config.cap;
	return err;
}

static void fill(struct adv_ibv_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr_ex *attr)
{
	static atomic_uint handles;

	qp->ibv.context = pd->context;
	qp->ibv.qp_context = attr->qp_context;
	qp->ibv.pd = pd;
	qp->ibv.send_cq = attr->send_cq;
	qp->ibv.recv_cq = attr->recv_cq;
	qp->ibv.srq = attr->srq;
	qp->ibv.handle = ++handles;
	qp->ibv.state = IBV_QPS_RESET;
	qp->ibv.qp_type = attr->qp_type;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	qp->sq_sig_all = attr->sq_sig_all != 0;
	adv_async_init_qp(qp);
}

static void free_qp(struct adv_ibv_qp *qp)
{
	adv_qp_ex_free(qp);
	pthread_cond_destroy(&qp->ibv.cond);
	pthread_mutex_destroy(&qp->ibv.mutex);
	free(qp);
}

/* attr->cap comes back as what the program got. */
static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr_ex *attr)
{
	struct adv_ibv_qp *qp;
	int err = 0;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!same_context(pd, attr)) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	fill(qp, pd, attr);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = adv_qp_ex_init(qp, attr->qp_type, attr->send_ops_flags);
	if (!err)
		err = create_in_engine(pd, qp, attr);
	if (err) {
		free_qp(qp);
		errno = err;
		return NULL;
	}
	attr->cap = qp->cap;
	return &qp->ibv;
}

ADV_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};
	struct ibv_qp *qp = create_qp(pd, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

struct ibv_qp *adv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t supported = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
				   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (attr->comp_mask & ~supported ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context) {
		errno = EINVAL;
		return NULL;
	}
	return create_qp(attr->pd, attr);
}

ADV_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return adv_qp_of(qp)->wr_list ? &adv_qp_of(qp)->ex.base : NULL;
}

/* What is wrong whatever the state is; the tables of the transitions are the transport's. */
static bool valid_attr(const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_PORT && attr->port_num != 1)
		return false;
	if (mask & IBV_QP_PKEY_INDEX && attr->pkey_index != 0)
		return false;
	return !(mask & IBV_QP_AV && attr->ah_attr.port_num > 1);
}

ADV_EXPORT int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct adv_ibv_qp *qp = adv_qp_of(ibqp);
	int err;

	if (!valid_attr(attr, mask))
		return EINVAL;
	if (!adv_enter(ibqp->context))
		return ADV_EFOREIGN;
	err = adv_qp_modify(qp->qp, adv_now(), attr, mask);
	if (!err && mask & IBV_QP_STATE)
		ibqp->state = attr->qp_state;
	adv_leave(ibqp->context);
	return err;
}

ADV_EXPORT int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
			    struct ibv_qp_init_attr *init)
{
	struct adv_ibv_qp *qp = adv_qp_of(ibqp);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	if (!adv_enter(ibqp->context))
		return ADV_EFOREIGN;
	adv_qp_query(qp->qp, attr, init);
	if (mask & IBV_QP_STATE)
		ibqp->state = attr->qp_state;
	adv_leave(ibqp->context);
	attr->cap = qp->cap;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_all = qp->sq_sig_all;
	return 0;
}

ADV_EXPORT int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct adv_ibv_qp *qp = adv_qp_of(ibqp);
	int err;

	if (adv_enter(ibqp->context)) {
		err = adv_qp_destroy(qp->qp);
		adv_leave(ibqp->context);
		if (err)
			return err;
		adv_wait_acked(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed,
			       adv_async_forget_nodes(ibqp->context, qp->node, ADV_QP_NODES));
	}
	free_qp(qp);
	return 0;
}

/* A child of fork() has *bad_wr set like any other error. */
int adv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int err;

	if (!adv_enter(qp->context)) {
		*bad_wr = wr;
		return ADV_EFOREIGN;
	}
	err = adv_qp_post_send(adv_qp_of(qp)->qp, adv_now(), wr, bad_wr);
	adv_leave(qp->context);
	return err;
}

int adv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err;

	if (!adv_enter(qp->context)) {
		*bad_wr = wr;
		return ADV_EFOREIGN;
	}
	err = adv_qp_post_recv(adv_qp_of(qp)->qp, adv_now(), wr, bad_wr);
	adv_leave(qp->context);
	return err;
}

/* Bytes of a packet are placed by memcpy(), in any order. */
ADV_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

/* Enhanced connection establishment: there are no options, which vendor_id 0 says. */
ADV_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	memset(ece, 0, sizeof(*ece));
	return 0;
}

ADV_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}
