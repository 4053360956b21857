/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/id_state.h"

#include <errno.h>
#include <stdarg.h>

#include "base/array.h"
#include "base/reason.h"

struct adv_rdma_id *adv_rdma_id_of(struct rdma_cm_id *id)
{
	return (struct adv_rdma_id *)id;
}

int adv_rdma_result(int err, const char *function, const void *object)
{
	/* A non-blocking call that finds nothing has not failed. */
	if (err == EAGAIN || err == EINTR) {
		errno = err;
		return -1;
	}
	return adv_rdma_refuse(err, "%s(%p)", function, object);
}

int adv_rdma_ended(int err)
{
	if (err != ENOTCONN && err != ECONNABORTED)
		return err;
	return adv_reason(err == ENOTCONN ? EINVAL : err,
			  "the connection has ended already: the peer has disconnected or given "
			  "up, or this end has");
}

int adv_rdma_refuse(int err, const char *call, ...)
{
	va_list args;

	if (!err)
		return 0;
	va_start(args, call);
	adv_reason_vtell(err, call, args);
	va_end(args);
	errno = err;
	return -1;
}

int adv_rdma_explain(int err, unsigned command)
{
	static const struct {
		unsigned command;
		int err;
		const char *why;
	} reasons[] = {
		{ADV_UCMA_CMD_BIND, EADDRINUSE,
		 "another id has the port: choose another port, end the other program, or set "
		 "RDMA_OPTION_ID_REUSEADDR"},
		{ADV_UCMA_CMD_BIND, EADDRNOTAVAIL,
		 "this machine does not have the address (adverb devinfo lists its addresses)"},
		{ADV_UCMA_CMD_BIND, ENODEV,
		 "the address is this machine's, but not one of the device's GIDs (adverb "
		 "devinfo)"},
		{ADV_UCMA_CMD_BIND, EAFNOSUPPORT,
		 "only AF_INET and AF_INET6 addresses can be bound"},
		{ADV_UCMA_CMD_BIND, EINVAL, "the id has an address already: create another id"},
		{ADV_UCMA_CMD_RESOLVE_ADDR, EINVAL,
		 "the id was resolved, connected or listens already"},
		{ADV_UCMA_CMD_RESOLVE_ADDR, EAFNOSUPPORT, "only AF_INET and AF_INET6 exist here"},
		{ADV_UCMA_CMD_RESOLVE_ADDR, EADDRNOTAVAIL, "this machine does not have src_addr"},
		{ADV_UCMA_CMD_RESOLVE_ROUTE, EINVAL,
		 "the address is not resolved: wait for RDMA_CM_EVENT_ADDR_RESOLVED"},
		{ADV_UCMA_CMD_LISTEN, EINVAL, "the id is connected, resolved or listens already"},
		{ADV_UCMA_CMD_LISTEN, EADDRINUSE, "another id listens on this address and port"},
		{ADV_UCMA_CMD_CONNECT, EINVAL,
		 "the route is not resolved, or the id connects already: wait for "
		 "RDMA_CM_EVENT_ROUTE_RESOLVED"},
		{ADV_UCMA_CMD_ACCEPT, EINVAL,
		 "the id has no unanswered request: accept the id of "
		 "RDMA_CM_EVENT_CONNECT_REQUEST, once"},
		{ADV_UCMA_CMD_REJECT, EINVAL,
		 "the id has no unanswered request: reject the id of "
		 "RDMA_CM_EVENT_CONNECT_REQUEST, once"},
		{ADV_UCMA_CMD_DISCONNECT, EINVAL, "the id is not connected"},
		{ADV_UCMA_CMD_ESTABLISH, EINVAL, "the id does not wait for an RTU"},
		{ADV_UCMA_CMD_QP_ATTR, EINVAL,
		 "the id has no attributes for this state yet: resolve, connect or accept first"},
		{ADV_UCMA_CMD_SET_OPTION, ENOSYS,
		 "there is no such option: RDMA_OPTION_ID (0) has TOS, REUSEADDR, AFONLY and "
		 "ACK_TIMEOUT (0 to 3)"},
		{ADV_UCMA_CMD_SET_OPTION, EINVAL,
		 "the value is not valid, or the id is past the state in which it can be set"},
		{ADV_UCMA_CMD_JOIN, EINVAL, "the id is not bound or resolved, or is in the group"},
		{ADV_UCMA_CMD_JOIN, ENODEV, "no interface of the device leads to the group"},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(reasons); i++)
		if (reasons[i].command == command && reasons[i].err == err)
			return adv_reason(err, "%s", reasons[i].why);
	return err == ENODEV ? adv_reason(err, "adverbd has ended, or the device was removed")
			     : err;
}

bool adv_rdma_is_ud(const struct rdma_cm_id *id)
{
	return id->qp_type == IBV_QPT_UD;
}

/* In a child of fork() another thread of the parent may have held the lock. There the id is of no
 * use, and only gets destroyed. */
void adv_rdma_qp_lock(struct adv_rdma_id *id)
{
	if (!id->connection->foreign)
		pthread_mutex_lock(&id->qp_lock);
}

void adv_rdma_qp_unlock(struct adv_rdma_id *id)
{
	if (!id->connection->foreign)
		pthread_mutex_unlock(&id->qp_lock);
}

static struct adv_list *handle_bucket(struct adv_rdma_connection *c, uint32_t handle)
{
	return &c->ids[handle % ADV_RDMA_BUCKETS];
}

struct adv_rdma_id *adv_rdma_id_find(struct adv_rdma_connection *c, uint32_t handle)
{
	struct adv_list *head = handle_bucket(c, handle);

	adv_list_for_each(struct adv_rdma_id, id, head, by_handle) {
		if (id->handle == handle)
			return id;
	}
	return NULL;
}

void adv_rdma_id_enter(struct adv_rdma_id *id, uint32_t handle)
{
	id->handle = handle;
	adv_list_add(handle_bucket(id->connection, handle), &id->by_handle);
}

int adv_rdma_id_ask(struct adv_rdma_id *id, struct adv_ucma_message *m)
{
	return adv_rdma_id_ask_with(id, m, NULL);
}

int adv_rdma_id_ask_with(struct adv_rdma_id *id, struct adv_ucma_message *m, int *fd)
{
	int err;

	adv_rdma_lock(id->connection);
	err = id->ended ? ENODEV : adv_rdma_ask(id->connection, m, fd);
	adv_rdma_unlock(id->connection);
	return err ? adv_rdma_explain(err, m->type) : 0;
}

void adv_rdma_id_end(struct adv_rdma_id *id)
{
	struct adv_ucma_message m;

	if (id->ended)
		return;
	id->ended = true;
	adv_list_del(&id->by_handle);
	adv_rdma_request(&m, ADV_UCMA_CMD_DESTROY_ID, id->handle);
	adv_rdma_ask(id->connection, &m, NULL);
}
