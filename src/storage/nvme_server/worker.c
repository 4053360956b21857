/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread of a worker: completions, sleep, and what it owns. */
#include "storage/nvme_server/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "storage/nvme_server/spin.h"
#include "storage/nvme_server/worker_internal.h"

enum { BATCH = 32, CQ_ENTRIES = 131072, SRQ_ENTRIES = 32768 };

/* Handles the ends of requests to backends, and returns their number. If there are some, *now is
 * the time. The engine may make system calls, so the lock is not held meanwhile. */
static unsigned handle_executed(struct adv_nvme_worker *w, uint64_t *now)
{
	struct adv_nvme_request *requests[BATCH];
	uint16_t status[BATCH];
	unsigned n = 0;

	while (n < BATCH && (requests[n] = adv_nvme_engine_next(w->engine, &status[n])) != NULL)
		n++;
	if (n == 0)
		return 0;
	*now = adv_clock_ns();
	pthread_mutex_lock(&w->shared->lock);
	for (unsigned i = 0; i < n; i++)
		adv_nvme_request_executed(requests[i], *now, status[i]);
	pthread_mutex_unlock(&w->shared->lock);
	return n;
}

/* True if other threads have put actions into the outbox since the last call. An exchange takes
 * longer than all else in a round without work. */
static bool was_woken(struct adv_nvme_worker *w)
{
	return atomic_load(&w->woken) && atomic_exchange(&w->woken, false);
}

/* Handles completions and the ends of requests to backends. Returns the time, or 0 if there were
 * none. */
static uint64_t handle_work(struct adv_nvme_worker *w)
{
	bool woken = was_woken(w);
	uint64_t now = 0;
	int completions = adv_nvme_worker_completions(w, &now);

	if (handle_executed(w, &now) == 0 && completions == 0) {
		if (!woken)
			return 0;
		now = adv_clock_ns();
	}
	adv_nvme_worker_act(w, now);
	return now;
}

static void drain_events(struct adv_nvme_worker *w)
{
	struct ibv_cq *cq;
	void *context;
	uint64_t count;

	while (read(w->wake, &count, sizeof(count)) > 0)
		;
	while (ibv_get_cq_event(w->channel, &cq, &context) == 0)
		w->unacknowledged++;
	if (w->unacknowledged > 1000) {
		ibv_ack_cq_events(w->cq, w->unacknowledged);
		w->unacknowledged = 0;
	}
}

static void sleep_until_event(struct adv_nvme_worker *w)
{
	struct pollfd fds[2] = {{.fd = w->channel->fd, .events = POLLIN},
				{.fd = w->wake, .events = POLLIN}};

	/* After arming, the completion queue is polled again before the thread sleeps. */
	if (ibv_req_notify_cq(w->cq, 0) != 0 || handle_work(w))
		return;
	poll(fds, 2, -1);
	drain_events(w);
}

static void *run_worker(void *arg)
{
	struct adv_nvme_worker *w = arg;
	uint64_t busy = adv_clock_ns(), now;
	struct adv_nvme_spin spin;

	adv_nvme_spin_init(&spin);
	while (!atomic_load(&w->stop)) {
		now = handle_work(w);
		if (now) {
			busy = now;
		} else if (!adv_nvme_spin_lasts(&spin, adv_clock_ns() - busy)) {
			sleep_until_event(w);
			now = adv_clock_ns();
			adv_nvme_spin_slept(&spin, now - busy);
			busy = now;
		}
	}
	return NULL;
}

unsigned adv_nvme_worker_load(struct adv_nvme_worker *w)
{
	unsigned credits;

	pthread_mutex_lock(&w->shared->lock);
	credits = w->credits;
	pthread_mutex_unlock(&w->shared->lock);
	return credits;
}

/* --- create and destroy --- */

/* Returns what could not be made; NULL: everything is there. */
static const char *make_objects(struct adv_nvme_worker *w)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_sge = 1}};
	struct ibv_device_attr device;
	int cqe;

	if (ibv_query_device(w->verbs, &device) != 0)
		return "query of the device";
	cqe = device.max_cqe < CQ_ENTRIES ? device.max_cqe : CQ_ENTRIES;
	w->srq_max = device.max_srq_wr < SRQ_ENTRIES ? (unsigned)device.max_srq_wr : SRQ_ENTRIES;
	/* Each receive completes, its command completes a READ, and twice as many SENDs complete
	 * (adv_nvme_queue_requests()). */
	if (w->srq_max > (unsigned)cqe / 4)
		w->srq_max = (unsigned)cqe / 4;
	srq.attr.max_wr = w->srq_max;
	w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake < 0)
		return "eventfd";
	w->pd = w->shared->pd;
	w->channel = ibv_create_comp_channel(w->verbs);
	if (!w->channel || fcntl(w->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return "completion channel";
	w->cq = ibv_create_cq(w->verbs, cqe, NULL, w->channel, 0);
	if (!w->cq)
		return "completion queue";
	w->srq = ibv_create_srq(w->pd, &srq);
	if (!w->srq)
		return "shared receive queue";
	w->buffers = adv_kit_buffers_create(w->pd, w->shared->buffer_bytes,
					    adv_nvme_target_transfer_max(w->shared->target));
	if (!w->buffers)
		return "buffers (is the limit of locked memory too low?)";
	w->engine = adv_nvme_engine_create(w->wake, true);
	return w->engine ? NULL : "engine";
}

struct adv_nvme_worker *adv_nvme_worker_create(struct adv_nvme_shared *shared,
					       struct ibv_context *verbs, unsigned index)
{
	struct adv_nvme_worker *w = calloc(1, sizeof(*w));
	const char *missing = w ? NULL : "memory";

	if (w) {
		w->shared = shared;
		w->verbs = verbs;
		w->index = index;
		w->wake = -1;
		adv_nvme_outbox_init(&w->outbox);
		adv_list_init(&w->connections);
		adv_list_init(&w->waiting);
		adv_list_init(&w->groups);
		missing = make_objects(w);
	}
	if (!missing) {
		errno = pthread_create(&w->thread, NULL, run_worker, w);
		w->started = errno == 0;
		missing = w->started ? NULL : "thread";
	}
	if (!missing)
		return w;
	adv_error("worker %u: cannot make its %s: %s", index, missing, strerror(errno));
	if (w)
		adv_nvme_worker_destroy(w);
	return NULL;
}

void adv_nvme_worker_destroy(struct adv_nvme_worker *w)
{
	atomic_store(&w->stop, true);
	if (w->started) {
		adv_nvme_worker_wake(w);
		pthread_join(w->thread, NULL);
	}
	if (w->engine)
		adv_nvme_engine_destroy(w->engine);
	if (w->srq)
		ibv_destroy_srq(w->srq);
	if (w->cq) {
		ibv_ack_cq_events(w->cq, w->unacknowledged);
		ibv_destroy_cq(w->cq);
	}
	if (w->channel)
		ibv_destroy_comp_channel(w->channel);
	if (w->buffers)
		adv_kit_buffers_destroy(w->buffers);
	adv_list_for_each_safe(struct adv_nvme_receive_group, g, &w->groups, link) {
		adv_list_del(&g->link);
		ibv_dereg_mr(g->mr);
		munmap(g->memory, g->size);
		free(g);
	}
	if (w->wake >= 0)
		close(w->wake);
	free(w);
}
