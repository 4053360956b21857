/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a worker does for the target: it moves data and submits to the engine. */
#include "base/clock.h"
#include "nvme_rdma/worker_internal.h"

enum { ACTIONS = 64 };

struct step {
	enum adv_nvme_action action;
	struct adv_nvme_queue *queue;
	struct adv_nvme_request *request;
};

/* What the worker carries out between two looks at the target. */
struct round {
	unsigned count, executed, responses;
	struct step steps[ACTIONS];
	struct {
		struct adv_nvme_request *request;
		uint16_t status;
	} ended[ACTIONS]; /* requests to the backend */
	struct adv_nvme_request *respond[ACTIONS];
};

/* Returns where the data of a Read is, if the device can send it from there. */
static uint8_t *data_in_place(const struct adv_nvme_request *request)
{
	const struct adv_nvme_io *io = &request->io;
	uint32_t lkey;

	if (!io->backend || io->kind != ADV_NVME_IO_READ || io->length != request->buffer_length)
		return NULL;
	return adv_nvme_backend_memory(io->backend, io->offset, &lkey);
}

/* Provides a buffer, unless none is free. The caller holds the shared lock. */
static bool give_buffer(struct adv_nvme_worker *w, struct adv_nvme_request *request)
{
	uint8_t *buffer = adv_nvme_buffers_get(w->buffers, request->buffer_length);

	if (buffer)
		adv_nvme_request_buffered(request, adv_clock_ns(), buffer);
	return buffer != NULL;
}

static void give_buffers(struct adv_nvme_worker *w)
{
	adv_list_for_each_safe(struct adv_nvme_request, r, &w->waiting, link) {
		adv_list_del(&r->link);
		if (!give_buffer(w, r)) {
			adv_list_add(&w->waiting, &r->link);
			return;
		}
	}
}

/* The caller holds the shared lock. */
static void provide(struct adv_nvme_worker *w, struct adv_nvme_request *request)
{
	uint8_t *data = data_in_place(request);

	if (data)
		adv_nvme_request_buffered(request, adv_clock_ns(), data);
	else if (!adv_list_empty(&w->waiting) || !give_buffer(w, request))
		adv_list_add_tail(&w->waiting, &request->link);
}

/* Ends a request without a response. The caller holds the shared lock. */
static void release(struct adv_nvme_worker *w, struct adv_nvme_request *request)
{
	adv_nvme_buffers_put(w->buffers, request->buffer, request->buffer_length);
	adv_nvme_worker_post_receive(w, request->receive);
}

/* Tells the target what has ended, and takes actions. Those that need no system call are carried
 * out here. False: there are none. */
static bool take(struct adv_nvme_worker *w, struct round *r)
{
	uint64_t now = r->executed ? adv_clock_ns() : 0;
	struct step s;

	pthread_mutex_lock(&w->shared->lock);
	for (unsigned i = 0; i < r->executed; i++)
		adv_nvme_request_executed(r->ended[i].request, now, r->ended[i].status);
	r->count = r->executed = r->responses = 0;
	give_buffers(w);
	while (r->count + r->responses < ACTIONS &&
	       (s.action = adv_nvme_outbox_next(&w->outbox, &s.queue, &s.request)) !=
		       ADV_NVME_ACTION_NONE) {
		if (s.action == ADV_NVME_ACTION_RELEASE) {
			release(w, s.request);
		} else if (s.action == ADV_NVME_ACTION_BUFFER) {
			provide(w, s.request);
		} else if (s.action == ADV_NVME_ACTION_RESPOND) {
			r->respond[r->responses++] = s.request;
		} else {
			r->steps[r->count++] = s;
		}
	}
	adv_nvme_worker_wake_others(w);
	pthread_mutex_unlock(&w->shared->lock);
	return r->count + r->responses > 0;
}

static void fetch(struct adv_nvme_worker *w, struct adv_nvme_request *request)
{
	struct adv_nvme_connection *c = adv_nvme_queue_user(request->queue);
	struct ibv_sge sge = {(uintptr_t)request->data, request->data_length,
			      adv_nvme_buffers_lkey(w->buffers)};
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)request | ADV_NVME_WR_READ,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = request->remote.address, .rkey = request->remote.key},
	};
	struct ibv_send_wr *bad;
	int err = ibv_post_send(c->id->qp, &wr, &bad);

	if (err == 0)
		return;
	adv_nvme_worker_post_failed(w, request, err);
	pthread_mutex_lock(&w->shared->lock);
	adv_nvme_request_fetched(request, adv_clock_ns(), false);
	pthread_mutex_unlock(&w->shared->lock);
}

static void submit(struct adv_nvme_worker *w, struct round *r, struct adv_nvme_request *request)
{
	uint16_t status;

	if (!adv_nvme_engine_start(w->engine, request, &status))
		return;
	r->ended[r->executed].request = request;
	r->ended[r->executed++].status = status;
}

/* Frees a connection that nothing uses any more. Capsules may have come since. They are handled
 * before the queue pair is destroyed: afterwards they would be lost with their receives, or be
 * taken for those of the next queue pair with the same number. */
static void end_connection(struct adv_nvme_worker *w, struct adv_nvme_connection *c)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	/* A queue pair that takes this state already, or cannot, is not in use. */
	if (ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE) == 0)
		adv_nvme_worker_drain(w);
	adv_nvme_connection_free(c);
}

static void carry_out(struct adv_nvme_worker *w, struct round *r, const struct step *s)
{
	switch (s->action) {
	case ADV_NVME_ACTION_FETCH:
		fetch(w, s->request);
		break;
	case ADV_NVME_ACTION_SUBMIT:
		submit(w, r, s->request);
		break;
	case ADV_NVME_ACTION_CLOSE:
		adv_nvme_worker_disconnect(w, s->queue);
		break;
	case ADV_NVME_ACTION_FREE:
		end_connection(w, adv_nvme_queue_user(s->queue));
		break;
	default:
		break;
	}
}

void adv_nvme_worker_act(struct adv_nvme_worker *w)
{
	struct round r;

	r.executed = 0;
	while (take(w, &r)) {
		/* Before the steps: one of them may free a connection. */
		adv_nvme_worker_respond(w, r.respond, r.responses);
		for (unsigned i = 0; i < r.count; i++)
			carry_out(w, &r, &r.steps[i]);
		adv_nvme_engine_submit(w->engine);
	}
}
