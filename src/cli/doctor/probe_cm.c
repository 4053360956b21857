/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The probe by the connection manager. */
#include "cli/doctor/probe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "base/clock.h"
#include "base/rights.h"
#include "runtime/control/ucma_protocol.h"

#define PROBE_PORT   1 /* tcpmux: no RDMA service listens there */
#define PROBE_QPN    2 /* a QP number of adverbd's slot, which no queue pair has */
#define RESOLVE_MS   500
#define ATTEMPT_MS   700
#define ATTEMPTS     2
#define ANSWER_MS    1000
#define RETRY_COUNTS 7

struct probe {
	int fd;	    /* socket of the connection manager */
	int events; /* socket of the event channel */
	uint32_t channel;
	uint32_t serial;
	uint64_t deadline_ms;
	struct adv_ucma_message m;
};

/* Sends p->m and receives the answer in it. *fd: the answer's descriptor, -1: none. 0 or errno. */
static int request_cm(struct probe *p, enum adv_ucma_command command, int *fd)
{
	union adv_rights_room room = {{0}};
	struct iovec iov = {&p->m, sizeof(p->m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room.space,
			     .msg_controllen = sizeof(room.space)};
	struct pollfd readable = {.fd = p->fd, .events = POLLIN};
	int got;

	p->m.magic = ADV_UCMA_PROTOCOL_MAGIC;
	p->m.version = ADV_UCMA_PROTOCOL_VERSION;
	p->m.type = (uint16_t)command;
	p->m.serial = ++p->serial;
	p->m.result = 0;
	if (send(p->fd, &p->m, sizeof(p->m), MSG_NOSIGNAL) != sizeof(p->m) ||
	    poll(&readable, 1, ANSWER_MS) <= 0 ||
	    recvmsg(p->fd, &msg, MSG_CMSG_CLOEXEC) != sizeof(p->m))
		return ECONNRESET;
	got = adv_rights_take(&msg);
	if (fd)
		*fd = got;
	else if (got >= 0)
		close(got);
	return p->m.type == command && p->m.serial == p->serial ? p->m.result : ECONNRESET;
}

/* Waits for the next event of the channel, in p->m. Returns its type; -1: none in time. */
static int next_event(struct probe *p)
{
	struct pollfd readable = {.fd = p->events, .events = POLLIN};
	uint64_t now = adv_clock_ms();
	char byte;

	while (now < p->deadline_ms && poll(&readable, 1, (int)(p->deadline_ms - now)) > 0) {
		if (read(p->events, &byte, 1) != 1)
			return -1;
		memset(&p->m, 0, sizeof(p->m));
		p->m.channel = p->channel;
		if (request_cm(p, ADV_UCMA_CMD_GET_EVENT, NULL) == 0)
			return (int)p->m.body.event.type;
		now = adv_clock_ms();
	}
	return -1;
}

static void to_sockaddr(const struct adv_gid *gid, uint16_t port, union adv_ucma_sockaddr *out)
{
	memset(out, 0, sizeof(*out));
	if (adv_gid_is_ipv4(gid)) {
		out->in.sin_family = AF_INET;
		out->in.sin_port = htons(port);
		memcpy(&out->in.sin_addr, gid->raw + 12, 4);
	} else {
		out->in6.sin6_family = AF_INET6;
		out->in6.sin6_port = htons(port);
		memcpy(&out->in6.sin6_addr, gid->raw, 16);
	}
}

static int open_channel(struct probe *p, struct adv_control *c)
{
	char why[ADV_CONTROL_TEXT_LEN];
	int error = adv_control_open_cm(c, &p->fd, why, sizeof(why));

	if (!error)
		error = request_cm(p, ADV_UCMA_CMD_CREATE_CHANNEL, &p->events);
	p->channel = p->m.channel;
	return error || p->events < 0 ? ECONNRESET : 0;
}

/* Creates an id and resolves address and route. Returns its number; 0: that failed. */
static uint32_t resolve_peer(struct probe *p, const struct adv_gid *from, const struct adv_gid *to)
{
	uint32_t id;

	memset(&p->m, 0, sizeof(p->m));
	p->m.channel = p->channel;
	p->m.body.create.port_space = RDMA_PS_TCP;
	p->m.body.create.qp_type = IBV_QPT_RC;
	if (request_cm(p, ADV_UCMA_CMD_CREATE_ID, NULL))
		return 0;
	id = p->m.id;
	memset(&p->m, 0, sizeof(p->m));
	p->m.id = id;
	to_sockaddr(from, 0, &p->m.body.addr.local);
	to_sockaddr(to, PROBE_PORT, &p->m.body.addr.remote);
	p->m.body.addr.timeout_ms = RESOLVE_MS;
	if (request_cm(p, ADV_UCMA_CMD_RESOLVE_ADDR, NULL) ||
	    next_event(p) != RDMA_CM_EVENT_ADDR_RESOLVED)
		return 0;
	memset(&p->m, 0, sizeof(p->m));
	p->m.id = id;
	p->m.body.addr.timeout_ms = RESOLVE_MS;
	if (request_cm(p, ADV_UCMA_CMD_RESOLVE_ROUTE, NULL) ||
	    next_event(p) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return 0;
	return id;
}

static enum adv_probe_result try_connection(struct probe *p, const struct adv_gid *from,
					    const struct adv_gid *to, unsigned number)
{
	struct adv_ucma_conn *conn = &p->m.body.conn;
	uint32_t id;

	p->deadline_ms = adv_clock_ms() + ATTEMPT_MS;
	id = resolve_peer(p, from, to);
	if (!id)
		return ADV_PROBE_SILENT; /* no neighbour answers at the address */
	memset(&p->m, 0, sizeof(p->m));
	p->m.id = id;
	conn->qp_num = PROBE_QPN + number;
	conn->qp_type = IBV_QPT_RC;
	conn->retry_count = conn->rnr_retry_count = RETRY_COUNTS;
	if (request_cm(p, ADV_UCMA_CMD_CONNECT, NULL))
		return ADV_PROBE_NOT_TRIED;
	switch (next_event(p)) {
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
		return ADV_PROBE_ANSWERED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return p->m.body.event.status == -ECONNREFUSED ? ADV_PROBE_REFUSED
							       : ADV_PROBE_SILENT;
	default:
		return ADV_PROBE_SILENT;
	}
}

enum adv_probe_result adv_probe_cm(struct adv_control *c, const struct adv_gid *from,
				   const struct adv_gid *to)
{
	enum adv_probe_result result = ADV_PROBE_NOT_TRIED;
	struct probe *p = calloc(1, sizeof(*p));

	if (!p)
		return result;
	p->fd = p->events = -1;
	if (open_channel(p, c) == 0) {
		result = ADV_PROBE_SILENT;
		for (unsigned i = 0; i < ATTEMPTS && result == ADV_PROBE_SILENT; i++)
			result = try_connection(p, from, to, i);
	}
	if (p->events >= 0)
		close(p->events);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
	return result;
}
