/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups of ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "abi/rdmacm/event.h"
#include "base/export.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/route.h"

static int join_group(struct rdma_cm_id *cm_id, const struct sockaddr *addr, uint32_t flags,
		      void *context)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	socklen_t len = adv_rdma_addr_len(addr);
	struct adv_rdma_membership *membership;
	struct adv_ucma_message m;
	bool sync;
	int err;

	if (!cm_id || !len)
		return EINVAL;
	membership = calloc(1, sizeof(*membership));
	if (!membership)
		return ENOMEM;
	membership->context = context;
	membership->send_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	memcpy(&membership->addr, addr, len);
	adv_rdma_request(&m, ADV_UCMA_CMD_JOIN, id->handle);
	m.body.join.addr = membership->addr;
	m.body.join.join_flags = flags;
	/* The membership is in the list before any thread can fetch its event. */
	adv_rdma_lock(id->connection);
	err = id->ended ? ENODEV : adv_rdma_ask(id->connection, &m, NULL);
	if (!err) {
		membership->handle = m.value;
		adv_list_add(&id->memberships, &membership->link);
	}
	sync = id->sync;
	adv_rdma_unlock(id->connection);
	if (err) {
		free(membership);
		return err;
	}
	return sync ? adv_rdma_complete(id) : 0;
}

ADV_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return adv_rdma_addr_result(join_group(id, addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context),
				    __func__, id, addr);
}

ADV_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
				      void *context)
{
	const uint32_t both = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (!attr)
		return adv_rdma_result(adv_reason(EINVAL, "attr is NULL"), __func__, id);
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return adv_rdma_result(
			adv_reason(ENOTSUP, "comp_mask 0x%x has unknown bits", attr->comp_mask),
			__func__, id);
	if ((attr->comp_mask & both) != both || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return adv_rdma_result(adv_reason(EINVAL,
						  "comp_mask 0x%x, join_flags %u: the address and "
						  "the flags are needed",
						  attr->comp_mask, attr->join_flags),
				       __func__, id);
	return adv_rdma_addr_result(join_group(id, attr->addr, attr->join_flags, context), __func__,
				    id, attr->addr);
}

/* Removes the membership of this address from the list. */
static struct adv_rdma_membership *remove_membership(struct adv_rdma_id *id,
						     const struct sockaddr *addr, socklen_t len)
{
	struct adv_rdma_membership *found = NULL;

	adv_rdma_lock(id->connection);
	adv_list_for_each(struct adv_rdma_membership, m, &id->memberships, link) {
		if (memcmp(&m->addr, addr, len) == 0) {
			found = m;
			break;
		}
	}
	if (found)
		adv_list_del(&found->link);
	adv_rdma_unlock(id->connection);
	return found;
}

ADV_EXPORT int rdma_leave_multicast(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	socklen_t len = adv_rdma_addr_len(addr);
	struct adv_rdma_membership *membership;
	struct adv_ucma_message m;
	int err;

	if (!cm_id || !len)
		return adv_rdma_result(
			adv_reason(EINVAL, "addr is NULL or of an unknown address family"),
			__func__, cm_id);
	membership = remove_membership(id, addr, len);
	if (!membership)
		return adv_rdma_addr_result(
			adv_reason(EADDRNOTAVAIL,
				   "the id is not in this group: use the address that it joined"),
			__func__, cm_id, addr);
	adv_rdma_request(&m, ADV_UCMA_CMD_LEAVE, id->handle);
	m.value = membership->handle;
	err = adv_rdma_id_ask(id, &m);
	adv_rdma_lock(id->connection);
	adv_rdma_id_wait(id, &membership->completed, &membership->reported);
	adv_rdma_unlock(id->connection);
	/* From here on no thread can attach the QP. */
	adv_rdma_qp_lock(id);
	if (cm_id->qp && membership->attached)
		ibv_detach_mcast(cm_id->qp, &membership->mgid, membership->mlid);
	adv_rdma_qp_unlock(id);
	free(membership);
	return adv_rdma_result(err, __func__, cm_id);
}
