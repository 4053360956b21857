/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to adverbd that have no answer yet, in the order of their posting. The connection's lock
 * protects a queue and its requests. No function here does I/O.
 *
 * If the worker of adverbd is replaced before it answers a request, the request is sent again, even
 * if the old worker has read it. Each request may therefore be executed twice without harm.
 */
#ifndef ADV_RUNTIME_CONTROL_REQUEST_H
#define ADV_RUNTIME_CONTROL_REQUEST_H

#include <stdbool.h>

#include "base/list.h"
#include "runtime/control/protocol.h"

/* Most sent requests without an answer. They fit into the socket's buffer. */
#define ADV_CONTROL_WINDOW 16

enum adv_control_request_state {
	ADV_CONTROL_REQUEST_IDLE,
	ADV_CONTROL_REQUEST_QUEUED,
	ADV_CONTROL_REQUEST_SENT,
	ADV_CONTROL_REQUEST_ANSWERED,
};

/* A request. All zero: it is idle. It must not be moved or freed while it is queued or sent. */
struct adv_control_request {
	struct adv_list node;
	enum adv_control_request_state state;
	bool awaited; /* a thread blocks for the answer; else adv_control_read() announces it */
	struct adv_control_message message; /* the request, later the answer */
	int fd;	   /* descriptor of the answer, owned by the poster; -1: none */
	int error; /* if answered: 0 or errno, from the answer or for its absence */
};

static inline bool adv_control_request_is_pending(const struct adv_control_request *r)
{
	return r->state == ADV_CONTROL_REQUEST_QUEUED || r->state == ADV_CONTROL_REQUEST_SENT;
}

struct adv_control_queue {
	struct adv_list queued;
	struct adv_list sent;
	struct adv_list answered; /* answered requests for which no thread blocks */
	unsigned sent_count;
};

void adv_control_queue_init(struct adv_control_queue *q);

/* Appends a request. */
void adv_control_queue_add(struct adv_control_queue *q, struct adv_control_request *r);

/* Returns the next request to send; NULL: none is queued, or ADV_CONTROL_WINDOW requests are sent.
 */
struct adv_control_request *adv_control_queue_next(struct adv_control_queue *q);

/* Records that r, the next request, was sent. */
void adv_control_queue_sent(struct adv_control_queue *q, struct adv_control_request *r);

/* Returns the sent request with this serial; NULL: none. */
struct adv_control_request *adv_control_queue_find(struct adv_control_queue *q, uint32_t serial);

/* Records the answer m to r, which was sent. Moves *fd to r and sets *fd to -1. */
void adv_control_queue_answer(struct adv_control_queue *q, struct adv_control_request *r,
			      const struct adv_control_message *m, int *fd);

/* Queues all sent requests again, before the others and in their order. Call it when the connection
 * was lost. */
void adv_control_queue_unsend(struct adv_control_queue *q);

/* Fails all requests with this errno. Call it when no further answer can arrive. */
void adv_control_queue_fail(struct adv_control_queue *q, int error);

/* Removes a request; its answer will be ignored. */
void adv_control_queue_remove(struct adv_control_queue *q, struct adv_control_request *r);

/* Removes the oldest answered request and returns it; NULL: none. */
struct adv_control_request *adv_control_queue_take_answered(struct adv_control_queue *q);

#endif
