/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a tool asks a running program, or adverbd, what objects it has. The request goes the way of
 * host/fault_exchange.h's: a socket from adverbd, which hands its other end on to the process; who
 * gets it answers once, and closes it. The process's background thread answers, under the device's
 * lock, so many objects at a time: the program is not stopped.
 */
#ifndef ADV_HOST_RESOURCE_EXCHANGE_H
#define ADV_HOST_RESOURCE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/resources.h"

#define ADV_RESOURCE_EXCHANGE_MAGIC   0x41445652u /* "ADVR" */
#define ADV_RESOURCE_EXCHANGE_VERSION 1
#define ADV_RESOURCE_EXCHANGE_MOST    256 /* objects in an answer */

/* Both ways; objects behind `count` are not sent. */
struct adv_resource_message {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;	/* enum adv_resource_kind, repeated in the answer */
	int32_t result; /* in answers: 0 or errno */
	uint32_t slot;	/* in answers: the first of the device, which may have more; 0: adverbd */
	uint64_t from;	/* 0, or what the answer before said; in answers: where to go on */
	uint32_t count;
	uint32_t zero;
	struct adv_object object[ADV_RESOURCE_EXCHANGE_MOST];
};

/* Sends the head and `count` objects, never blocks. 0 or errno. */
int adv_resource_send(int fd, const struct adv_resource_message *m);
/* Never blocks. 0; EAGAIN: nothing is there; EPIPE: the end; EPROTO: no message of ours. What was
 * received has a count that is right, and no more than it says. */
int adv_resource_receive(int fd, struct adv_resource_message *m);

/* True where such a request is in the socket, which is left there. */
bool adv_resource_is_asked(int fd);

/* As adv_engine_resources(), of whatever the answerer has. */
typedef unsigned adv_resource_tell(void *user, enum adv_resource_kind kind, uint64_t *from,
				   struct adv_object *out, unsigned room);

/* Reads the request that is in the socket and answers; never blocks, whatever is behind the
 * descriptor, which the caller closes. */
void adv_resource_answer(int fd, uint32_t slot, adv_resource_tell *tell, void *user);

#endif
