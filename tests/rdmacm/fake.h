/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A daemon that does as the test says, in a thread of this process: the tests link the library's
 * own objects with this in place of host/control.h.
 */
#ifndef ADV_TESTS_RDMACM_FAKE_H
#define ADV_TESTS_RDMACM_FAKE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rdma/rdma_cma.h>

#include "host/ucma_protocol.h"

/* Called for each request but GET_EVENT and CREATE_CHANNEL, in the daemon's thread: may change
 * the answer, which has result 0, and push events. */
typedef void (*fake_answer)(struct adv_ucma_message *m);

/* Starts afresh: the next connection that the library asks for is to this daemon. */
void fake_start(fake_answer answer);
/* Queues an event on a channel and puts its byte there. In a test or in an answer function. */
void fake_push(uint32_t channel, const struct adv_ucma_message *m);
/* An event of this type for an id. */
struct adv_ucma_message fake_event(uint32_t id, uint32_t type, int status);
/* Closes all that the daemon has, as its death does. */
void fake_die(void);
/* The next answer has this length, -1: none at all and the sockets close. */
void fake_break_next(int len);
/* How many requests of a type have come. */
unsigned fake_count(enum adv_ucma_command type);
/* Connections made since fake_start(). */
unsigned fake_connections(void);
/* The number of the id made last. */
uint32_t fake_last_id(void);
/* The last request of a type. */
struct adv_ucma_message fake_last(enum adv_ucma_command type);

#endif
