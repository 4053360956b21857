/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_host/association.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "storage/nvme_host/connection.h"
#include "storage/nvme_server/spin.h"

enum { BATCH = 32, OPEN_MS = 30000, RUN_MS = 10000, SHUTDOWN_MS = 2000 };
#define MS	 1000000u
#define INTERNAL ADV_NVME_IDENTIFY_LEN /* bytes in front of the caller's memory */

struct adv_nvme_association {
	struct adv_kit_address address;
	struct adv_nvme_host host;
	struct adv_nvme_host_device device;
	struct adv_nvme_host_connection **connections; /* by qid */
	unsigned connection_count;
	uint8_t *memory;
	size_t memory_len;
	struct ibv_mr *mr;
	struct adv_nvme_transfer internal;	 /* of the host's own steps */
	struct adv_nvme_transfer *first, **last; /* ended, for the caller */
	struct adv_nvme_spin spin;
	uint64_t now; /* time of the last look for completions */
	unsigned outstanding;
	unsigned unacknowledged;
	bool ready, failed, lost;
	char why[256];
};

static void end_transfer(struct adv_nvme_association *a, struct adv_nvme_transfer *t)
{
	if (t == &a->internal) {
		if (t->lost)
			return;
		memcpy(a->host.data, a->memory, INTERNAL);
		adv_nvme_host_completed(&a->host, adv_clock_ns(), &t->completion);
		return;
	}
	t->next = NULL;
	*a->last = t;
	a->last = &t->next;
}

/* The connections are useless: all commands under way end as lost. */
static void lose_connections(struct adv_nvme_association *a, const char *why)
{
	struct adv_nvme_transfer *t;

	if (a->lost)
		return;
	a->lost = true;
	snprintf(a->why, sizeof(a->why), "%s", why);
	for (unsigned i = 0; i < a->connection_count; i++) {
		while ((t = adv_nvme_host_queue_next_lost(a->connections[i]->queue)) != NULL) {
			t->lost = true;
			t->completion.status = 0;
			end_transfer(a, t);
		}
		/* These have their responses. */
		while (a->connections[i]->windows &&
		       (t = adv_nvme_windows_next_lost(a->connections[i]->windows)) != NULL)
			end_transfer(a, t);
	}
}

/* --- commands --- */

/* Sets the SGL. Returns the bytes of data that go into the capsule. */
static uint32_t set_sgl(const struct adv_nvme_association *a, uint16_t qid,
			struct adv_nvme_transfer *t)
{
	const struct adv_nvme_identify_controller *id = &a->host.controller;
	struct adv_nvme_sgl *sgl = &t->command.sgl;

	t->command.psdt = 1;
	memset(sgl, 0, sizeof(*sgl));
	if (!t->data) {
		sgl->id = ADV_NVME_SGL_KEYED;
		return 0;
	}
	sgl->length = t->length;
	if (qid != 0 && id->icdoff == 0 && (id->sgls & ADV_NVME_SGLS_OFFSET) &&
	    adv_nvme_command_direction(&t->command) == ADV_NVME_TO_CONTROLLER &&
	    t->length + ADV_NVME_COMMAND_LEN <= (uint64_t)id->ioccsz * 16) {
		sgl->id = ADV_NVME_SGL_OFFSET;
		return t->length;
	}
	/* A plain region stays valid: the controller must not invalidate its key. */
	sgl->id = ADV_NVME_SGL_KEYED;
	sgl->key = a->mr->rkey;
	sgl->address = (uintptr_t)t->data;
	return 0;
}

/* Binds a window to the data of a command outside its capsule, if the queue has windows. Makes
 * *bind. 0 or errno. */
static int bind_window(const struct adv_nvme_association *a, struct adv_nvme_host_connection *c,
		       struct adv_nvme_transfer *t, struct ibv_send_wr *bind)
{
	struct adv_nvme_sgl *sgl = &t->command.sgl;

	t->window = -1;
	if (!c->windows || sgl->id != ADV_NVME_SGL_KEYED || sgl->length == 0)
		return 0;
	t->window = adv_nvme_windows_bind(c->windows, a->mr, sgl->address, sgl->length, bind);
	if (t->window < 0)
		return EAGAIN;
	sgl->id = ADV_NVME_SGL_KEYED_INVALIDATE;
	sgl->key = adv_nvme_windows_key(c->windows, t->window);
	return 0;
}

