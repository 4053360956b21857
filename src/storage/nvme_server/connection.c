/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections of a worker: from the connection request to the end. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "storage/nvme_server/admission.h"
#include "storage/nvme_server/worker_internal.h"

enum { READS_MAX = 128, RETRIES = 7 };

/* Writes the numeric address, and the port. */
static void name_address(const struct sockaddr *sa, char *host, size_t host_len, char *port,
			 size_t port_len)
{
	socklen_t len = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);

	if (getnameinfo(sa, len, host, (socklen_t)host_len, port, (socklen_t)port_len,
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(host, host_len, "unknown");
}

struct adv_nvme_connection *adv_nvme_connection_find(struct adv_nvme_worker *w, uint32_t qp_num)
{
	struct adv_nvme_connection **recent = &w->recent[qp_num % ADV_NVME_RECENT];

	if (*recent && (*recent)->qp_num == qp_num)
		return *recent;
	adv_list_for_each(struct adv_nvme_connection, c, &w->connections, link) {
		if (c->qp_num == qp_num)
			return *recent = c;
	}
	return NULL;
}

void adv_nvme_connection_free(struct adv_nvme_connection *c)
{
	struct adv_nvme_worker *w = c->worker;

	pthread_mutex_lock(&w->shared->lock);
	adv_list_del(&c->link);
	if (w->recent[c->qp_num % ADV_NVME_RECENT] == c)
		w->recent[c->qp_num % ADV_NVME_RECENT] = NULL;
	w->credits -= c->credits;
	adv_nvme_admission_leave(c);
	adv_nvme_queue_destroy(c->queue);
	c->queue = NULL;
	pthread_mutex_unlock(&w->shared->lock);
	pthread_mutex_lock(&c->ending);
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	c->id->qp = NULL;
	pthread_mutex_unlock(&c->ending);
	/* Waits until the thread of events has finished with the id, and thus with c. */
	rdma_destroy_id(c->id);
	pthread_mutex_destroy(&c->ending);
	free(c);
}

void adv_nvme_connection_disconnect(struct adv_nvme_connection *c)
{
	pthread_mutex_lock(&c->ending);
	if (c->id->qp)
		rdma_disconnect(c->id);
	pthread_mutex_unlock(&c->ending);
}

bool adv_nvme_connection_stop(struct adv_nvme_connection *c)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	bool stopped;

	pthread_mutex_lock(&c->ending);
	stopped = c->id->qp && ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE) == 0;
	pthread_mutex_unlock(&c->ending);
	return stopped;
}

/* Tells the target that the connection is lost. The worker then frees it. */
static void close_queue(struct adv_nvme_connection *c)
{
	struct adv_nvme_worker *w = c->worker;

	pthread_mutex_lock(&w->shared->lock);
	if (c->queue)
		adv_nvme_queue_closed(c->queue, adv_clock_ns());
	adv_nvme_worker_wake_others(w);
	pthread_mutex_unlock(&w->shared->lock);
	adv_nvme_worker_wake(w);
}

void adv_nvme_worker_disconnected(struct adv_nvme_connection *c)
{
	adv_nvme_connection_disconnect(c);
	close_queue(c);
}

static void reject_request(struct rdma_cm_id *id, enum adv_nvme_cm_status status)
{
	uint8_t data[ADV_NVME_CM_REJ_LEN];

	adv_nvme_cm_reject_encode((uint16_t)status, data);
	rdma_reject(id, data, sizeof(data));
}

/* Makes the core's queue. The caller holds the shared lock. */
static enum adv_nvme_cm_status make_queue(struct adv_nvme_connection *c,
					  const struct rdma_conn_param *param)
{
	struct adv_nvme_worker *w = c->worker;
	const struct sockaddr *local = rdma_get_local_addr(c->id);
	char address[64];
	struct adv_nvme_queue_config config = {
		.private_data = param->private_data,
		.private_data_len = param->private_data_len,
		.outbox = &w->outbox,
		.user = c,
		.adrfam = local->sa_family == AF_INET6 ? ADV_NVME_IPV6 : ADV_NVME_IPV4,
		.local_address = address,
		.local_port = c->port,
		.peer = c->peer,
		.now = adv_clock_ns(),
	};
	enum adv_nvme_cm_status status;

	name_address(local, address, sizeof(address), c->port, sizeof(c->port));
	status = adv_nvme_queue_create(w->shared->target, &config, &c->queue);
	if (status != ADV_NVME_CM_OK)
		return status;
	c->credits = adv_nvme_queue_size(c->queue);
	if (c->credits < ADV_NVME_CREDITS_MIN)
		c->credits = ADV_NVME_CREDITS_MIN;
	if (adv_nvme_admission_enter(c)) {
		if (adv_nvme_worker_reserve(w, w->credits + c->credits))
			return ADV_NVME_CM_OK;
		adv_nvme_admission_leave(c);
	}
	adv_nvme_queue_destroy(c->queue);
	c->queue = NULL;
	return ADV_NVME_CM_NO_RESOURCES;
}

