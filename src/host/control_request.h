/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to adverbd that have no answer yet, in the order of their posting. The connection's lock
 * protects a queue and its requests; nothing here does I/O.
 *
 * A request that adverbd may have read is sent again if its worker is replaced before it answers:
 * each request is harmless when it is done twice.
 */
#ifndef ADV_HOST_CONTROL_REQUEST_H
#define ADV_HOST_CONTROL_REQUEST_H

#include <stdbool.h>

#include "base/list.h"
#include "host/control_protocol.h"

/* Sent requests without an answer: few enough for the socket's buffer. */
#define ADV_CONTROL_WINDOW 16

enum adv_control_request_state {
	ADV_CONTROL_REQUEST_IDLE,
	ADV_CONTROL_REQUEST_QUEUED,
	ADV_CONTROL_REQUEST_SENT,
	ADV_CONTROL_REQUEST_ANSWERED,
};

/* All zero: idle. Stays where it is as long as it is queued or sent. */
struct adv_control_request {
	struct adv_list node;
	enum adv_control_request_state state;
	bool awaited; /* a thread blocks for the answer; else adv_control_read() announces it */
	struct adv_control_message message; /* the request, later the answer */
	int fd;				    /* came with the answer, the poster's; -1: none */
	int error; /* answered: 0, or errno: the answer's result, or why there is none */
};

static inline bool adv_control_request_is_pending(const struct adv_control_request *r)
{
	return r->state == ADV_CONTROL_REQUEST_QUEUED || r->state == ADV_CONTROL_REQUEST_SENT;
}

struct adv_control_queue {
	struct adv_list queued;
	struct adv_list sent;
	struct adv_list answered; /* those that no thread blocks for */
	unsigned sent_count;
};

void adv_control_queue_init(struct adv_control_queue *q);

void adv_control_queue_add(struct adv_control_queue *q, struct adv_control_request *r);

/* Returns the next request to send; NULL: none, or ADV_CONTROL_WINDOW are sent. */
struct adv_control_request *adv_control_queue_next(struct adv_control_queue *q);

/* r, the next one, was sent. */
void adv_control_queue_sent(struct adv_control_queue *q, struct adv_control_request *r);

/* Returns the sent request with this serial; NULL: none. */
struct adv_control_request *adv_control_queue_find(struct adv_control_queue *q, uint32_t serial);

/* r, which was sent, has the answer m. Takes *fd, and sets it to -1. */
void adv_control_queue_answer(struct adv_control_queue *q, struct adv_control_request *r,
			      const struct adv_control_message *m, int *fd);

/* Call it when the connection was lost. All sent requests are sent again before the others, in
 * their order. */
void adv_control_queue_unsend(struct adv_control_queue *q);

/* No answer comes any more: all requests fail with this errno. */
void adv_control_queue_fail(struct adv_control_queue *q, int error);

/* Removes a request; its answer will be ignored. */
void adv_control_queue_remove(struct adv_control_queue *q, struct adv_control_request *r);

/* Removes the oldest answered request and returns it; NULL: none. */
struct adv_control_request *adv_control_queue_take_answered(struct adv_control_queue *q);

#endif