/* Undoes what was done for a command that could not be sent. */
static void undo_start(struct adv_nvme_host_connection *c, struct adv_nvme_transfer *t)
{
	struct adv_nvme_completion own = {.id = t->command.id};

	adv_nvme_host_queue_end(c->queue, &own);
	if (t->window >= 0)
		adv_nvme_windows_free(c->windows, t->window);
}

int adv_nvme_association_start(struct adv_nvme_association *a, uint16_t qid,
			       struct adv_nvme_transfer *t)
{
	struct adv_nvme_host_connection *c;
	struct ibv_send_wr bind;
	uint32_t in_capsule;
	int err;

	if (a->lost || qid >= a->connection_count)
		return ENOTCONN;
	c = a->connections[qid];
	t->qid = qid;
	t->lost = false;
	in_capsule = set_sgl(a, qid, t);
	err = adv_nvme_host_queue_start(c->queue, &t->command, t);
	if (err)
		return err;
	err = bind_window(a, c, t, &bind);
	if (err) {
		undo_start(c, t);
		return err;
	}
	err = adv_nvme_host_connection_send(c, &t->command, t->data, in_capsule, a->mr->lkey,
					    t->window < 0 ? NULL : &bind);
	if (err)
		lose_connections(a, strerror(err));
	return 0;
}

void adv_nvme_association_flush(struct adv_nvme_association *a)
{
	int err;

	for (unsigned i = 0; i < a->connection_count && !a->lost; i++) {
		err = adv_nvme_host_connection_flush(a->connections[i]);
		if (err)
			lose_connections(a, strerror(err));
	}
}

/* A response has come. Ends the command when the controller cannot use its key any more. */
static void settle_response(struct adv_nvme_association *a, struct adv_nvme_host_connection *c,
			    struct adv_nvme_transfer *t, const struct ibv_wc *wc)
{
	bool invalidated = (wc->wc_flags & IBV_WC_WITH_INV) != 0;

	if (invalidated && (t->window < 0 ||
			    wc->invalidated_rkey != adv_nvme_windows_key(c->windows, t->window))) {
		t->lost = true;
		lose_connections(a, "the controller invalidated a wrong key");
	} else if (invalidated) {
		adv_nvme_windows_free(c->windows, t->window);
	} else if (t->window >= 0 && !a->lost) {
		if (adv_nvme_host_connection_invalidate(c, t->window, t) != 0)
			lose_connections(a, "cannot invalidate a memory window");
		return;
	}
	end_transfer(a, t);
}

static void take_response(struct adv_nvme_association *a, struct adv_nvme_host_connection *c,
			  const struct ibv_wc *wc)
{
	unsigned index = (unsigned)(wc->wr_id >> 32);
	struct adv_nvme_completion completion;
	struct adv_nvme_transfer *t = NULL;

	if (adv_nvme_completion_decode(adv_nvme_host_connection_received(c, index), wc->byte_len,
				       &completion))
		t = adv_nvme_host_queue_end(c->queue, &completion);
	if (!t) {
		lose_connections(a, "the controller sent a response to no command");
		return;
	}
	t->completion = completion;
	if (adv_nvme_host_connection_post(c, index) != 0)
		lose_connections(a, "cannot post a receive");
	settle_response(a, c, t, wc);
}

/* A window that the controller did not invalidate is invalid now. */
static void window_invalidated(struct adv_nvme_association *a, struct adv_nvme_host_connection *c,
			       const struct ibv_wc *wc)
{
	struct adv_nvme_transfer *t = adv_nvme_windows_free(c->windows, (int)(wc->wr_id >> 32));

	if (t)
		end_transfer(a, t);
}

