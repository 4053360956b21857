/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ulp/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ulp/endpoint_internal.h"

enum { BATCH = 16, RETRIES = 7, READS_MAX = 16 };

struct adv_endpoint {
	struct adv_loop *loop;
	struct adv_device *device;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct adv_endpoint_config config;
	struct adv_task end;
	bool closing;
	unsigned events; /* to acknowledge */

	uint8_t *memory; /* of the receives */
	size_t size;
	struct ibv_mr *mr;
	struct adv_receive *receives;

	struct adv_list posted, waiting; /* struct adv_work, in order */
	unsigned used;			 /* work requests in the send queue */
};

/* --- work --- */

static void post(struct adv_endpoint *e, struct adv_work *w)
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
		struct adv_work *w = adv_container_of(e->waiting.next, struct adv_work, link);

		if (e->used + w->count > e->config.work_max)
			return;
		adv_list_del(&w->link);
		post(e, w);
	}
}

void adv_endpoint_post(struct adv_endpoint *e, struct adv_work *w)
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

static void completed(struct adv_endpoint *e, const struct ibv_wc *wc)
{
	struct adv_receive *r = (void *)(uintptr_t)wc->wr_id;
	struct adv_work *w = (void *)(uintptr_t)(wc->wr_id & ~(uint64_t)1);

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

static void poll_cq(struct adv_endpoint *e)
{
	struct ibv_wc wc[BATCH];
	int n;

	while (!e->closing && (n = ibv_poll_cq(e->cq, BATCH, wc)) > 0) {
		for (int i = 0; i < n && !e->closing; i++)
			completed(e, &wc[i]);
		post_waiting(e);
	}
}

/* Handles an event of the endpoint's completion queue. */
static void handle_event(struct adv_endpoint *e)
{
	e->events++;
	poll_cq(e);
	if (e->closing)
		return;
	/* What completed before the queue was armed causes no event. */
	if (ibv_req_notify_cq(e->cq, 0) != 0)
		adv_endpoint_close(e);
	poll_cq(e);
}

void adv_device_events(struct adv_device *d)
{
	struct ibv_cq *cq;
	void *endpoint;

	while (ibv_get_cq_event(d->channel, &cq, &endpoint) == 0)
		handle_event(endpoint);
}

/* --- the end --- */

static void free_objects(struct adv_endpoint *e)
{
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
		struct adv_work *w = adv_container_of(list->next, struct adv_work, link);

		adv_list_del(&w->link);
		w->done(w, false);
	}
}

static void end(struct adv_task *t)
{
	struct adv_endpoint *e = adv_container_of(t, struct adv_endpoint, end);

	rdma_disconnect(e->id);
	/* Without its queue pair, the device does not touch the memory of any work. Events of the
	 * completion queue that have not been fetched would block its destruction. */
	rdma_destroy_qp(e->id);
	adv_device_events(e->device);
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

static bool accept_id(struct adv_endpoint *e, const struct rdma_conn_param *request)
{
	struct rdma_conn_param param = {
		.private_data = e->config.private_data,
		.private_data_len = e->config.private_data_length,
		.rnr_retry_count = RETRIES,
		.flow_control = 1,
	};
	struct ibv_device_attr device = {.max_qp_init_rd_atom = 1};
	int depth = request->initiator_depth;

	ibv_query_device(e->device->verbs, &device);
	if (depth > device.max_qp_init_rd_atom)
		depth = device.max_qp_init_rd_atom;
	param.initiator_depth = (uint8_t)(depth < READS_MAX ? depth : READS_MAX);
	return rdma_accept(e->id, &param) == 0;
}

bool adv_endpoint_accept(struct adv_loop *l, struct adv_device *d, struct rdma_cm_id *id,
			 const struct rdma_conn_param *param,
			 const struct adv_endpoint_config *config, struct adv_endpoint **out)
{
	struct adv_endpoint *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return false;
	e->loop = l;
	e->device = d;
	e->id = id;
	e->config = *config;
	adv_list_init(&e->posted);
	adv_list_init(&e->waiting);
	adv_task_init(&e->end, end);
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
