/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel binds counters to queue pairs on request. Here each queue pair has counters. */
#include "runtime/preload/nldev_statistic.h"

#include <errno.h>

#include "runtime/identity/hw_counters.h"

struct listing {
	struct adv_nldev_request *request;
	uint32_t port;	 /* selected port; 0: any */
	uint32_t number; /* of the counters listed last */
};

static void put_counters(struct adv_netlink *n, const struct adv_object *qp)
{
	const struct adv_counters none = {.engine = {0}};
	size_t all = adv_netlink_nest(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS), one;
	uint64_t value, ignored;
	const char *name;

	for (unsigned i = 0; (name = adv_hw_counter(&none, i, &ignored)); i++) {
		if (!adv_hw_counter_of_qp(qp->qp.share, i, &value))
			continue;
		one = adv_netlink_nest(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
		adv_netlink_string(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
		adv_netlink_u64(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
		adv_netlink_nest_end(n, one);
	}
	adv_netlink_nest_end(n, all);
}

/* Writes a message with the counters of one queue pair. */
static bool list_statistic(void *user, const struct adv_object *qp)
{
	struct listing *l = user;
	struct adv_netlink *n = l->request->answer;
	size_t table, entry, qps, of;

	if (l->port && l->port != qp->port)
		return true;
	adv_nldev_begin(l->request, true);
	adv_nldev_put_handle(l->request);
	table = adv_netlink_nest(n, RDMA_NLDEV_ATTR_STAT_COUNTER);
	entry = adv_netlink_nest(n, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
	if (qp->port)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_PORT_INDEX, qp->port);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, ++l->number);
	if (qp->pid)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PID, qp->pid);
	qps = adv_netlink_nest(n, RDMA_NLDEV_ATTR_RES_QP);
	of = adv_netlink_nest(n, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_LQPN, qp->number);
	adv_netlink_nest_end(n, of);
	adv_netlink_nest_end(n, qps);
	put_counters(n, qp);
	adv_netlink_nest_end(n, entry);
	adv_netlink_nest_end(n, table);
	adv_netlink_end(n);
	return !n->failed;
}

int adv_nldev_list_statistics(struct adv_nldev_request *r)
{
	struct listing l = {.request = r};
	uint32_t of;

	if (!adv_nldev_u32(r, RDMA_NLDEV_ATTR_STAT_RES, &of))
		return EINVAL;
	if (of == RDMA_NLDEV_ATTR_RES_MR)
		return 0;
	if (of != RDMA_NLDEV_ATTR_RES_QP)
		return EOPNOTSUPP;
	if (!adv_nldev_find_device(r) ||
	    (adv_nldev_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, &l.port) && l.port != ADV_NLDEV_PORT))
		return EINVAL;
	return adv_nldev_each(r, ADV_RESOURCE_QP, list_statistic, &l);
}