/* Posts what is prepared, then polls. Returns the number of completions handled. */
static int poll_completions(struct adv_nvme_association *a)
{
	struct ibv_wc wc[BATCH];
	int n;

	adv_nvme_association_flush(a);
	n = ibv_poll_cq(a->device.cq, BATCH, wc);
	for (int i = 0; i < n && !a->lost; i++) {
		unsigned qid = (unsigned)(wc[i].wr_id >> 8 & 0xffff);

		if (qid >= a->connection_count)
			continue; /* of a queue that could not be connected */
		if (wc[i].status != IBV_WC_SUCCESS)
			lose_connections(a, ibv_wc_status_str(wc[i].status));
		else if ((wc[i].wr_id & 0xff) == ADV_NVME_HOST_RECV)
			take_response(a, a->connections[qid], &wc[i]);
		else if ((wc[i].wr_id & 0xff) == ADV_NVME_HOST_INVALIDATE)
			window_invalidated(a, a->connections[qid], &wc[i]);
		else
			adv_nvme_host_connection_sent(a->connections[qid],
						      (unsigned)(wc[i].wr_id >> 32));
	}
	return n;
}

/* --- the host's steps --- */

static void open_connection(struct adv_nvme_association *a)
{
	struct adv_nvme_host_connection *c = adv_nvme_host_connection_open(
		&a->device, &a->address, a->host.qid, a->host.size,
		a->host.qid ? a->host.cntlid : ADV_NVME_ANY_CNTLID, a->why);

	if (c && !a->mr) {
		a->mr = ibv_reg_mr(a->device.pd, a->memory, a->memory_len,
				   a->device.invalidate
					   ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND
					   : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
						     IBV_ACCESS_REMOTE_WRITE);
		if (!a->mr) {
			snprintf(a->why, sizeof(a->why), "cannot register %zu bytes: %s",
				 a->memory_len, strerror(errno));
			adv_nvme_host_connection_close(c);
			c = NULL;
		}
	}
	if (c)
		a->connections[a->connection_count++] = c;
	adv_nvme_host_opened(&a->host, c ? NULL : a->why);
}

static void send_step(struct adv_nvme_association *a)
{
	struct adv_nvme_transfer *t = &a->internal;
	int err;

	memset(t, 0, sizeof(*t));
	t->command = a->host.command;
	t->data = a->host.data_length ? a->memory : NULL;
	t->length = a->host.data_length;
	memcpy(a->memory, a->host.data, INTERNAL);
	err = adv_nvme_association_start(a, a->host.qid, t);
	if (err)
		lose_connections(a, strerror(err));
}

static void advance_host(struct adv_nvme_association *a)
{
	for (uint64_t now = a->now; !a->lost && !a->failed; now = adv_clock_ns()) {
		switch (adv_nvme_host_next(&a->host, now)) {
		case ADV_NVME_HOST_WAIT:
			return;
		case ADV_NVME_HOST_OPEN:
			open_connection(a);
			break;
		case ADV_NVME_HOST_COMMAND:
			send_step(a);
			break;
		case ADV_NVME_HOST_READY:
			a->ready = true;
			break;
		case ADV_NVME_HOST_FAILED:
			a->failed = true;
			break;
		}
	}
}

/* --- waiting --- */

/* Sleeps until a completion, a disconnection, or `end`. */
static void sleep_until(struct adv_nvme_association *a, uint64_t end)
{
	struct pollfd fds[2];
	uint64_t now = adv_clock_ns(), wake = adv_nvme_host_deadline(&a->host);
	struct ibv_cq *cq;
	const char *why;
	void *context;

	if (wake > end)
		wake = end;
	if (wake <= now || ibv_req_notify_cq(a->device.cq, 0) != 0 || poll_completions(a) > 0)
		return;
	fds[0] = (struct pollfd){.fd = a->device.channel->fd, .events = POLLIN};
	/* The admin connection ends with the controller; other ends are noticed by completions. */
	fds[1] = (struct pollfd){.fd = a->connections[0]->channel->fd, .events = POLLIN};
	poll(fds, 2, (int)((wake - now) / MS) + 1);
	while (ibv_get_cq_event(a->device.channel, &cq, &context) == 0)
		a->unacknowledged++;
	for (unsigned i = 0; i < a->connection_count; i++) {
		why = adv_nvme_host_connection_ended(a->connections[i]);
		if (why)
			lose_connections(a, why);
	}
}

/* Sleeps, and learns from it how long to poll before the next sleep. busy: when a completion was
 * last found. Returns the time. */
static uint64_t sleep_and_learn(struct adv_nvme_association *a, uint64_t busy, uint64_t end)
{
	uint64_t now;

	sleep_until(a, end);
	now = adv_clock_ns();
	adv_nvme_spin_slept(&a->spin, now - busy);
	return now;
}

