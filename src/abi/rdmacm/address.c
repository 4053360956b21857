/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binding, resolving and listening. */
#include <errno.h>
#include <string.h>

#include "base/reason.h"
#include "abi/rdmacm/event.h"
#include "base/export.h"
#include "abi/rdmacm/id_state.h"
#include "abi/rdmacm/route.h"

#define BAD_ADDRESS "%s is NULL or of an address family other than AF_INET and AF_INET6"

ADV_EXPORT int rdma_bind_addr(struct rdma_cm_id *cm_id, struct sockaddr *addr)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	socklen_t len = adv_rdma_addr_len(addr);
	struct adv_ucma_message m;
	int err;

	if (!cm_id || !len)
		return adv_rdma_result(adv_reason(EINVAL, BAD_ADDRESS, "addr"), __func__, cm_id);
	adv_rdma_request(&m, ADV_UCMA_CMD_BIND, id->handle);
	memcpy(&m.body.addr.local, addr, len);
	err = adv_rdma_id_ask(id, &m);
	if (!err)
		err = adv_rdma_id_set_route(id, &m.body.route);
	return adv_rdma_addr_result(err, __func__, cm_id, addr);
}

ADV_EXPORT int rdma_resolve_addr(struct rdma_cm_id *cm_id, struct sockaddr *src_addr,
				 struct sockaddr *dst_addr, int timeout_ms)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	socklen_t src_len = adv_rdma_addr_len(src_addr);
	socklen_t dst_len = adv_rdma_addr_len(dst_addr);
	struct adv_ucma_message m;
	bool sync;
	int err;

	if (!cm_id || !dst_len || (src_addr && !src_len))
		return adv_rdma_result(
			adv_reason(EINVAL, BAD_ADDRESS, dst_len ? "src_addr" : "dst_addr"),
			__func__, cm_id);
	adv_rdma_request(&m, ADV_UCMA_CMD_RESOLVE_ADDR, id->handle);
	if (src_len)
		memcpy(&m.body.addr.local, src_addr, src_len);
	memcpy(&m.body.addr.remote, dst_addr, dst_len);
	m.body.addr.timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	/* The address is set before the request: another thread may get the event at once. */
	memcpy(&cm_id->route.addr.dst_storage, dst_addr, dst_len);
	sync = id->sync;
	err = adv_rdma_id_ask(id, &m);
	/* EADDRNOTAVAIL is an error of the source address. */
	return adv_rdma_addr_result(err || !sync ? err : adv_rdma_complete(id), __func__, cm_id,
				    err == EADDRNOTAVAIL && src_len ? src_addr : dst_addr);
}

ADV_EXPORT int rdma_resolve_route(struct rdma_cm_id *cm_id, int timeout_ms)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_ucma_message m;
	bool sync;
	int err;

	if (!cm_id)
		return adv_rdma_result(EINVAL, __func__, cm_id);
	adv_rdma_request(&m, ADV_UCMA_CMD_RESOLVE_ROUTE, id->handle);
	m.body.addr.timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	sync = id->sync;
	err = adv_rdma_id_ask(id, &m);
	return adv_rdma_result(err || !sync ? err : adv_rdma_complete(id), __func__, cm_id);
}

ADV_EXPORT int rdma_listen(struct rdma_cm_id *cm_id, int backlog)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_ucma_message m;
	int err;

	if (!cm_id)
		return adv_rdma_result(EINVAL, __func__, cm_id);
	adv_rdma_request(&m, ADV_UCMA_CMD_LISTEN, id->handle);
	m.value = backlog > 0 ? (uint64_t)backlog : 0;
	err = adv_rdma_id_ask(id, &m);
	if (!err)
		err = adv_rdma_id_set_route(id, &m.body.route);
	return adv_rdma_result(err, __func__, cm_id);
}

ADV_EXPORT int rdma_set_option(struct rdma_cm_id *cm_id, int level, int optname, void *optval,
			       size_t optlen)
{
	struct adv_ucma_message m;

	if (!cm_id || !optval || optlen == 0)
		return adv_rdma_result(adv_reason(EINVAL,
						  "optval %p, optlen %zu: an option has a value",
						  optval, optlen),
				       __func__, cm_id);
	/* Paths come from the routing table only. */
	if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH)
		return adv_rdma_result(
			adv_reason(EOPNOTSUPP,
				   "RDMA_OPTION_IB_PATH: RoCE takes paths from the routing table"),
			__func__, cm_id);
	if (level < 0 || optname < 0 || optlen > sizeof(m.body.option.data))
		return adv_rdma_result(
			adv_reason(EINVAL, "level %d, optname %d, optlen %zu: no such option",
				   level, optname, optlen),
			__func__, cm_id);
	adv_rdma_request(&m, ADV_UCMA_CMD_SET_OPTION, adv_rdma_id_of(cm_id)->handle);
	m.body.option.level = (uint32_t)level;
	m.body.option.name = (uint32_t)optname;
	m.body.option.len = (uint32_t)optlen;
	memcpy(m.body.option.data, optval, optlen);
	return adv_rdma_refuse(adv_rdma_id_ask(adv_rdma_id_of(cm_id), &m),
			       "rdma_set_option(%p, level %d, optname %d)", (void *)cm_id, level,
			       optname);
}
