/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of the context that do not exist here. Without an entry in the table, the headers'
 * inline functions would fail without errno and without a line in the log. */
#include "abi/verbs/absent.h"

#include "abi/verbs/objects.h"

#define NO_FLOWS "neither flow steering nor counters of flows exist here"
#define NO_WQ	 "queue pairs have no work queues of their own here: use ibv_create_qp()"
#define RC_ONLY	 "the device is an iWARP adapter: neither XRC nor datagrams exist"

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NO_FLOWS), "ibv_create_flow(qp 0x%06x)",
				     qp->qp_num);
}

static struct ibv_flow_action *create_flow_action_esp(struct ibv_context *context,
						      struct ibv_flow_action_esp_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NO_FLOWS),
				     "ibv_create_flow_action_esp()");
}

static struct ibv_counters *create_counters(struct ibv_context *context,
					    struct ibv_counters_init_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NO_FLOWS), "ibv_create_counters()");
}

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	return adv_ibv_refuse_object(
		adv_reason(EOPNOTSUPP, "null memory regions do not exist here: register memory of "
				       "the process that nobody reads"),
		"ibv_alloc_null_mr(pd %u)", pd->handle);
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NO_WQ), "ibv_create_wq()");
}

static struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context,
						      struct ibv_rwq_ind_table_init_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NO_WQ), "ibv_create_rwq_ind_table()");
}

static int modify_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	return adv_ibv_refuse(
		adv_reason(
			EOPNOTSUPP,
			"queue pairs have no rate limit here: `adverb run --cc` limits their rate"),
		"ibv_modify_qp_rate_limit(qp 0x%06x)", qp->qp_num);
}

static int post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad_op)
{
	*bad_op = op;
	return adv_ibv_refuse(adv_reason(EOPNOTSUPP, "tag matching does not exist here"),
			      "ibv_post_srq_ops(srq %u)", srq->handle);
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	return adv_ibv_refuse(adv_reason(EOPNOTSUPP, RC_ONLY), "ibv_get_srq_num(srq %u)",
			      srq->handle);
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, RC_ONLY), "ibv_open_xrcd()");
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, RC_ONLY), "ibv_open_qp()");
}

void adv_ibv_absent_fill(struct verbs_context *v)
{
	v->ibv_create_flow = create_flow;
	v->create_flow_action_esp = create_flow_action_esp;
	v->create_counters = create_counters;
	v->alloc_null_mr = alloc_null_mr;
	v->create_wq = create_wq;
	v->create_rwq_ind_table = create_rwq_ind_table;
	v->modify_qp_rate_limit = modify_rate_limit;
	v->post_srq_ops = post_srq_ops;
	v->get_srq_num = get_srq_num;
	v->open_xrcd = open_xrcd;
	v->open_qp = open_qp;
}
