/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_resolve_addrinfo(3), which reports its result by an event; rdma_write_cm_event(3). */
#include <errno.h>
#include <netdb.h>

#include "base/reason.h"
#include "abi/rdmacm/addrinfo.h"
#include "abi/rdmacm/event.h"
#include "base/export.h"
#include "abi/rdmacm/id_state.h"
#include "abi/rdmacm/newer.h"

static int write_event(struct adv_rdma_id *id, uint32_t type, int status, uint64_t value)
{
	struct adv_ucma_message m;

	adv_rdma_request(&m, ADV_UCMA_CMD_WRITE_EVENT, id->handle);
	m.body.event.type = type;
	m.body.event.status = status;
	m.value = value;
	return adv_rdma_id_ask(id, &m);
}

ADV_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
				   uint64_t arg)
{
	if (!id || (int)event != ADV_EVENT_USER)
		return adv_rdma_result(
			adv_reason(EINVAL, "event %d: programs can write only RDMA_CM_EVENT_USER",
				   (int)event),
			__func__, id);
	return adv_rdma_result(write_event(adv_rdma_id_of(id), ADV_EVENT_USER, status, arg),
			       __func__, id);
}

/* Returns an event's status for a return value of rdma_getaddrinfo(). */
static int status_of(int ret)
{
	switch (ret) {
	case 0:
		return 0;
	case -1: /* also EAI_BADFLAGS: both are errors of the caller */
		return -EINVAL;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_SYSTEM:
		return errno ? -errno : -EIO;
	default:
		return -ENOENT;
	}
}

/* Resolves in the caller's thread. An event reports success or failure. */
ADV_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *cm_id, const char *node,
				     const char *service, const struct rdma_addrinfo *hints)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct rdma_addrinfo *found = NULL;
	bool busy, sync;
	int status, err;

	if (!cm_id || (!node && !service && !hints))
		return adv_rdma_result(adv_reason(EINVAL, "node, service and hints are all NULL"),
				       __func__, cm_id);
	err = adv_rdma_check_sa(hints);
	if (err)
		return adv_rdma_result(err, __func__, cm_id);
	adv_rdma_lock(id->connection);
	busy = id->resolving;
	id->resolving = true;
	adv_rdma_unlock(id->connection);
	if (busy)
		return adv_rdma_result(adv_reason(EBUSY, "the id resolves already: wait for its "
							 "event, then call rdma_query_addrinfo()"),
				       __func__, cm_id);
	status = status_of(rdma_getaddrinfo(node, service, hints, &found));
	adv_rdma_lock(id->connection);
	id->resolved = found;
	id->resolving = status == 0;
	sync = id->sync;
	adv_rdma_unlock(id->connection);
	err = write_event(id, status ? ADV_EVENT_ADDRINFO_ERROR : ADV_EVENT_ADDRINFO_RESOLVED,
			  status, 0);
	if (!err)
		return adv_rdma_result(sync ? adv_rdma_complete(id) : 0, __func__, cm_id);
	adv_rdma_lock(id->connection);
	id->resolved = NULL;
	id->resolving = false;
	adv_rdma_unlock(id->connection);
	rdma_freeaddrinfo(found);
	return adv_rdma_result(err, __func__, cm_id);
}

ADV_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *cm_id, struct rdma_addrinfo **info)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct rdma_addrinfo *found;

	if (!cm_id || !info)
		return adv_rdma_result(EINVAL, __func__, cm_id);
	adv_rdma_lock(id->connection);
	found = id->resolved;
	id->resolved = NULL;
	if (found)
		id->resolving = false;
	adv_rdma_unlock(id->connection);
	if (!found)
		return adv_rdma_result(
			adv_reason(ENOENT,
				   "nothing is resolved: wait for RDMA_CM_EVENT_ADDRINFO_RESOLVED"),
			__func__, cm_id);
	*info = found;
	return 0;
}
