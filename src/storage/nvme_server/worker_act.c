/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a worker does for the target: it moves data and submits to the engine. */
#include "base/clock.h"
#include "storage/nvme_server/worker_internal.h"

enum { ACTIONS = 64 };

struct step {
	enum adv_nvme_action action;
	struct adv_nvme_queue *queue;
	struct adv_nvme_request *request;
};

/* What the worker carries out between two looks at the target. */
struct round {
	uint64_t now; /* read once for all of them: a look at the clock takes as long as a step */
	bool late;    /* a step may have taken long since then */
	unsigned count, executed, fetches, responses;
	struct step steps[ACTIONS];
	struct {
		struct adv_nvme_request *request;
		uint16_t status;
	} ended[ACTIONS]; /* requests to the backend */
	struct adv_nvme_request *fetch[ACTIONS], *respond[ACTIONS];
};

/* Returns where the blocks of a Read are, if the device can send them from there. */
static uint8_t *blocks_to_read(const struct adv_nvme_request *request)
{
	const struct adv_nvme_io *io = &request->io;
	uint32_t lkey;

	if (!adv_nvme_request_may_find(request))
		return NULL;
	return adv_nvme_backend_memory(io->backend, io->offset, &lkey);
}

/* Returns where the blocks of a Write are, if the device may put the data there. A packet is
 * written whole or not at all. So a READ that fails leaves no block with parts of the old and of
 * the new data if each block comes in one packet. */
static uint8_t *blocks_to_write(const struct adv_nvme_request *request)
{
	const struct adv_nvme_connection *c = adv_nvme_queue_user(request->queue);
	const struct adv_nvme_io *io = &request->io;
	uint32_t lkey;

	if (!adv_nvme_request_may_place(request) || io->block > c->mtu)
		return NULL;
	return adv_nvme_backend_writable(io->backend, io->offset, io->length, &lkey);
}

/* Has the data of a Read sent from its blocks, or that of a Write put there. False: it needs a
 * buffer. The caller holds the shared lock. */
static bool use_blocks(struct adv_nvme_request *request, uint64_t now)
{
	uint8_t *blocks = blocks_to_read(request);

	if (blocks) {
		adv_nvme_backend_fetch(request->io.backend, &request->io);
		adv_nvme_request_found(request, now, blocks);
		return true;
	}
	blocks = blocks_to_write(request);
	if (blocks)
		adv_nvme_request_placed(request, now, blocks);
	return blocks != NULL;
}

/* Provides a buffer, unless none is free. The caller holds the shared lock. */
static bool give_buffer(struct adv_nvme_worker *w, struct adv_nvme_request *request, uint64_t now)
{
	uint8_t *buffer = adv_kit_buffers_get(w->buffers, request->buffer_length);

	if (buffer)
		adv_nvme_request_buffered(request, now, buffer);
	return buffer != NULL;
}

static void give_buffers(struct adv_nvme_worker *w, uint64_t now)
{
	adv_list_for_each_safe(struct adv_nvme_request, r, &w->waiting, link) {
		adv_list_del(&r->link);
		if (!give_buffer(w, r, now)) {
			adv_list_add(&w->waiting, &r->link);
			return;
		}
	}
}

/* The caller holds the shared lock. */
static void provide_buffer(struct adv_nvme_worker *w, struct adv_nvme_request *request,
			   uint64_t now)
{
	if (use_blocks(request, now))
		return;
	if (!adv_list_empty(&w->waiting) || !give_buffer(w, request, now))
		adv_list_add_tail(&w->waiting, &request->link);
}

/* Ends a request without a response. The caller holds the shared lock. */
static void release_request(struct adv_nvme_worker *w, struct adv_nvme_request *request)
{
	adv_kit_buffers_put(w->buffers, request->buffer, request->buffer_length);
	adv_nvme_worker_post_receive(w, request->receive);
}

/* Prepares the copy of a Write's data from its capsule or buffer. Copies begin when all commands
 * that have come are decoded: until then the memory of several of them is on its way. */
static void fetch_blocks(const struct adv_nvme_request *request)
{
	if (request->io.kind == ADV_NVME_IO_WRITE && !request->placed)
		adv_nvme_backend_fetch(request->io.backend, &request->io);
}

/* Tells the target what has ended, and takes actions. Those that need no system call are carried
 * out here. False: there are none. */
static bool take_actions(struct adv_nvme_worker *w, struct round *r)
{
	struct step s;

	if (r->late)
		r->now = adv_clock_ns();
	r->late = false;
	pthread_mutex_lock(&w->shared->lock);
	for (unsigned i = 0; i < r->executed; i++)
		adv_nvme_request_executed(r->ended[i].request, r->now, r->ended[i].status);
	r->count = r->executed = r->fetches = r->responses = 0;
	give_buffers(w, r->now);
	while (r->count + r->fetches + r->responses < ACTIONS &&
	       (s.action = adv_nvme_outbox_next(&w->outbox, &s.queue, &s.request)) !=
		       ADV_NVME_ACTION_NONE) {
		if (s.action == ADV_NVME_ACTION_RELEASE) {
			release_request(w, s.request);
		} else if (s.action == ADV_NVME_ACTION_BUFFER) {
			provide_buffer(w, s.request, r->now);
		} else if (s.action == ADV_NVME_ACTION_FETCH) {
			r->fetch[r->fetches++] = s.request;
		} else if (s.action == ADV_NVME_ACTION_RESPOND) {
			r->respond[r->responses++] = s.request;
		} else {
			if (s.action == ADV_NVME_ACTION_SUBMIT)
				fetch_blocks(s.request);
			r->steps[r->count++] = s;
		}
	}
	adv_nvme_worker_wake_others(w);
	pthread_mutex_unlock(&w->shared->lock);
	return r->count + r->fetches + r->responses > 0;
}

static void submit_request(struct adv_nvme_worker *w, struct round *r,
			   struct adv_nvme_request *request)
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
	/* A queue pair that takes this state already, or cannot, is not in use. */
	if (adv_nvme_connection_stop(c))
		adv_nvme_worker_drain(w);
	adv_nvme_connection_free(c);
}

static void carry_out(struct adv_nvme_worker *w, struct round *r, const struct step *s)
{
	r->late = true;
	switch (s->action) {
	case ADV_NVME_ACTION_SUBMIT:
		submit_request(w, r, s->request);
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

void adv_nvme_worker_act(struct adv_nvme_worker *w, uint64_t now)
{
	struct round r;

	r.now = now;
	r.late = false;
	r.executed = 0;
	while (take_actions(w, &r)) {
		/* Before the steps: one of them may free a connection. */
		adv_nvme_worker_respond(w, r.respond, r.responses);
		adv_nvme_worker_fetch(w, r.fetch, r.fetches);
		for (unsigned i = 0; i < r.count; i++)
			carry_out(w, &r, &r.steps[i]);
		adv_nvme_engine_submit(w->engine);
	}
}