/* Makes progress until *done, a loss, a failure, or the end of the time. */
static void wait_until(struct adv_nvme_association *a, const bool *done, int timeout_ms)
{
	uint64_t busy = adv_clock_ns(), end = busy + (uint64_t)timeout_ms * MS;

	for (a->now = busy; a->now < end; a->now = adv_clock_ns()) {
		advance_host(a);
		if (*done || a->lost || a->failed)
			return;
		if (poll_completions(a) > 0)
			busy = a->now;
		else if (!adv_nvme_spin_lasts(&a->spin, a->now - busy))
			busy = sleep_and_learn(a, busy, end);
		if (a->first)
			return;
	}
}

struct adv_nvme_transfer *adv_nvme_association_next(struct adv_nvme_association *a, int timeout_ms)
{
	const bool never = false;
	struct adv_nvme_transfer *t;

	if (!a->first && !a->lost)
		wait_until(a, &never, timeout_ms);
	t = a->first;
	if (t) {
		a->first = t->next;
		if (!a->first)
			a->last = &a->first;
	}
	return t;
}

uint64_t adv_nvme_association_now(const struct adv_nvme_association *a)
{
	return a->now;
}

uint16_t adv_nvme_association_run(struct adv_nvme_association *a, uint16_t qid,
				  struct adv_nvme_transfer *t)
{
	if (adv_nvme_association_start(a, qid, t) != 0)
		return 0xffff;
	if (!adv_nvme_association_next(a, RUN_MS)) {
		lose_connections(a, "no answer");
		adv_nvme_association_next(a, 0);
		return 0xffff;
	}
	return t->lost ? 0xffff : t->completion.status;
}

/* --- open and close --- */

struct adv_nvme_association *adv_nvme_association_open(const struct adv_kit_address *address,
						       const struct adv_nvme_host_config *config,
						       size_t memory, bool invalidate,
						       char why[256])
{
	struct adv_nvme_association *a = calloc(1, sizeof(*a));

	snprintf(why, 256, "no memory");
	if (!a)
		return NULL;
	a->address = *address;
	a->last = &a->first;
	a->device.invalidate = invalidate;
	adv_nvme_spin_init(&a->spin);
	a->memory_len = INTERNAL + memory;
	a->connections = calloc(config->io_queues + 1u, sizeof(a->connections[0]));
	a->memory = mmap(NULL, a->memory_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (a->memory == MAP_FAILED)
		a->memory = NULL;
	if (a->memory && a->connections) {
		adv_nvme_host_init(&a->host, config);
		wait_until(a, &a->ready, OPEN_MS);
		if (a->ready)
			return a;
		snprintf(why, 256, "%s",
			 a->failed ? a->host.reason
			 : a->lost ? a->why
				   : "no answer");
	}
	adv_nvme_association_close(a);
	return NULL;
}

/* A controller that is told can flush; the answer is not needed. */
static void shut_down(struct adv_nvme_association *a)
{
	struct adv_nvme_property_access access = {
		.offset = ADV_NVME_CC,
		.value = ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE | ADV_NVME_CC_SHUTDOWN_NORMAL};
	struct adv_nvme_transfer t = {.data = NULL};

	adv_nvme_property_encode(&access, true, &t.command);
	if (adv_nvme_association_start(a, 0, &t) == 0 && !adv_nvme_association_next(a, SHUTDOWN_MS))
		lose_connections(a, "no answer");
}

void adv_nvme_association_close(struct adv_nvme_association *a)
{
	if (a->ready && !a->lost)
		shut_down(a);
	for (unsigned i = a->connection_count; i-- > 0;)
		adv_nvme_host_connection_close(a->connections[i]);
	if (a->mr)
		ibv_dereg_mr(a->mr);
	if (a->device.cq)
		ibv_ack_cq_events(a->device.cq, a->unacknowledged);
	adv_nvme_host_device_free(&a->device);
	if (a->memory)
		munmap(a->memory, a->memory_len);
	free(a->connections);
	free(a);
}

const struct adv_nvme_host *adv_nvme_association_host(const struct adv_nvme_association *a)
{
	return &a->host;
}

uint8_t *adv_nvme_association_memory(struct adv_nvme_association *a)
{
	return a->memory + INTERNAL;
}