static bool make_qp(struct adv_nvme_connection *c)
{
	struct adv_nvme_worker *w = c->worker;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.srq = w->srq,
		/* A request has a READ, or a WRITE and a SEND, in the queue. */
		.cap = {.max_send_wr = 2u * adv_nvme_queue_requests(c->queue),
			.max_send_sge = 1,
			.max_inline_data = ADV_NVME_COMPLETION_LEN},
	};

	if (rdma_create_qp(c->id, w->pd, &init) != 0) {
		adv_error("port %s: host at %s: cannot create a queue pair: %s", c->port, c->peer,
			  strerror(errno));
		return false;
	}
	pthread_mutex_lock(&w->shared->lock);
	c->qp_num = c->id->qp->qp_num;
	pthread_mutex_unlock(&w->shared->lock);
	return true;
}

/* iWARP cuts data into segments as TCP permits, so nothing is known. */
static void learn_mtu(struct adv_nvme_connection *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (c->worker->verbs->device->transport_type == IBV_TRANSPORT_IWARP ||
	    ibv_query_qp(c->id->qp, &attr, IBV_QP_PATH_MTU, &init) != 0 || !attr.path_mtu)
		return;
	pthread_mutex_lock(&c->worker->shared->lock);
	c->mtu = 128u << attr.path_mtu;
	pthread_mutex_unlock(&c->worker->shared->lock);
}

static void report_failed_accept(const struct adv_nvme_connection *c)
{
	if (errno == ECONNABORTED)
		adv_info("port %s: host at %s has left before its connection was made", c->port,
			 c->peer);
	else
		adv_error("port %s: host at %s: cannot accept the connection: %s", c->port, c->peer,
			  strerror(errno));
}

static bool accept_connection(struct adv_nvme_connection *c, const struct rdma_conn_param *request)
{
	struct adv_nvme_worker *w = c->worker;
	struct ibv_device_attr device = {.max_qp_init_rd_atom = 1};
	uint8_t data[ADV_NVME_CM_LEN];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.rnr_retry_count = RETRIES,
		.flow_control = 1,
	};
	unsigned depth = request->initiator_depth;

	ibv_query_device(w->verbs, &device);
	if (depth > (unsigned)device.max_qp_init_rd_atom)
		depth = (unsigned)device.max_qp_init_rd_atom;
	param.initiator_depth = (uint8_t)(depth < READS_MAX ? depth : READS_MAX);
	adv_nvme_cm_accept_encode(adv_nvme_queue_size(c->queue), data);
	if (rdma_accept(c->id, &param) != 0) {
		report_failed_accept(c);
		return false;
	}
	learn_mtu(c);
	return true;
}

/* Makes a connection, whose `ending` the caller has then. NULL: no memory. */
static struct adv_nvme_connection *new_connection(struct adv_nvme_worker *w, struct rdma_cm_id *id)
{
	struct adv_nvme_connection *c = calloc(1, sizeof(*c));
	char host[48], port[8];

	if (!c)
		return NULL;
	c->worker = w;
	c->id = id;
	pthread_mutex_init(&c->ending, NULL);
	pthread_mutex_lock(&c->ending);
	id->context = c;
	name_address(rdma_get_peer_addr(id), host, sizeof(host), port, sizeof(port));
	snprintf(c->peer, sizeof(c->peer), "%s port %s", host, port);
	return c;
}

/* Gives the connection its queue, and the worker the connection. */
static enum adv_nvme_cm_status add_connection(struct adv_nvme_connection *c,
					      const struct rdma_conn_param *param)
{
	struct adv_nvme_worker *w = c->worker;
	enum adv_nvme_cm_status status;

	pthread_mutex_lock(&w->shared->lock);
	status = make_queue(c, param);
	if (status == ADV_NVME_CM_OK) {
		w->credits += c->credits;
		adv_list_add_tail(&w->connections, &c->link);
	}
	pthread_mutex_unlock(&w->shared->lock);
	return status;
}

void adv_nvme_worker_connect(struct adv_nvme_worker *w, struct rdma_cm_id *id,
			     const struct rdma_conn_param *param)
{
	struct adv_nvme_connection *c = new_connection(w, id);
	enum adv_nvme_cm_status status = c ? add_connection(c, param) : ADV_NVME_CM_NO_RESOURCES;

	if (status != ADV_NVME_CM_OK) {
		reject_request(id, status);
		rdma_destroy_id(id);
		free(c);
		return;
	}
	/* From now on the worker frees the connection, when it gets `ending`. */
	if (!make_qp(c)) {
		reject_request(id, ADV_NVME_CM_NO_RESOURCES);
		close_queue(c);
	} else if (!accept_connection(c, param)) {
		close_queue(c);
	}
	pthread_mutex_unlock(&c->ending);
}
