/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The exchange by which a tool lists the objects of a running program, or of adverbd. The request
 * is passed as in runtime/exchange/fault_exchange.h: adverbd gives the tool a socket and passes its
 * other end to the process. The receiver answers once and closes the socket. In a process, the
 * background thread answers with the device's lock held. The number of objects in an answer is
 * bounded, so the program does not wait long for the lock.
 */
#ifndef ADV_RUNTIME_EXCHANGE_RESOURCE_EXCHANGE_H
#define ADV_RUNTIME_EXCHANGE_RESOURCE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "nic/engine/resources.h"

#define ADV_RESOURCE_EXCHANGE_MAGIC   0x41445652u /* "ADVR" */
#define ADV_RESOURCE_EXCHANGE_VERSION 2
#define ADV_RESOURCE_EXCHANGE_MOST    128 /* objects in an answer */

/* Request and answer. Objects after the first `count` are not sent. */
struct adv_resource_message {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;	/* enum adv_resource_kind, repeated in the answer */
	int32_t result; /* in answers: 0 or errno */
	uint32_t slot;	/* in answers: the device's first slot, it may have more; 0: adverbd */
	uint64_t from;	/* in requests: 0, or `from` of the last answer; in answers: next start */
	uint32_t count;
	uint32_t zero;
	struct adv_object object[ADV_RESOURCE_EXCHANGE_MOST];
};

/* Sends the head and `count` objects. Never blocks. 0 or errno. */
int adv_resource_send(int fd, const struct adv_resource_message *m);
/* Receives a message. Never blocks. 0, with m->count received objects; EAGAIN: no message is
 * queued; EPIPE: the other end is closed; EPROTO: the message is not of this protocol. */
int adv_resource_receive(int fd, struct adv_resource_message *m);

/* True if a request of this protocol is queued in the socket. The request stays queued. */
bool adv_resource_is_asked(int fd);

/* Lists the objects of the process that received the request, like adv_engine_resources(). */
typedef unsigned adv_resource_tell(void *user, enum adv_resource_kind kind, uint64_t *from,
				   struct adv_object *out, unsigned room);

/* Reads the queued request and answers it. Never blocks, for any kind of descriptor. The caller
 * closes the descriptor. */
void adv_resource_answer(int fd, uint32_t slot, adv_resource_tell *tell, void *user);

#endif
