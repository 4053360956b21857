/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "storage/kit/endpoint_internal.h"

enum {
	BATCH = 16,
	BATCHES = 16, /* of completions, before the loop handles other things */
	RETRIES = 7,
	READS_MAX = 16,
};

struct adv_endpoint {
	struct adv_loop *loop;
	bool active;		       /* adv_connections_connect() made it */
	struct adv_kit_device *device; /* NULL: not known yet */
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct adv_endpoint_config config;
	struct adv_task end;
	struct adv_task look; /* at the completion queue */
	bool closing;
	unsigned events; /* to acknowledge */

	uint8_t *memory; /* of the receives */
	size_t size;
	struct ibv_mr *mr;
	struct adv_receive *receives;

	struct adv_list posted, waiting; /* struct adv_kit_work, in order */
	unsigned used;			 /* work requests in the send queue */
};

/* --- work --- */

static void post_work(struct adv_endpoint *e, struct adv_kit_work *w)
{
	struct ibv_send_wr *bad;

	for (struct ibv_send_wr *wr = w->first; wr; wr = wr->next) {
		wr->wr_id = (uintptr_t)w | (wr->next != NULL);
		wr->send_flags = wr->next ? 0 : IBV_SEND_SIGNALED;
	}
	adv_list_add_tail(&e->posted, &w->link);
	e->used += w->count;
	if (ibv_post_send(e->id->qp, w->first, &bad) != 0)
		adv_endpoint_close(e);
}

static void post_waiting(struct adv_endpoint *e)
{
	while (!e->closing && !adv_list_empty(&e->waiting)) {
		struct adv_kit_work *w =
			adv_container_of(e->waiting.next, struct adv_kit_work, link);

		if (e->used + w->count > e->config.work_max)
			return;
		adv_list_del(&w->link);
		post_work(e, w);
	}
}

void adv_endpoint_post(struct adv_endpoint *e, struct adv_kit_work *w)
{
	adv_list_add_tail(&e->waiting, &w->link);
	post_waiting(e);
}

void adv_endpoint_repost(struct adv_endpoint *e, struct adv_receive *r)
{
	struct ibv_sge sge = {(uintptr_t)r->data, e->config.receive_size, e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = (uintptr_t)r, .sg_list = &sge, .num_sge = 1}, *bad;

	if (!e->closing && ibv_post_recv(e->id->qp, &wr, &bad) != 0)
		adv_endpoint_close(e);
}

/* --- completions --- */

static void handle_work_completion(struct adv_endpoint *e, const struct ibv_wc *wc)
{
	struct adv_receive *r = (void *)(uintptr_t)wc->wr_id;
	struct adv_kit_work *w = (void *)(uintptr_t)(wc->wr_id & ~(uint64_t)1);

	if (wc->status != IBV_WC_SUCCESS) {
		/* The end fails all work, so its order does not matter here. */
		adv_endpoint_close(e);
	} else if (wc->opcode & IBV_WC_RECV) {
		r->length = wc->byte_len;
		e->config.received(e->config.user, r);
	} else {
		adv_list_del(&w->link);
		e->used -= w->count;
		w->done(w, true);
	}
}

/* Handles completions. False: there may be more. */
static bool poll_cq(struct adv_endpoint *e)
{
	struct ibv_wc wc[BATCH];

	for (unsigned batch = 0; batch < BATCHES && !e->closing; batch++) {
		int n = ibv_poll_cq(e->cq, BATCH, wc);

		if (n <= 0)
			return true;
		for (int i = 0; i < n && !e->closing; i++)
			handle_work_completion(e, &wc[i]);
		post_waiting(e);
	}
	return e->closing;
}

/* The completion queue has had an event. A peer may send without end, so the others get their turn
 * after some completions. */
static void look_for_completions(struct adv_task *t)
{
	struct adv_endpoint *e = adv_container_of(t, struct adv_endpoint, look);
	bool done = poll_cq(e);

	if (done && !e->closing) {
		if (ibv_req_notify_cq(e->cq, 0) != 0)
			adv_endpoint_close(e);
		/* What completed before the queue was armed causes no event. */
		done = poll_cq(e);
	}
	if (!done)
		adv_loop_defer(e->loop, t);
}

void adv_endpoint_cq_event(struct ibv_cq *cq)
{
	struct adv_endpoint *e = cq->cq_context;

	e->events++;
	adv_loop_defer(e->loop, &e->look);
}

bool adv_kit_device_event(struct adv_kit_device *d)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(d->channel, &cq, &context) != 0)
		return false;
	adv_endpoint_cq_event(cq);
	return true;
}

/* --- the end --- */

static void free_objects(struct adv_endpoint *e)
{
	adv_task_cancel(&e->look);
	if (e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->cq) {
		ibv_ack_cq_events(e->cq, e->events);
		ibv_destroy_cq(e->cq);
	}
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->memory)
		munmap(e->memory, e->size);
	free(e->receives);
}

static void fail_all(struct adv_list *list)
{
	while (!adv_list_empty(list)) {
		struct adv_kit_work *w = adv_container_of(list->next, struct adv_kit_work, link);

		adv_list_del(&w->link);
		w->done(w, false);
	}
}

