/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A daemon that the test controls, in a thread of this process. The tests link the objects of the
 * library; this file replaces runtime/control/control.h.
 */
#ifndef ADV_TESTS_ABI_RDMACM_FAKE_H
#define ADV_TESTS_ABI_RDMACM_FAKE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rdma/rdma_cma.h>

#include "runtime/control/ucma_protocol.h"

/* Called for each request except GET_EVENT and CREATE_CHANNEL, in the daemon's thread. It may
 * change the answer, whose result is 0, and push events. */
typedef void (*fake_answer)(struct adv_ucma_message *m);

/* Starts a new daemon. The library's next connection is to this daemon. */
void fake_start(fake_answer answer);
/* Queues an event on a channel and sends the byte that announces it. Tests and answer functions may
 * call it. */
void fake_push(uint32_t channel, const struct adv_ucma_message *m);
/* Returns an event of this type for an id. */
struct adv_ucma_message fake_event(uint32_t id, uint32_t type, int status);
/* Closes all sockets of the daemon, as its death does. */
void fake_die(void);
/* Sets the length of the next answer; -1: no answer, and the sockets close. */
void fake_break_next(int len);
/* Returns the number of requests of a type. */
unsigned fake_count(enum adv_ucma_command type);
/* Returns the number of connections since fake_start(). */
unsigned fake_connections(void);
/* Returns the number of the newest id. */
uint32_t fake_last_id(void);
/* Returns the last request of a type. */
struct adv_ucma_message fake_last(enum adv_ucma_command type);

#endif