static void end_endpoint(struct adv_task *t)
{
	struct adv_endpoint *e = adv_container_of(t, struct adv_endpoint, end);

	/* Without its queue pair, the device does not touch the memory of any work. Events of the
	 * completion queue that have not been fetched would block its destruction. */
	if (e->id->qp) {
		rdma_disconnect(e->id);
		rdma_destroy_qp(e->id);
		while (adv_kit_device_event(e->device))
			;
	}
	fail_all(&e->posted);
	fail_all(&e->waiting);
	e->config.closed(e->config.user);
	free_objects(e);
	rdma_destroy_id(e->id);
	free(e);
}

void adv_endpoint_close(struct adv_endpoint *e)
{
	if (!e->closing)
		adv_loop_defer(e->loop, &e->end);
	e->closing = true;
}

/* --- the beginning --- */

static bool make_receives(struct adv_endpoint *e)
{
	const struct adv_endpoint_config *c = &e->config;

	e->size = (size_t)c->receives * c->receive_size;
	e->receives = calloc(c->receives, sizeof(*e->receives));
	e->memory = mmap(NULL, e->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->memory == MAP_FAILED)
		e->memory = NULL;
	if (!e->receives || !e->memory)
		return false;
	e->mr = ibv_reg_mr(e->device->pd, e->memory, e->size, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned i = 0; e->mr && i < c->receives; i++) {
		e->receives[i].data = e->memory + (size_t)i * c->receive_size;
		adv_endpoint_repost(e, &e->receives[i]);
	}
	return e->mr && !e->closing;
}

static bool make_objects(struct adv_endpoint *e)
{
	const struct adv_endpoint_config *c = &e->config;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = c->work_max,
			.max_recv_wr = c->receives,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	e->cq = ibv_create_cq(e->device->verbs, (int)(c->work_max + c->receives), e,
			      e->device->channel, 0);
	if (!e->cq || ibv_req_notify_cq(e->cq, 0) != 0)
		return false;
	init.send_cq = init.recv_cq = e->cq;
	return rdma_create_qp(e->id, e->device->pd, &init) == 0 && make_receives(e);
}

static int reads_of(const struct adv_endpoint *e, bool responder)
{
	struct ibv_device_attr device = {.max_qp_init_rd_atom = 1, .max_qp_rd_atom = 1};
	int depth;

	ibv_query_device(e->device->verbs, &device);
	depth = responder ? device.max_qp_rd_atom : device.max_qp_init_rd_atom;
	return depth < READS_MAX ? depth : READS_MAX;
}

static bool accept_id(struct adv_endpoint *e, const struct rdma_conn_param *request)
{
	struct rdma_conn_param param = {
		.private_data = e->config.private_data,
		.private_data_len = e->config.private_data_length,
		.rnr_retry_count = RETRIES,
		.flow_control = 1,
	};
	int depth = reads_of(e, false);

	param.initiator_depth =
		depth < request->initiator_depth ? (uint8_t)depth : request->initiator_depth;
	return rdma_accept(e->id, &param) == 0;
}

static struct adv_endpoint *new_endpoint(struct adv_loop *l,
					 const struct adv_endpoint_config *config)
{
	struct adv_endpoint *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->loop = l;
	e->config = *config;
	adv_list_init(&e->posted);
	adv_list_init(&e->waiting);
	adv_task_init(&e->end, end_endpoint);
	adv_task_init(&e->look, look_for_completions);
	return e;
}

bool adv_endpoint_accept(struct adv_loop *l, struct adv_kit_device *d, struct rdma_cm_id *id,
			 const struct rdma_conn_param *param,
			 const struct adv_endpoint_config *config, struct adv_endpoint **out)
{
	struct adv_endpoint *e = new_endpoint(l, config);
	int err;

	if (!e)
		return false;
	e->device = d;
	e->id = id;
	if (make_objects(e) && accept_id(e, param)) {
		id->context = e;
		*out = e;
		return true;
	}
	err = errno;
	adv_task_cancel(&e->end);
	free_objects(e);
	free(e);
	errno = err;
	return false;
}

/* --- connecting --- */

/* The device is known, and the route: makes the queues, and requests the connection. */
static bool request_connection(struct adv_endpoint *e)
{
	struct rdma_conn_param param = {
		.private_data = e->config.private_data,
		.private_data_len = e->config.private_data_length,
		.retry_count = RETRIES,
		.rnr_retry_count = RETRIES,
		.flow_control = 1,
	};

	if (!make_objects(e))
		return false;
	param.responder_resources = (uint8_t)reads_of(e, true);
	return rdma_connect(e->id, &param) == 0;
}

void adv_endpoint_resolved(struct adv_endpoint *e, struct adv_kit_device *d)
{
	e->device = d;
	if (!e->closing && (!d || rdma_resolve_route(e->id, ADV_ENDPOINT_RESOLVE_MS) != 0))
		adv_endpoint_close(e);
}

void adv_endpoint_event(struct adv_endpoint *e, enum rdma_cm_event_type type,
			const struct rdma_conn_param *param)
{
	if (e->closing)
		return;
	switch (type) {
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!request_connection(e))
			adv_endpoint_close(e);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (e->active)
			e->config.connected(e->config.user, e->device, param->private_data,
					    param->private_data_len);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		adv_endpoint_close(e);
		break;
	default:
		break;
	}
}

struct adv_endpoint *adv_endpoint_create(struct adv_loop *l, struct rdma_cm_id *id,
					 const struct adv_endpoint_config *config)
{
	struct adv_endpoint *e = new_endpoint(l, config);

	if (!e)
		return NULL;
	e->active = true;
	e->id = id;
	id->context = e;
	return e;
}
